// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/services/freshness.h"

#include "common/mutex.h"
#include "query/times.h"

namespace fabricd::rpc {
namespace {

// What a standby knows of itself is as true as what a master knows.
bool IsAboutTheSm(std::string_view method) {
  return method.ends_with("/GetSm") || method.starts_with("fabric.v1.AdminService/") ||
         method.starts_with("fabric.v1.EventService/");
}

}  // namespace

void Freshness::OnPublished(int64_t now_ms) {
  const auto view = backend_.view();
  const MutexLock lock(mutex_);
  const bool is_master = view->sm.state == wire::SmState::kMaster;
  // Up to the moment at which it ceases to be master it hears of every change.
  if (is_master || was_master_ || (view->snapshot != shown_ && view->snapshot->node_count() > 0))
    observed_ms_ = now_ms;
  was_master_ = is_master;
  shown_ = view->snapshot;
}

void Freshness::Mark(std::string_view method, grpc::ServerContextBase& context) const {
  const wire::SmState state = backend_.view()->sm.state;
  if (state == wire::SmState::kMaster || IsAboutTheSm(method)) return;
  context.AddInitialMetadata(kSmStateMetadata, std::string(wire::SmStateName(state)));
  const MutexLock lock(mutex_);
  if (observed_ms_)
    context.AddInitialMetadata(kObservedAtMetadata, google::protobuf::util::TimeUtil::ToString(
                                                        query::ToTimestamp(*observed_ms_)));
}

}  // namespace fabricd::rpc
