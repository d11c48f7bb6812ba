// SPDX-License-Identifier: Apache-2.0
// daemon/record: the history of the daemon: events, audit, log.
//
// EventLog: the events of the core: numbers them, adds the time, stores them and passes them to
// watchers.
//
//   core ── pending (bounded) ──► store thread ── SQLite, then the ring (bounded) ──► watchers
//
// The store thread assigns the number, and watchers receive the event once SQLite has it. So a
// number that a watcher has seen is never used again after the process was killed. A power failure
// may lose the last events on disk, so each start leaves out some numbers.
//
// Where several nodes share a store, all of them number one history. A node that waits beside the
// master records nothing: it shows what the master has recorded (CatchUp). A version that a client
// has from one node is good at the others.
//
// Bounds:
//   pending   Limits::pending events. Full (the disk is slow): new ones are dropped, and one event
//             "EventsLost" has their number.
//   store     queue full: the pending events wait for the next Append() or Beat().
//   history   Limits::keep events, none older than Limits::max_age: the oldest are deleted. A
//             failed write is logged once; watchers still receive the events.
//   ring      the latest Limits::ring events. A watcher that falls behind it is ended. One that
//             resumes from before it is refused, and must list the history instead.
//   watchers  Limits::watchers; further ones are refused. The streams of clients share one
//             (rpc/streams/watch_stream.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <absl/status/statusor.h>

#include "common/mutex.h"
#include "common/time.h"
#include "daemon/base/record_queue.h"
#include "fabric/event.h"
#include "store/store.h"

namespace fabricd::daemon {

class EventLog {
 public:
  struct Limits {
    size_t keep = 100'000;
    std::chrono::hours max_age{30 * 24};
    size_t ring = 8192;
    size_t pending = 8192;
    size_t watchers = 8;
  };
  using Record = std::shared_ptr<const store::EventRecord>;

  // Called on the store thread, without locks.
  class Watcher {
   public:
    virtual ~Watcher() = default;
    // There are new events. With `beat`: a sign of life is due.
    virtual void OnEvents(bool beat) = 0;
  };

  // Reads the epoch, the last number and the latest events. Call on the thread that opened the
  // store, before other threads use it. `store` and the listings' history must outlive the log and
  // the last job of their threads.
  static absl::StatusOr<std::unique_ptr<EventLog>> Open(store::Store& store, PostToStore post,
                                                        Listings listings, Limits limits);

  // Any thread. `now`: the present, to convert the events' Instants to wall-clock time.
  void Append(std::vector<fabric::FabricEvent> events, Instant now);
  // Any thread, every few seconds: signals watchers that the stream is alive.
  void Beat();
  // Any thread. The store has taken what other nodes have recorded: shows it, if this node follows.
  // False: the store is busy; call again.
  [[nodiscard]] bool CatchUp();

  // All functions below: any thread.

  // "EPOCH.NUMBER" of the last event shown.
  std::string version() const;
  std::string VersionOf(uint64_t number) const;
  // kInvalidArgument: not a version; kOutOfRange: of another history.
  absl::StatusOr<uint64_t> NumberOf(const std::string& version) const;
  // The number after which a watcher begins. Empty: the last one. Errors as for NumberOf(), and
  // kOutOfRange: older than the ring. A number that only another node knows is good: what follows
  // it here is new to the client.
  absl::StatusOr<uint64_t> BeginAt(const std::string& version) const;
  // The version after which all events are in the ring.
  std::string oldest() const;

  // Events with numbers above `number`, at most `most`. kResourceExhausted: some are no longer in
  // the ring.
  absl::StatusOr<std::vector<Record>> After(uint64_t number, size_t most) const;
  // History from SQLite: the events up to the last one shown, and its version, from which a watch
  // continues. `done` is called on the listings' thread, or at once with kUnavailable if its queue
  // is full.
  struct Page {
    std::vector<store::EventRecord> records;
    std::string version;
  };
  using Listed = std::function<void(absl::StatusOr<Page>)>;
  void List(store::EventQuery query, Listed done);

  size_t watcher_count() const;  // Watchers that still exist.
  // False: too many. A destroyed watcher is removed by itself.
  [[nodiscard]] bool AddWatcher(const std::shared_ptr<Watcher>& watcher);

 private:
  EventLog(store::Store& store, PostToStore post, Listings listings, Limits limits)
      : store_(store),
        post_(post),
        listings_(std::move(listings)),
        limits_(limits),
        numbering_(store.event_numbering()),
        queue_(limits.pending, std::move(post),
               [this](auto records, size_t lost) { Write(std::move(records), lost); }),
        keeper_("event history", limits.max_age) {}
  absl::Status Load();
  void Write(std::vector<store::EventRecord> records, size_t lost);
  void ShowTaken();
  bool MayBeOfAnotherNode(uint64_t number) const;
  void Show(std::vector<store::EventRecord> records);
  void Wake(bool beat);

  store::Store& store_;
  const PostToStore post_;
  const Listings listings_;
  const Limits limits_;
  const store::EventNumbering numbering_;
  std::string epoch_;
  uint64_t begin_ = 1;                     // The first number of this life.
  RecordQueue<store::EventRecord> queue_;  // Without numbers.

  // Used by the store thread only.
  uint64_t next_ = 1;
  RecordKeeper keeper_;

  mutable Mutex mutex_;
  std::deque<Record> ring_ FABRICD_GUARDED_BY(mutex_);
  uint64_t last_ FABRICD_GUARDED_BY(mutex_) = 0;   // Number of the last event shown.
  uint64_t floor_ FABRICD_GUARDED_BY(mutex_) = 0;  // Events above this number are in the ring.
  std::vector<std::weak_ptr<Watcher>> watchers_ FABRICD_GUARDED_BY(mutex_);
};

// Milliseconds since 1970 of an Instant of the process's clock.
int64_t ToWallMs(Instant instant);

}  // namespace fabricd::daemon
