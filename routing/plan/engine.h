// SPDX-License-Identifier: Apache-2.0
// The RoutingEngine seam: pure, reentrant, deterministic. The same input gives the same bytes
// whatever the thread count and whatever order the input was discovered in (ties by GUID and port
// number).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <absl/status/statusor.h>

#include "fabric/hosts.h"
#include "fabric/lid_table.h"
#include "fabric/snapshot.h"
#include "routing/plan/engine_names.h"
#include "routing/plan/plan.h"

namespace fabricd::routing {

class WorkBudget;

// What a plan on a damaged tree is balanced for: the most loaded link when all send to all, or the
// worst number of flows on a link when each sends to the one k places further.
enum class BalancePolicy { kAllToAll, kShift };

inline constexpr uint64_t kDefaultEngineBudget = 2'000'000'000;

struct RoutingOptions {
  // Engines in the order in which they are tried.
  std::vector<std::string> chain = DefaultChain();
  std::vector<Guid> roots;  // up_down: given roots (node GUIDs); empty: found.
  uint8_t lanes_max = 1;    // Data VLs that an engine may use.
  // Steps (work_budget.h) that an engine may take for one plan. 0: as many as it likes.
  uint64_t engine_budget = kDefaultEngineBudget;
  BalancePolicy balance = BalancePolicy::kAllToAll;
  fabric::HostPatterns host_patterns;  // rail: how descriptions are read.
  int threads = 0;                     // 0: all cores.
};
// Of all that a plan depends on, so not of `threads`; 2 or higher. The same on every machine.
uint64_t DigestOf(const RoutingOptions& options);

// The fabric is one that may be used as it stands: see usable.h for what is made of an Intent.
struct RoutingInput {
  const fabric::FabricSnapshot& snapshot;
  const fabric::LidTable& lids;
  const RoutingOptions& options;
  const RoutingPlan* previous = nullptr;  // May be null. An engine may share its rows.
  WorkBudget* budget = nullptr;           // Null: no limit.
};

class RoutingEngine {
 public:
  virtual ~RoutingEngine() = default;
  virtual std::string_view name() const = 0;
  // kFailedPrecondition: the fabric does not fit this engine; the message names the nodes.
  // kResourceExhausted: it has used up its budget.
  [[nodiscard]] virtual absl::StatusOr<RoutingPlan> Compute(const RoutingInput& input) const = 0;
};

// nullptr: no engine of that name.
std::unique_ptr<RoutingEngine> MakeEngine(std::string_view name);

// One engine's turn in a chain, for `fabricctl get sm`, events and logs.
struct ChainStep {
  std::string engine;
  bool chosen = false;
  std::string reason;  // Why it was not chosen; empty when chosen.
  friend bool operator==(const ChainStep&, const ChainStep&) = default;
};
struct ChainResult {
  std::shared_ptr<const RoutingPlan>
      plan;  // Verified. Null: no engine of the chain gave a valid plan.
  std::vector<ChainStep> steps;
};
// What a chain does with an engine, for callers that have a clock.
enum class ChainPhase { kCompute, kVerify, kCompare };
// Called as each phase begins.
using ChainObserver = std::function<void(std::string_view engine, ChainPhase phase)>;

// Tries options.chain in order; each plan is verified (verifier.h) before it is accepted. Each
// engine has a budget of its own, but for the last one if there is no plan yet.
ChainResult RunChain(const RoutingInput& input, const ChainObserver& observer = {});

}  // namespace fabricd::routing
