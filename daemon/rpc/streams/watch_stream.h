// SPDX-License-Identifier: Apache-2.0
// Streams that go on for as long as the client wants: first what there is, then what changes. A
// WatchStream makes its next message only when the last one is on its way, so that a slow client
// costs a message of memory and no thread; one that takes nothing is cut off (stuck_calls.h). The
// WatchHub wakes all of them on a thread of its own: a thousand watchers delay neither the core nor
// the store.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <absl/status/statusor.h>
#include <grpcpp/grpcpp.h>

#include "common/mutex.h"
#include "daemon/base/worker.h"
#include "daemon/record/event_log.h"
#include "daemon/rpc/convert/grpc_status.h"
#include "daemon/rpc/security/caller.h"
#include "daemon/rpc/security/client_shares.h"

namespace fabricd::rpc {

// Any thread.
class WatchHub final : public daemon::EventLog::Watcher {
 public:
  static constexpr size_t kMostStreams = 2048;
  static constexpr size_t kMostStreamsOfClient = kMostStreams / 2;

  // Called on the hub's thread.
  class Stream {
   public:
    virtual ~Stream() = default;
    // Something may have changed, or with `beat`: a sign of life is due.
    virtual void OnChange(bool beat) = 0;
  };

  // Wakes all streams soon. Never waits.
  void OnChange(bool beat);
  void OnEvents(bool beat) override { OnChange(beat); }

  // False: there are `most`. A stream that is destroyed is forgotten.
  [[nodiscard]] bool Add(const std::shared_ptr<Stream>& stream, size_t most = kMostStreams);
  size_t stream_count() const;
  // A stream's place, until what is returned is gone; null: the client has no more.
  std::shared_ptr<void> TakePlace(const std::string& client) { return places_.Take(client); }

 private:
  void Wake();

  std::atomic<bool> scheduled_ = false, beat_due_ = false;
  mutable Mutex mutex_;
  std::vector<std::weak_ptr<Stream>> streams_ FABRICD_GUARDED_BY(mutex_);
  ClientShares places_{kMostStreams, kMostStreamsOfClient};
  daemon::Worker<int> worker_{2, [this](int) { Wake(); }};  // Last: it uses the others.
};

// The streams' common part: one message under way, one call ended once.
template <typename Response>
class WatchStream : public WatchHub::Stream {
 public:
  // Starts the stream, or refuses it: too many, or `stream` is an error.
  static grpc::ServerWriteReactor<Response>* Start(
      grpc::CallbackServerContext* context, WatchHub& hub,
      absl::StatusOr<std::shared_ptr<WatchStream>> stream) {
    if (!stream.ok()) return new Refusal(stream.status());
    std::shared_ptr<void> place = hub.TakePlace(CallerOf(*context).id);
    if (!place || !hub.Add(*stream)) {
      return new Refusal(MakeError(absl::StatusCode::kResourceExhausted, "TOO_MANY_WATCHERS",
                                   "too many clients watch"));
    }
    auto* reactor = new Reactor(*stream, std::move(place));
    (*stream)->Begin(reactor);
    return reactor;
  }

  void OnChange(bool beat) final {
    MutexLock lock(mutex_);
    if (reactor_ == nullptr) return;
    beat_due_ |= beat;
    if (!writing_) WriteNext();
  }

 protected:
  // The next message. False: there is none for now, which `beat` asks to tell with a bookmark. An
  // error ends the stream. Called by one thread at a time.
  virtual absl::StatusOr<bool> Next(bool beat, Response* out) = 0;

 private:
  struct Reactor final : grpc::ServerWriteReactor<Response> {
    Reactor(std::shared_ptr<WatchStream> its_stream, std::shared_ptr<void> its_place)
        : stream(std::move(its_stream)), place(std::move(its_place)) {}
    void OnWriteDone(bool ok) override { stream->OnWritten(ok); }
    void OnCancel() override { stream->OnWritten(false); }
    void OnDone() override { delete this; }

    const std::shared_ptr<WatchStream> stream;
    const std::shared_ptr<void> place;
  };
  // A call that ends before anything is sent.
  struct Refusal final : grpc::ServerWriteReactor<Response> {
    explicit Refusal(const absl::Status& status) { this->Finish(ToGrpc(status)); }
    void OnDone() override { delete this; }
  };

  void Begin(Reactor* reactor) {
    MutexLock lock(mutex_);
    reactor_ = reactor;
    WriteNext();
  }
  void OnWritten(bool ok) {
    MutexLock lock(mutex_);
    if (reactor_ == nullptr) return;
    writing_ = false;
    if (!ok) return Finish(grpc::Status::CANCELLED);
    WriteNext();
  }
  void WriteNext() FABRICD_REQUIRES(mutex_) {
    message_.Clear();
    const absl::StatusOr<bool> more = Next(std::exchange(beat_due_, false), &message_);
    if (!more.ok()) return Finish(ToGrpc(more.status()));
    if (!*more) return;
    writing_ = true;
    reactor_->StartWrite(&message_);
  }
  void Finish(const grpc::Status& status) FABRICD_REQUIRES(mutex_) {
    std::exchange(reactor_, nullptr)->Finish(status);
  }

  Mutex mutex_;
  Reactor* reactor_ FABRICD_GUARDED_BY(mutex_) = nullptr;  // Null before Begin() and once finished.
  bool writing_ FABRICD_GUARDED_BY(mutex_) = false, beat_due_ FABRICD_GUARDED_BY(mutex_) = false;
  Response message_ FABRICD_GUARDED_BY(mutex_);
};

}  // namespace fabricd::rpc
