// SPDX-License-Identifier: Apache-2.0
// SaKeeper: runs sa::SaState on a thread of its own: what clients leave with Subnet Administration.
//
//   sa pool ── SourceQueue (requests that change state) ──► keeper
//       capacity 8,192, 512 of one source LID: beyond that refused; clients ask again
//   rx threads ── notes (traps; answers to Reports) ──► keeper
//       capacity 4,096: beyond that dropped and counted; a trap is repeated, a Report sent again
//   sa-view ── latest view ──► keeper            capacity 1: a newer one replaces it
//   store ── what another node has stored ──► keeper     the same
//   keeper ── App's store worker ──► keeper      one write at a time; a full queue fails it
//   keeper ── Published<ClientState> ──► sa pool
//   keeper ── Inbox (latest) ──► core
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "common/mutex.h"
#include "common/published.h"
#include "daemon/base/source_queue.h"
#include "mad/transport.h"
#include "sa/state/sa_state.h"
#include "store/store.h"

namespace fabricd::daemon {

// What the keeper needs of the daemon. Called on its thread.
struct KeeperLinks {
  // Runs a job on the store's thread. False: it is not run.
  std::function<bool(std::function<void(store::Store&)>)> on_store;
  // Tells the core of the groups, and of alias GUIDs; what comes later replaces what came before.
  std::function<void(std::shared_ptr<const fabric::MulticastGroups>)> tell_groups;
  std::function<void(std::shared_ptr<const fabric::AliasGuids>)> tell_aliases;
};

class SaKeeper {
 public:
  struct Statistics {
    sa::Reporter::Statistics reports;
    uint64_t dropped = 0;     // Traps and answers for which there was no room.
    uint64_t unanswered = 0;  // Requests that get no response; clients ask again.
  };

  // `state` as it is durable. `transport` outlives it.
  SaKeeper(std::unique_ptr<sa::SaState> state, mad::Transport& transport, KeeperLinks links);
  ~SaKeeper();

  void Start();
  // Nothing is answered afterwards. A write under way ends on the store's thread.
  void Stop();

  // None of these waits. False: full; the request is as it was.
  [[nodiscard]] bool PushRequest(mad::IncomingMad&& request);
  void PushNote(sa::StateEvent note);
  void PushView(sa::FabricChanged changed);
  void Replace(sa::StateReplaced replaced);

  // Never null.
  std::shared_ptr<const sa::ClientState> clients() const { return clients_.Get(); }
  // Nobody outside of it may use the state.
  Statistics statistics() const;

 private:
  void Run();
  bool Wait(Instant deadline);
  bool Carry(sa::StateEffects effects, Instant now);
  // The lock is given back.
  void Wake(MutexLock& lock) FABRICD_REQUIRES(mutex_) FABRICD_NO_THREAD_SAFETY_ANALYSIS;

  const std::unique_ptr<sa::SaState> state_;
  mad::Transport& transport_;
  const KeeperLinks links_;
  Published<sa::ClientState> clients_;

  SourceQueue<mad::IncomingMad> requests_;
  mutable Mutex mutex_;
  Condition woken_;
  bool awake_ FABRICD_GUARDED_BY(mutex_) = false, stopping_ FABRICD_GUARDED_BY(mutex_) = false;
  std::vector<sa::StateEvent> notes_ FABRICD_GUARDED_BY(mutex_);
  std::optional<sa::RowsWritten> written_ FABRICD_GUARDED_BY(mutex_);
  std::optional<sa::FabricChanged> view_ FABRICD_GUARDED_BY(mutex_);
  std::optional<sa::StateReplaced> replaced_ FABRICD_GUARDED_BY(mutex_);
  Statistics statistics_ FABRICD_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace fabricd::daemon
