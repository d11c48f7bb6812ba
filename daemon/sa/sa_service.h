// SPDX-License-Identifier: Apache-2.0
// daemon/sa: Subnet Administration on its own thread: requests in, answers and reports out.
//
// SaService: Subnet Administration as a service of the running daemon. It owns the threads that
// answer, and sends on the transport's SA agent itself; the core is not involved.
//
//   rx threads ── transport
//       Gets of one path, while they come by few, for 300 us, and nothing waits: to wake a thread
//       for one takes more of the processors than to answer it.
//   rx threads ── SourceQueue ──► pool (2-8 threads) ── transport
//       capacity 65,536, 1,024 of one source LID: beyond that BUSY is answered at once
//       Requests that change what clients leave go on to SaKeeper (sa_keeper.h).
//   core ── latest FabricView ──► view thread ── Published<SaView> ──► rx threads, pool
//       capacity 1: a newer view replaces one that waits
//   pool ── requests for tables that are being read ──► view thread
//       capacity 256, for two seconds: beyond that BUSY is answered
//
// Only a master answers. Before its first view BUSY is answered, as clients ask again then.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "common/mutex.h"
#include "common/published.h"
#include "daemon/base/source_queue.h"
#include "daemon/sa/sa_keeper.h"
#include "mad/transport.h"
#include "sa/view/view.h"
#include "sa/view/view_input.h"
#include "sweep/interface/view.h"

namespace fabricd::daemon {

// What the service needs of the daemon: has the core read lane tables.
using ReadLanes = std::function<void(std::span<const NodeIndex>)>;

struct SaOptions {
  SmKey sm_key;
  uint64_t gid_prefix = 0xFE80000000000000;
  int threads = 0;  // 0: half of the processors, 2 to 8.
};

class SaService {
 public:
  // Requests that came, and what became of them.
  struct Statistics {
    uint64_t answered = 0;
    uint64_t busy = 0;         // Answered BUSY because a queue was full or no view was there.
    uint64_t ignored = 0;      // No requests, or not for us: this SM is not the master.
    uint64_t wrong_key = 0;    // With a foreign SM_Key: never answered.
    uint64_t send_failed = 0;  // Answers that the transport did not take.
    uint64_t unheard = 0;  // Of those answered: given back, for the requester acknowledged none.
  };

  // `transport` and `keeper` outlive it.
  SaService(mad::Transport& transport, SaKeeper& keeper, SaOptions options, ReadLanes read_lanes);
  ~SaService();

  // What came in together by Agent::kSubnAdm, to be moved from. On the transport's receive threads;
  // never waits.
  void OnMads(std::span<mad::IncomingMad> burst);
  // A trap has come to the SM: a copy for those who want to be told. The same threads.
  void OnTrap(const mad::IncomingMad& mad);
  // The core has published a view. Never waits.
  void OnView(std::shared_ptr<const sweep::FabricView> view);
  // Ends the threads. What comes afterwards is answered BUSY.
  void Stop();

  Statistics statistics() const;
  // Requests wait.
  bool is_busy() const { return !requests_.IsIdle(); }
  // What is answered from; null before the first.
  std::shared_ptr<const sa::SaView> view() const { return view_.Get(); }

 private:
  using Clock = std::chrono::steady_clock;
  enum Counter : uint8_t {
    kAnswered,
    kBusy,
    kIgnored,
    kWrongKey,
    kSendFailed,
    kUnheard,
    kCounters
  };

  bool IsRequest(const mad::IncomingMad& mad) const;
  void Serve();
  void MakeViews();
  bool TakeNewest(std::shared_ptr<const sweep::FabricView>& view, Clock::time_point use_at);
  void Show(sa::ViewInput input, bool settled);
  void Hide();
  void AnswerOne(mad::IncomingMad& request, std::vector<uint8_t>& reply,
                 Clock::time_point until = Clock::time_point::max());
  bool Park(mad::IncomingMad& request, Clock::time_point until, bool is_new);
  void AnswerParked();
  void AnswerBusy(const mad::IncomingMad& request, std::vector<uint8_t>& reply);
  void Send(const mad::IncomingMad& request, std::vector<uint8_t>& reply, Counter counter);
  void Count(Counter counter) { counters_[counter].fetch_add(1, std::memory_order_relaxed); }

  mad::Transport& transport_;
  SaKeeper& keeper_;
  const SaOptions options_;
  const ReadLanes read_lanes_;
  SourceQueue<mad::IncomingMad> requests_;
  Published<sa::SaView> view_;
  // Of the thread that makes views: what view_ was made of.
  sa::ViewInput shown_;
  bool shown_settled_ = false;
  std::atomic<bool> is_master_ = false;
  std::array<std::atomic<uint64_t>, kCounters> counters_{};

  Mutex newest_mutex_;
  Condition newest_came_;
  std::shared_ptr<const sweep::FabricView> newest_
      FABRICD_GUARDED_BY(newest_mutex_);  // To be made an SaView of. Null: none.
  struct Parked {
    mad::IncomingMad request;
    Clock::time_point until;
  };
  std::vector<Parked> parked_
      FABRICD_GUARDED_BY(newest_mutex_);  // Requests whose tables are being read.
  // What the thread that makes views is to do beside looking at newest_.
  enum class Order : uint8_t { kNone, kLookAtParked, kStop };
  Order order_ FABRICD_GUARDED_BY(newest_mutex_) = Order::kNone;
  std::vector<std::thread> threads_;
};

}  // namespace fabricd::daemon
