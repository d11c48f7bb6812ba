// SPDX-License-Identifier: Apache-2.0
// A client that hands each call on: tests override what they interfere with.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "store/etcd/client.h"

namespace fabricd::store::etcd {

class ForwardingClient : public Client {
 public:
  // `real` outlives this.
  explicit ForwardingClient(Client& real) : real_(real) {}

  void Limit(std::optional<std::chrono::milliseconds> time) override { real_.Limit(time); }
  absl::StatusOr<RangeResult> Range(const RangeRequest& request) override {
    return real_.Range(request);
  }
  absl::StatusOr<int64_t> Put(const std::string& key, const std::string& value,
                              int64_t lease) override {
    return real_.Put(key, value, lease);
  }
  absl::StatusOr<int64_t> DeleteRange(const std::string& key, const std::string& end) override {
    return real_.DeleteRange(key, end);
  }
  absl::StatusOr<TransactionResult> Commit(const Transaction& transaction) override {
    return real_.Commit(transaction);
  }
  absl::StatusOr<Lease> GrantLease(std::chrono::seconds ttl) override {
    return real_.GrantLease(ttl);
  }
  absl::StatusOr<std::chrono::seconds> KeepAlive(int64_t lease) override {
    return real_.KeepAlive(lease);
  }
  absl::Status RevokeLease(int64_t lease) override { return real_.RevokeLease(lease); }
  absl::StatusOr<MemberStatus> Status() override { return real_.Status(); }
  std::unique_ptr<Watch> StartWatch(WatchRequest request, WatchHandler& handler) override {
    return real_.StartWatch(std::move(request), handler);
  }

 protected:
  Client& real_;
};

}  // namespace fabricd::store::etcd
