// SPDX-License-Identifier: Apache-2.0
// Internal: the members of an etcd cluster as gRPC channels, and calls that go to one after the
// other until one answers. Any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <grpcpp/grpcpp.h>

#include "common/mutex.h"
#include "etcd/rpc.grpc.pb.h"
#include "store/etcd/attempts.h"
#include "store/etcd/client.h"

namespace fabricd::store::etcd {

// gRPC's own name for the generated code.
namespace pb = ::etcdserverpb;

struct Member {
  std::string endpoint;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<pb::KV::Stub> kv;
  std::unique_ptr<pb::Watch::Stub> watch;
  std::unique_ptr<pb::Lease::Stub> lease;
  std::unique_ptr<pb::Maintenance::Stub> maintenance;
  std::unique_ptr<pb::Auth::Stub> auth;
};

class Members {
 public:
  // Errors as MakeGrpcClient().
  static absl::StatusOr<std::unique_ptr<Members>> Make(ClientOptions options);

  using Rpc = std::function<grpc::Status(Member& member, grpc::ClientContext& context)>;
  // Errors as Client's.
  absl::Status Call(CallKind kind, const Rpc& rpc);
  absl::Status Call(const Rpc& rpc) { return Call(CallKind::kOther, rpc); }
  // Client::Limit().
  void Limit(std::optional<std::chrono::milliseconds> time);

  // For streams. The member after `turn` others, beginning with the one that answered last.
  Member& At(size_t turn) { return members_[(preferred_ + turn) % members_.size()]; }
  // Waits until the member is connected, one attempt to connect has failed, the time is over, or
  // calls are ended. gRPC reads from sockets only while a thread waits for something on that
  // channel: between calls that fail at once no connection would ever be made.
  void Connect(Member& member, std::chrono::milliseconds timeout);
  // Adds what every call carries: the token, and that a member without a leader refuses it.
  // Authenticates first, where that is needed, for at most `timeout`.
  absl::Status Prepare(Member& member, grpc::ClientContext& context,
                       std::chrono::milliseconds timeout);
  // As an error of Client's. Drops the token if it was refused.
  absl::Status StatusOf(const Member& member, const grpc::Status& status);

 private:
  explicit Members(ClientOptions options) : options_(std::move(options)) {}
  class UnderWay;
  absl::Status TryAt(Member& member, const Rpc& rpc, std::chrono::milliseconds timeout);
  absl::StatusOr<std::string> Token(Member& member, std::chrono::milliseconds timeout);
  void DropToken();
  bool are_calls_ended() const { return limit_.now().time <= std::chrono::milliseconds::zero(); }

  const ClientOptions options_;
  std::vector<Member> members_;
  std::atomic<size_t> preferred_ = 0;
  CallLimit limit_;
  Mutex mutex_;
  std::string token_ FABRICD_GUARDED_BY(mutex_);  // Empty: none.
  std::set<grpc::ClientContext*> under_way_ FABRICD_GUARDED_BY(mutex_);
};

// By the monotonic clock.
void SetTimeout(grpc::ClientContext& context, std::chrono::milliseconds timeout);

}  // namespace fabricd::store::etcd
