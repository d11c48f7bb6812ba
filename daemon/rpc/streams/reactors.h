// SPDX-License-Identifier: Apache-2.0
// daemon/rpc/streams: calls that answer later or in pieces.
//
// The shapes of a call: a unary one that answers at once, one that is answered later, and a stream
// whose pieces are made as the client takes them, so that a slow reader costs one piece of memory
// and no thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <utility>

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <grpcpp/alarm.h>
#include <grpcpp/grpcpp.h>

#include "common/mutex.h"
#include "daemon/base/wall_clock.h"
#include "daemon/base/worker.h"
#include "daemon/rpc/convert/grpc_status.h"
#include "daemon/rpc/security/caller.h"
#include "daemon/rpc/security/client_shares.h"

namespace fabricd::rpc {

// One thread for the few answers that take long to make (dumps, whole-fabric exports), so that they
// never hold a gRPC thread. Streams that it prepares, and texts that it reads, hold much memory: of
// these there are few, and each client has a part of them only.
class ExportWorker : public daemon::Worker<std::function<void()>> {
 public:
  ExportWorker(size_t capacity, ClientShares places, int niceness = 0)
      : Worker(
            capacity, [](const std::function<void()>& job) { job(); }, niceness),
        places_(std::move(places)) {}
  // A place for the call's client, until what is returned is gone; null: there is none.
  std::shared_ptr<void> TakePlace(const grpc::ServerContextBase& context) {
    return places_.Take(CallerOf(context).id);
  }

 private:
  ClientShares places_;
};

// Answers with what `handle` returns. Every unary call passes here.
template <typename Handle>
grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext* context, Handle&& handle) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(ToGrpc(handle()));
  return reactor;
}

// A unary call that is answered once: by a completion that may come after the call is gone, by the
// client's going away, or with DEADLINE_EXCEEDED after kLongestCall, whatever deadline the client
// has set or forgotten. What the call asked for may still be done then.
inline constexpr std::chrono::seconds kLongestCall{30};

template <typename Response>
class LaterCall {
 public:
  explicit LaterCall(Response* response) : response_(response) {}

  // The reactor to return from the handler. REQUIRES: called once, before the call can be answered.
  static grpc::ServerUnaryReactor* Start(const std::shared_ptr<LaterCall>& call,
                                         std::chrono::milliseconds limit = kLongestCall) {
    auto* reactor = StartWithoutLimit(call);
    // Weak: an alarm keeps its callback for as long as it lives, and the call has the alarm.
    call->alarm_.Set(GrpcDeadline(limit), [held = std::weak_ptr<LaterCall>(call)](bool expired) {
      const auto self = held.lock();
      if (expired && self) self->FailAtLimit();
    });
    return reactor;
  }
  // For what may take as long as it does.
  static grpc::ServerUnaryReactor* StartWithoutLimit(const std::shared_ptr<LaterCall>& call) {
    MutexLock lock(call->mutex_);
    return call->reactor_ = new Reactor(call);
  }
  // `fill` gets the response and returns a status; it is not called when the call has ended.
  template <typename Fill>
  void Answer(Fill&& fill) {
    MutexLock lock(mutex_);
    if (!reactor_) return;
    const absl::Status status = fill(response_);
    std::exchange(reactor_, nullptr)->Finish(ToGrpc(status));
    alarm_.Cancel();
  }
  // Fills in a part of the response and leaves the call open.
  template <typename Fill>
  void Note(Fill&& fill) {
    MutexLock lock(mutex_);
    if (reactor_) fill(response_);
  }
  // Answered, or the client has gone.
  bool ended() {
    MutexLock lock(mutex_);
    return reactor_ == nullptr;
  }
  void Fail(const absl::Status& status) {
    Answer([&](Response*) { return status; });
  }

 private:
  class Reactor final : public grpc::ServerUnaryReactor {
   public:
    explicit Reactor(std::shared_ptr<LaterCall> call) : call_(std::move(call)) {}
    void OnCancel() override { call_->Fail(absl::CancelledError()); }
    void OnDone() override { delete this; }

   private:
    const std::shared_ptr<LaterCall> call_;
  };

  void FailAtLimit() {
    Fail(MakeError(absl::StatusCode::kDeadlineExceeded, "SERVER_DEADLINE",
                   "no answer within the server's time limit for a call"));
  }

  Mutex mutex_;
  Response* const response_;                               // Valid while reactor_ is set.
  Reactor* reactor_ FABRICD_GUARDED_BY(mutex_) = nullptr;  // Null once finished.
  grpc::Alarm alarm_;
};

// Fills in the next piece of a stream. False: there is none, the stream is over.
template <typename Response>
using NextPiece = std::function<absl::StatusOr<bool>(Response*)>;

// A stream. `prepare` runs on the worker and gives the source of the pieces, which are then made on
// gRPC's threads, one at a time.
template <typename Response>
class StreamReactor final : public grpc::ServerWriteReactor<Response> {
 public:
  using Prepare = std::function<absl::StatusOr<NextPiece<Response>>()>;

  // REQUIRES: the worker outlives the call.
  static grpc::ServerWriteReactor<Response>* Start(grpc::CallbackServerContext* context,
                                                   ExportWorker& worker, Prepare prepare) {
    auto* self = new StreamReactor(context, worker.TakePlace(*context));
    if (!self->place_) {
      self->Finish(TooMany());
      return self;
    }
    // Nobody else may Finish before the job does, so the reactor is alive when it runs.
    const bool taken = worker.Post([self, prepare = std::move(prepare)] { self->Begin(prepare); });
    if (!taken) self->End(TooMany());
    return self;
  }

 private:
  StreamReactor(grpc::CallbackServerContext* context, std::shared_ptr<void> place)
      : context_(context), place_(std::move(place)) {}
  static grpc::Status TooMany() {
    return ToGrpc(MakeError(absl::StatusCode::kResourceExhausted, "TOO_MANY_EXPORTS",
                            "too many dumps and exports are being made or taken"));
  }

  void Begin(const Prepare& prepare) {
    if (context_->IsCancelled()) return End(grpc::Status::CANCELLED);
    auto next = prepare();
    if (!next.ok()) return End(ToGrpc(next.status()));
    next_ = *std::move(next);
    WriteNext();
  }
  void WriteNext() {
    piece_.Clear();
    const absl::StatusOr<bool> more = next_(&piece_);
    if (!more.ok()) return End(ToGrpc(more.status()));
    if (!*more) return End(grpc::Status::OK);
    this->StartWrite(&piece_);
  }
  void OnWriteDone(bool ok) override {
    if (!ok) return End(grpc::Status::CANCELLED);  // The client has gone.
    WriteNext();
  }
  // The place first: a client that has its answer may ask again at once.
  void End(const grpc::Status& status) {
    place_.reset();
    this->Finish(status);
  }
  void OnDone() override { delete this; }

  grpc::CallbackServerContext* context_;
  std::shared_ptr<void> place_;
  NextPiece<Response> next_;
  Response piece_;
};

}  // namespace fabricd::rpc
