// SPDX-License-Identifier: Apache-2.0
// Freshness: how old what is answered may be. A master hears of every change; another SM shows what
// it last read, which may be hours old. Each answer about the fabric of an SM that is not master
// says so in its initial metadata:
//   fabric-sm-state      STANDBY, DISCOVERING or NOT-ACTIVE
//   fabric-observed-at   when what it shows was so at the latest (RFC 3339); absent before that
// Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <grpcpp/grpcpp.h>

#include "common/mutex.h"
#include "daemon/base/backend.h"

namespace fabricd::rpc {

inline constexpr char kSmStateMetadata[] = "fabric-sm-state";
inline constexpr char kObservedAtMetadata[] = "fabric-observed-at";

class Freshness {
 public:
  // `backend` outlives it.
  explicit Freshness(const daemon::Backend& backend) : backend_(backend) {}

  // After each published view, and at the time of it.
  void OnPublished(int64_t now_ms);
  // Marks the answer of a call that begins. `method`: "fabric.v1.TopologyService/ListHosts". What
  // is asked about the SM itself is not marked.
  void Mark(std::string_view method, grpc::ServerContextBase& context) const;

 private:
  const daemon::Backend& backend_;
  mutable Mutex mutex_;
  std::shared_ptr<const fabric::FabricSnapshot> shown_ FABRICD_GUARDED_BY(mutex_);
  bool was_master_ FABRICD_GUARDED_BY(mutex_) = false;
  std::optional<int64_t> observed_ms_ FABRICD_GUARDED_BY(mutex_);
};

}  // namespace fabricd::rpc
