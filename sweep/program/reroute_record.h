// SPDX-License-Identifier: Apache-2.0
// RerouteRecord: records the time and writes from a change to updated tables, and makes the event
// RerouteCompleted from them.
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
  // `since`: when the first report arrived.
  void Begin(std::string cause, std::string subject, Instant since, Instant now,
             const mad::EngineStatistics& statistics);
  void OnPlan(const std::string& engine, bool provisional, Instant now);
  // Call before the writes. Returns an event if paths are interrupted.
  std::optional<fabric::FabricEvent> OnOrder(const routing::PushPlan& push, Instant now);
  // All table writes were confirmed or have failed, or a newer change supersedes the run. nullopt:
  // no record was open.
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
