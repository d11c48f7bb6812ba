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
//       capacity 65,536, 1,024 of one source LID: beyond that refused
//       Requests that change what clients leave go on to SaKeeper (sa_keeper.h).
//   core ── latest FabricView ──► view thread ── Published<SaView> ──► rx threads, pool
//       capacity 1: a newer view replaces one that waits
//   pool ── requests that no view can answer yet ──► view thread
//       capacity 16,384, 256 of one source LID, for ten seconds; of tables that are being read 256,
//       for two: beyond that refused
//
// Refused are with BUSY only requests for tables. The kernel's ib_sa, which sends none, takes BUSY
// for the final answer and asks again where there is none: so all others are dropped and counted.
//
// A master answers, and who hands the subnet over still does for a few seconds, from its last view:
// clients that asked before they got the new master's LID ask again at the old one only.
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
#include "daemon/sa/parked_requests.h"
#include "daemon/sa/sa_keeper.h"
#include "mad/transport.h"
#include "mad/wire/sm_info.h"
#include "sa/view/view.h"
#include "sa/view/view_input.h"
#include "sweep/interface/view.h"

namespace fabricd::daemon {

// What the service needs of the daemon: has the core read lane tables.
using ReadLanes = std::function<void(std::span<const NodeIndex>)>;

struct SaOptions {
  SmKey sm_key;
  uint64_t gid_prefix = 0xFE80000000000000;
  sa::PrefixRoutes prefix_routes;
  int threads = 0;  // 0: half of the processors, 2 to 8.
  // How long after a handover the last view still serves: the kernel's SA client asks at the same
  // LID for as long as its caller waits, which is seldom longer.
  std::chrono::milliseconds farewell{5000};
};

class SaService {
 public:
  // Requests that came, and what became of them.
  struct Statistics {
    uint64_t answered = 0;
    uint64_t busy = 0;         // Answered BUSY because there was no room.
    uint64_t dropped = 0;      // Not answered for the same reason, or as no view came in time.
    uint64_t ignored = 0;      // No requests, or not for us: this SM is not the master.
    uint64_t wrong_key = 0;    // With a foreign SM_Key: never answered.
    uint64_t send_failed = 0;  // Answers that the transport did not take.
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
  // Ends the threads. What comes afterwards is refused.
  void Stop();

  Statistics statistics() const;
  // Requests wait.
  bool is_busy() const { return !requests_.IsIdle(); }
  // What is answered from; null before the first.
  std::shared_ptr<const sa::SaView> view() const { return view_.Get(); }

 private:
  using Clock = ParkedRequests::Clock;
  static constexpr Clock::time_point kNew = Clock::time_point::max();  // It has not waited yet.
  struct Patience;
  struct Newest {
    std::shared_ptr<const sweep::FabricView> view;
    Instant published;
  };
  enum Counter : uint8_t {
    kAnswered,
    kBusy,
    kDropped,
    kIgnored,
    kWrongKey,
    kSendFailed,
    kCounters
  };

  bool IsRequest(const mad::IncomingMad& mad) const;
  void Serve();
  void MakeViews();
  bool TakeNewest(Newest& view, Clock::time_point use_at);
  void Show(sa::ViewInput input, bool settled, Instant published);
  void Hide();
  void AnswerOne(mad::IncomingMad& request, std::vector<uint8_t>& reply,
                 Clock::time_point until = kNew);
  void Postpone(mad::IncomingMad& request, std::vector<uint8_t>& reply, Clock::time_point until,
                const Patience& patience);
  bool Park(mad::IncomingMad& request, Clock::time_point until, bool is_new, size_t most);
  void AnswerParked();
  void Refuse(const mad::IncomingMad& request, std::vector<uint8_t>& reply);
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
  // Before the first view there may be requests already, as this one may have been the master.
  std::atomic<wire::SmState> state_ = wire::SmState::kDiscovering;
  std::array<std::atomic<uint64_t>, kCounters> counters_{};

  Mutex newest_mutex_;
  Condition newest_came_;
  Newest newest_ FABRICD_GUARDED_BY(newest_mutex_);  // To be made an SaView of. Null: none.
  ParkedRequests parked_ FABRICD_GUARDED_BY(newest_mutex_);
  // What the thread that makes views is to do beside looking at newest_.
  enum class Order : uint8_t { kNone, kLookAtParked, kStop };
  Order order_ FABRICD_GUARDED_BY(newest_mutex_) = Order::kNone;
  std::vector<std::thread> threads_;
};

}  // namespace fabricd::daemon
