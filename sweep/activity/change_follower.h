// SPDX-License-Identifier: Apache-2.0
// ChangeFollower: from reports of changes to what has changed: the switches that are reported
// (Suspects), and the surveys of them (Surveys). The core says when a survey may start.
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
  // All outlive this.
  ChangeFollower(const Ground& ground, ObservedFabric& observed)
      : ground_(ground),
        observed_(observed),
        suspects_(ground.options.sweep.report_window),
        surveys_(ground) {}

  // ---- reports

  // The switch (port 0), or what is behind one of its ports; of other nodes nothing.
  void Report(PortRef port, const std::string& cause, Instant now);
  // These switches, and those that these hosts are attached to: all that is known of their ports is
  // read and programmed again.
  void ReportThorough(const std::vector<NodeIndex>& nodes, const std::string& cause, Instant now);
  // A report is about to be followed up.
  bool IsReported(Instant now) const {
    return suspects_.due() <= now + ground_.options.sweep.report_window;
  }
  Instant due() const { return suspects_.due(); }

  // ---- surveys

  bool empty() const { return surveys_.empty(); }
  // `waits`: a heavy sweep waits for surveys to end, and reads what they would.
  bool HasRoom(bool waits) const { return !surveys_.full() && (surveys_.empty() || !waits); }
  // What is reported, if it is due. Returns whether a survey has started. REQUIRES: HasRoom().
  bool SurveyReported(Instant now);
  // A request that timed out may have met a lost link whose traps were lost with it: to wait until
  // it is given up would take seconds. At most the engine's window of devices, and the hops to
  // each. Returns and requires the same.
  bool SurveyPathsTo(const std::vector<mad::DeviceId>& unresponsive, Instant now);
  // What a run left undone at these nodes is read and programmed again. REQUIRES: HasRoom().
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
  // As of the last Advance(): something was found that is to be planned for.
  bool HasChanges() const { return surveys_.HasChanges(); }
  Surveys::Changes TakeChanges() { return surveys_.TakeChanges(); }
  // Takes up what surveys that have ended leave: what they could not read, and further suspects.
  void TakeUpEnded(Instant now);
  // The node was found, and is to be programmed later, together with others.
  bool Gathers(NodeIndex node) const { return surveys_.explorer().Gathers(node); }

  // All of it is read now, or nothing is to be.
  void Clear() {
    surveys_.Clear();
    suspects_.Clear();
  }

 private:
  // False: there is nothing to look at.
  bool Start(SurveyTask task, Instant now);

  const Ground ground_;
  ObservedFabric& observed_;
  Suspects suspects_;
  Surveys surveys_;
};

}  // namespace fabricd::sweep
