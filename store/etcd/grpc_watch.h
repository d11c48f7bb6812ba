// SPDX-License-Identifier: Apache-2.0
// Internal: a Watch over gRPC, with a thread of its own that blocks in reads. When a connection
// ends, it goes on at the next member, from the revision behind the last event.
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "common/mutex.h"
#include "store/etcd/grpc_members.h"

namespace fabricd::store::etcd {

class GrpcWatch final : public Watch {
 public:
  // Both must outlive this.
  GrpcWatch(Members& members, WatchRequest request, WatchHandler& handler);
  ~GrpcWatch() override;

 private:
  enum class End { kBroken, kCompacted, kStopped };
  void Run();
  End Follow(Member& member);
  // False: the watch is over.
  bool Take(const pb::WatchResponse& response);
  bool WaitBeforeRetry();

  Members& members_;
  WatchRequest request_;  // start_revision: the next one.
  WatchHandler& handler_;
  std::vector<WatchEvent> events_;  // Of a response that is not complete.
  Mutex mutex_;
  Condition stop_;
  bool stopping_ FABRICD_GUARDED_BY(mutex_) = false;
  grpc::ClientContext* context_ FABRICD_GUARDED_BY(mutex_) = nullptr;  // Of the open stream.
  std::thread thread_;  // Last: it uses all of the above.
};

KeyValue FromProto(const pb::KeyValue& kv);

}  // namespace fabricd::store::etcd
