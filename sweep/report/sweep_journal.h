// SPDX-License-Identifier: Apache-2.0
// sweep/report: what the core reports: log lines, events, the cost of sweeps, and views.
//
// SweepJournal: the log lines and events of a sweep, and of the reroute that is part of it.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "fabric/snapshot.h"
#include "mad/transaction_engine.h"
#include "sweep/interface/events.h"
#include "sweep/interface/problems.h"
#include "sweep/program/reroute_record.h"
#include "sweep/report/report_maker.h"

namespace fabricd::sweep {

class SweepJournal {
 public:
  // Both must outlive this. Effects are appended.
  SweepJournal(const mad::TransactionEngine& engine, Effects& effects)
      : engine_(engine), effects_(effects) {}

  void Log(LogLevel level, std::string text) { effects_.log.push_back({level, std::move(text)}); }
  // Emits the event and logs it.
  void EmitEvent(fabric::FabricEvent event);

  void BeginSweep(SweepKind kind, Instant now) { report_.Begin(kind, now, engine_.statistics()); }
  Duration Elapsed(Instant now) const { return report_.Elapsed(now); }  // Of that sweep.
  SweepKind kind() const { return report_.kind(); }                     // Of the last BeginSweep().
  // Logs the cost and the standing problems, except for a light sweep. REQUIRES: BeginSweep() was
  // called.
  SweepReport EndSweep(SweepKind kind, const fabric::FabricSnapshot& snapshot,
                       const ProblemList& problems, Instant now);

  // `since`: when the first report arrived.
  void BeginReroute(std::string cause, std::string subject, Instant since, Instant now) {
    reroute_.Begin(std::move(cause), std::move(subject), since, now, engine_.statistics());
  }
  void OnPlan(const std::string& engine, bool provisional, Instant now) {
    reroute_.OnPlan(engine, provisional, now);
  }
  // Call before the writes. Emits which paths are interrupted.
  void OnOrder(const routing::PushPlan& push, Instant now);
  // All table writes were confirmed or have failed, or a newer change supersedes the run. Emits the
  // cost. Does nothing if no reroute is open.
  void EndReroute(const Programmer& programmer, bool superseded, Instant now);
  void DropReroute() { reroute_.Drop(); }

 private:
  const mad::TransactionEngine& engine_;
  Effects& effects_;
  ReportMaker report_;
  RerouteRecord reroute_;
};

}  // namespace fabricd::sweep
