// SPDX-License-Identifier: Apache-2.0
// The work of fabricplan: from a fabric and options to plans that are judged and measured. Knows
// no files and no command line; reads the clock to say how long each part took.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fabric/lid_table.h"
#include "plan/fabric_input.h"
#include "routing/graph/graph.h"
#include "routing/plan/engine.h"
#include "routing/proof/verifier.h"
#include "routing/quality/quality.h"

namespace fabricd::plan {

struct Fabric {
  Snapshot snapshot;
  fabric::LidTable lids;
};

// What one engine made of the fabric.
struct EngineReport {
  std::string engine;
  std::string reason;  // Why there is no plan, or why it cannot be used. Empty: verified.
  std::shared_ptr<const routing::RoutingPlan> plan;  // Null: the engine declined.
  routing::VerifyReport verify;
  double route_ms = 0, verify_ms = 0, metrics_ms = 0;
  uint64_t table_bytes = 0;
  // Ordered pairs (switch, LID) that are connected but not served: exempt or unreachable.
  uint64_t unserved_pairs = 0;
  bool measured = false;
  routing::Quality quality;  // Of the piece of the fabric with the most hosts.
};

// What a plan changes of the one before it.
struct Step {
  std::string engine;
  double ms = 0;                      // To compute and prove it.
  uint64_t blocks_changed = 0;        // LinearForwardingTable blocks: SMPs to send.
  uint64_t destinations_changed = 0;  // LIDs with another port on some switch.
  uint64_t switches_changed = 0;
  std::optional<uint32_t> max_load;  // All-to-all, if measured.
};

// From a plan for the fabric as it was to the fabric as it is, as fabricd goes: first the least
// change, which is what must be written before traffic flows again, then the engine's own plan.
struct ChangeReport {
  std::string reason;         // Why there is no plan at all. Empty: verified.
  std::string why_not_least;  // Why the first step is already a full plan; empty: it is the least.
  Step first;
  Step settled;  // From the first to the engine's own plan; nothing changed if it is that.
};

struct Planning {
  std::vector<routing::ChainStep> chain;
  EngineReport best;                   // What the chain chose; else the first that has a plan.
  std::vector<EngineReport> compared;  // Of every engine that was asked for; empty: only the chain.
  uint32_t pieces = 0;                 // Connected pieces of the fabric that have a switch.
};

struct PlanningOptions {
  routing::RoutingOptions routing;  // With the chain to try.
  routing::QualityOptions quality;
  bool compare = false;  // Run every engine of the chain, not only until one verifies.
  bool measure = true;   // False: `quality` and Step::max_load stay empty.
};

// The piece with the most hosts, which EngineReport::quality is of; empty: none has a switch.
std::optional<routing::SwitchGraph> LargestPiece(const Fabric& fabric);

Planning MakePlan(const Fabric& fabric, const PlanningOptions& options);

// Plans `before`, then `now` with the earlier plan as previous.
ChangeReport PlanChange(const Fabric& before, const Fabric& now, const PlanningOptions& options);

}  // namespace fabricd::plan
