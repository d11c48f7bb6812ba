// SPDX-License-Identifier: Apache-2.0
// sweep/report: what the core reports: log lines, events, the cost of sweeps, views.
//
// SweepJournal: what is logged and emitted about a sweep and about the reroute that is part of it.
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
  // Both outlive this; effects are appended to.
  SweepJournal(const mad::TransactionEngine& engine, Effects& effects)
      : engine_(engine), effects_(effects) {}

  void Log(LogLevel level, std::string text) { effects_.log.push_back({level, std::move(text)}); }
  // Logs it too.
  void EmitEvent(fabric::FabricEvent event);

  void BeginSweep(SweepKind kind, Instant now) { report_.Begin(kind, now, engine_.statistics()); }
  SweepKind kind() const { return report_.kind(); }  // Of the last BeginSweep().
  // Logs what it has cost and which problems stand, unless it was a light one. REQUIRES:
  // BeginSweep() was called.
  SweepReport EndSweep(SweepKind kind, const fabric::FabricSnapshot& snapshot,
                       const ProblemList& problems, Instant now);

  // `since`: when the first report of it came.
  void BeginReroute(std::string cause, std::string subject, Instant since, Instant now) {
    reroute_.Begin(std::move(cause), std::move(subject), since, now, engine_.statistics());
  }
  void OnPlan(const std::string& engine, bool provisional, Instant now) {
    reroute_.OnPlan(engine, provisional, now);
  }
  // Before any of it is written. Emits which paths it interrupts.
  void OnOrder(const routing::PushPlan& push, Instant now);
  // All table writes are acknowledged or have failed, or a newer change has come. Emits what it has
  // cost; nothing if none was begun, or it has ended.
  void EndReroute(const Programmer& programmer, bool superseded, Instant now);
  void DropReroute() { reroute_.Drop(); }

 private:
  const mad::TransactionEngine& engine_;
  Effects& effects_;
  ReportMaker report_;
  RerouteRecord reroute_;
};

}  // namespace fabricd::sweep
