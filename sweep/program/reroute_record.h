// SPDX-License-Identifier: Apache-2.0
// RerouteRecord: takes down what it costs to get from a change to tables that fit it, and makes the
// event RerouteCompleted of it.
#pragma once

#include <optional>
#include <string>

#include "fabric/event.h"
#include "mad/transaction_engine.h"
#include "routing/transition/push_plan.h"
#include "sweep/program/programmer.h"

namespace fabricd::sweep {

class RerouteRecord {
 public:
  // `since`: when the first sign of it came.
  void Begin(std::string cause, std::string subject, Instant since, Instant now,
             const mad::EngineStatistics& statistics);
  void OnPlan(const std::string& engine, bool provisional, Instant now);
  // Before any of it is written. What it gives, if anything, says how many paths are interrupted.
  std::optional<fabric::FabricEvent> OnOrder(const routing::PushPlan& push, Instant now);
  // All table writes are acknowledged or have failed, or a newer change has come. nullopt: none was
  // open.
  std::optional<fabric::FabricEvent> Finish(const Programmer& programmer, bool superseded,
                                            Instant now, const mad::EngineStatistics& statistics);
  void Drop() { reroute_.reset(); }

 private:
  fabric::FabricEvent MakeEvent(Instant now, const mad::EngineStatistics& statistics);

  std::optional<fabric::Reroute> reroute_;
  std::string subject_;
  uint64_t smps_before_ = 0;
};

}  // namespace fabricd::sweep
