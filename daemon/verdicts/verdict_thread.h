// SPDX-License-Identifier: Apache-2.0
// VerdictThread: runs a VerdictKeeper on a thread of its own, behind the core and the collector:
// assessing a large fabric takes a good part of a second.
//
//   published views ──► assessment, once in an interval ──► Published<VerdictView>
//   gRPC threads ── questions ──► keeper     bounds: verdict_inbox.h
//   core ── answers about holds ──► keeper   as many as were asked for
//   keeper ── App's store worker ──► keeper  one write at a time; what fails is written again later
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "common/published.h"
#include "daemon/base/wall_clock.h"
#include "daemon/verdicts/verdict_inbox.h"
#include "daemon/verdicts/verdict_keeper.h"
#include "store/store.h"

namespace fabricd::daemon {

// What the thread needs of the daemon. Called on it.
struct VerdictLinks {
  std::function<std::shared_ptr<const telemetry::TelemetryView>()> telemetry;
  std::function<std::shared_ptr<const sweep::FabricView>()> fabric;
  std::function<void(HoldCommand, HoldDone)> post_hold;
  std::function<void(std::vector<fabric::FabricEvent>, Instant)> append_events;
  // Runs a job on the store's thread. False: it is not run.
  std::function<bool(std::function<void(store::Store&)>)> on_store;
};

class VerdictThread {
 public:
  // The names outlive it.
  VerdictThread(VerdictOptions options, const fabric::HostPatterns& patterns,
                const fabric::NodeNameMap& names, policy::StoredVerdicts stored,
                VerdictLinks links);
  ~VerdictThread();
  VerdictThread(const VerdictThread&) = delete;
  VerdictThread& operator=(const VerdictThread&) = delete;

  void Start();
  // Questions that wait are refused. A write under way ends on the store's thread.
  void Stop();

  // Any thread.
  std::shared_ptr<const query::VerdictView> view() const { return view_.Get(); }
  void SetOptions(VerdictOptions options);
  void Follow(policy::StoredVerdicts stored);  // VerdictKeeper's.
  void Do(VerdictCommand command, VerdictDone done);
  void Evaluate(PortRef port, VerdictDone done);

 private:
  using Steady = std::chrono::steady_clock;
  void Loop();
  void Handle(VerdictInbox::Arrivals& arrivals);
  void Answer(VerdictInbox::Question& question);
  void Carry(VerdictEffects effects, Instant now);
  void Write();
  void Ask(VerdictInbox::Question question);
  VerdictInputs Inputs();
  Duration NextStep() const;
  policy::WallMs WallOf(Instant now);

  const VerdictLinks links_;
  VerdictKeeper keeper_;
  Published<query::VerdictView> view_;
  WallClockWatch wall_clock_;  // As the core has it: expiries of holds are by its epoch.
  Instant next_{};             // Assessment.
  Instant next_write_{};       // After one that failed.

  // What is durable, and what a write under way makes of it.
  StoredRows durable_, writing_;
  bool is_writing_ = false;
  std::vector<std::pair<VerdictDone, std::shared_ptr<const query::VerdictRecord>>> unanswered_;
  std::vector<std::pair<VerdictDone, std::shared_ptr<const query::VerdictRecord>>> next_answered_;

  VerdictInbox inbox_;
  std::thread thread_;
};

}  // namespace fabricd::daemon
