// SPDX-License-Identifier: Apache-2.0
#include "store/etcd/grpc_watch.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "common/status.h"

namespace fabricd::store::etcd {
namespace {

// Then the next member.
constexpr std::chrono::milliseconds kConnectTimeout{1000};

}  // namespace

GrpcWatch::GrpcWatch(Members& members, WatchRequest request, WatchHandler& handler)
    : members_(members),
      request_(std::move(request)),
      handler_(handler),
      thread_([this] { Run(); }) {}

GrpcWatch::~GrpcWatch() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    if (context_ != nullptr) context_->TryCancel();
  }
  stop_.NotifyOne();
  thread_.join();
}

void GrpcWatch::Run() {
  for (size_t turn = 0;; ++turn) {
    if (Follow(members_.At(turn)) != End::kBroken) return;
    if (!WaitBeforeRetry()) return;
  }
}

bool GrpcWatch::WaitBeforeRetry() {
  MutexLock lock(mutex_);
  return !stop_.WaitFor(lock, std::chrono::milliseconds(100),
                        [this]() FABRICD_REQUIRES(mutex_) { return stopping_; });
}

GrpcWatch::End GrpcWatch::Follow(Member& member) {
  members_.Connect(member, kConnectTimeout);
  grpc::ClientContext context;
  if (const absl::Status ready = members_.Prepare(member, context, kConnectTimeout); !ready.ok()) {
    handler_.OnConnection(ready);
    return End::kBroken;
  }
  {
    MutexLock lock(mutex_);
    if (stopping_) return End::kStopped;
    context_ = &context;
  }
  const auto stream = member.watch->Watch(&context);
  pb::WatchRequest request;
  pb::WatchCreateRequest& create = *request.mutable_create_request();
  create.set_key(request_.key);
  create.set_range_end(request_.range_end);
  create.set_start_revision(request_.start_revision);
  create.set_progress_notify(true);
  create.set_fragment(true);
  bool goes_on = stream->Write(request);
  pb::WatchResponse response;
  events_.clear();
  std::string cancelled;
  while (goes_on && stream->Read(&response)) {
    if (response.canceled()) cancelled = response.cancel_reason();
    goes_on = Take(response);
  }
  context.TryCancel();
  const grpc::Status end = stream->Finish();
  {
    MutexLock lock(mutex_);
    context_ = nullptr;
    if (stopping_) return End::kStopped;
  }
  if (response.compact_revision() != 0) return End::kCompacted;
  handler_.OnConnection(cancelled.empty()
                            ? members_.StatusOf(member, end)
                            : Unavailable("etcd at {}: {}", member.endpoint, cancelled));
  return End::kBroken;
}

bool GrpcWatch::Take(const pb::WatchResponse& response) {
  if (response.compact_revision() != 0) {
    handler_.OnCompacted(response.compact_revision());
    return false;
  }
  if (response.canceled()) return false;
  const int64_t revision = response.header().revision();
  if (response.created()) {
    if (request_.start_revision == 0) request_.start_revision = revision + 1;
    handler_.OnConnection(absl::OkStatus());
    return true;
  }
  for (const pb::Event& event : response.events())
    events_.push_back({FromProto(event.kv()), event.type() == pb::Event::DELETE});
  if (response.fragment()) return true;
  // While it catches up, the header has the revision of the store and not of the last event.
  const int64_t seen = events_.empty() ? revision : events_.back().kv.mod_revision;
  handler_.OnEvents(events_, seen);
  events_.clear();
  request_.start_revision = std::max(request_.start_revision, seen + 1);
  return true;
}

}  // namespace fabricd::store::etcd
