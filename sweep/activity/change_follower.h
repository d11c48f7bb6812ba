// SPDX-License-Identifier: Apache-2.0
// ChangeFollower: turns reports of changes into observed changes. It keeps the reported switches
// (Suspects) and the surveys of them (Surveys). The core decides when a survey may start.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sweep/observe/observed_fabric.h"
#include "sweep/observe/surveys.h"
#include "sweep/observe/suspects.h"

namespace fabricd::sweep {

class ChangeFollower {
 public:
  // Both must outlive this.
  ChangeFollower(const Ground& ground, ObservedFabric& observed)
      : ground_(ground),
        observed_(observed),
        suspects_(ground.options.sweep.report_window),
        surveys_(ground) {}

  // ---- reports

  // Reports the switch (port 0), or what is attached to one of its ports. Ports of other nodes are
  // ignored.
  void Report(PortRef port, const std::string& cause, Instant now);
  // The NodeDescription of a switch may have changed. It is read with the next survey. REQUIRES:
  // the switch is reported too.
  void ReportDescription(NodeIndex node) { described_.insert(node); }
  // Reports these switches, and the switches that these hosts are attached to. Their ports are read
  // and programmed in full.
  void ReportThorough(const std::vector<NodeIndex>& nodes, const std::string& cause, Instant now);
  // True: a report is about to be followed up.
  bool IsReported(Instant now) const {
    return suspects_.due() <= now + ground_.options.sweep.report_window;
  }
  Instant due() const { return suspects_.due(); }

  // ---- surveys

  bool empty() const { return surveys_.empty(); }
  // `waits`: a heavy sweep waits for the surveys to end. Then no survey is added to those under
  // way, because the sweep reads everything anyway.
  bool HasRoom(bool waits) const { return !surveys_.full() && (surveys_.empty() || !waits); }
  // Surveys the suspects that are due. Returns whether a survey has started. REQUIRES: HasRoom().
  bool SurveyReported(Instant now);
  // Surveys the links on the paths to devices that do not respond. A lost link may be the cause of
  // a timeout, with its traps lost too, and waiting until the request is given up would take
  // seconds. At most the engine's window of devices, and the hops to each. Returns whether a survey
  // has started. REQUIRES: HasRoom().
  bool SurveyPathsTo(const std::vector<mad::DeviceId>& unresponsive, Instant now);
  // Reads and programs again the nodes that a run left undone. REQUIRES: HasRoom().
  void SurveyUndone(const std::set<NodeIndex>& nodes, Instant now);

  void OnCompletion(const mad::Completion& completion, Instant now) {
    surveys_.OnCompletion(completion, now);
  }
  void OnExplorerCompletion(const mad::Completion& completion, Instant now) {
    surveys_.OnExplorerCompletion(completion, now);
  }
  // Call after each batch of completions, and at NextDeadline().
  void Advance(Instant now) { surveys_.Advance(now); }
  Instant NextDeadline() const { return surveys_.NextDeadline(); }
  // As of the last Advance(): a survey found something that must be planned for.
  bool HasChanges() const { return surveys_.HasChanges(); }
  Surveys::Changes TakeChanges() { return surveys_.TakeChanges(); }
  // Collects from ended surveys what they could not read, and further suspects.
  void TakeUpEnded(Instant now);
  // The node was found. It is programmed later, together with others.
  bool Gathers(NodeIndex node) const { return surveys_.explorer().Gathers(node); }

  // Drops everything: a heavy sweep reads it all, or this SM is no longer master.
  void Clear() {
    surveys_.Clear();
    suspects_.Clear();
    described_.clear();
  }

 private:
  // Returns false if the task is empty.
  bool Start(SurveyTask task, Instant now);

  const Ground ground_;
  ObservedFabric& observed_;
  Suspects suspects_;
  std::set<NodeIndex> described_;  // At most one entry for each switch.
  Surveys surveys_;
};

}  // namespace fabricd::sweep
