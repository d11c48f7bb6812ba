// SPDX-License-Identifier: Apache-2.0
// FabricView: what the core publishes after each change, for readers on any thread (rpc, sa,
// metrics). Immutable; its parts are shared with the core and with earlier views.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/ids.h"
#include "fabric/lid_table.h"
#include "fabric/multicast_groups.h"
#include "fabric/port_tables.h"
#include "fabric/snapshot.h"
#include "mad/wire/sm_info.h"
#include "policy/partition_state.h"
#include "policy/policy_view.h"
#include "routing/plan/engine.h"
#include "routing/plan/multicast_plan.h"
#include "routing/plan/plan.h"

namespace fabricd::sweep {

// kTargeted: what one change touched. kSettle: no discovery, only the ideal plan in place of one of
// least change.
enum class SweepKind : uint8_t { kNone, kHeavy, kLight, kTargeted, kSettle };

struct SweepReport {
  SweepKind kind = SweepKind::kNone;
  double duration_ms = 0;
  uint64_t smps_sent = 0;  // Every attempt, repeats included.
  uint64_t timeouts = 0;   // Attempts without an answer.
  // "Get PortInfo" → attempts sent.
  std::map<std::string, uint64_t> smps_by_attribute;
  uint64_t sets_sent = 0;
};

// Another subnet manager seen on the fabric.
struct RemoteSm {
  PortRef port;
  Guid guid;
  uint8_t priority = 0;
  wire::SmState state = wire::SmState::kNotActive;
  uint32_t activity_count = 0;
};

// Something an operator should know of a node, port or the subnet: it stands until a sweep no
// longer finds it.
struct Problem {
  std::string kind;     // "DuplicateGuid", "Unresponsive", "MKeyMismatch", "IllegalPortInfo",
                        // "LidsExhausted", "MisplacedCable", …
  std::string subject;  // "node0001 mlx5_3/1 (0x…)"
  std::string message;
};

struct SmStatus {
  wire::SmState state = wire::SmState::kNotActive;
  Guid guid;  // Our port GUID.
  Lid lid;
  uint8_t priority = 0;
  uint32_t activity_count = 0;
  PortRef port;  // Our port in the snapshot.
  std::vector<RemoteSm> remote;
};

// What the core is doing now, for progress lines, sd_notify and `get sm`.
enum class Phase : uint8_t {
  kIdle,
  kDiscovering,
  kElecting,
  kAssigningLids,
  kRouting,
  kProgramming,
  kBringingUp,
  kStandby,
  kSurveying,  // Looking at single switches that reported a change.
};
std::string_view PhaseName(Phase phase);  // "DISCOVERING"

// What is going on, for a progress line: `done` of `total` in this phase; total 0: unknown.
struct Progress {
  Phase phase = Phase::kIdle;
  std::string step;
  size_t done = 0, total = 0;
};

// Before the first sweep: an empty snapshot, no LIDs.
struct FabricView;
std::shared_ptr<const FabricView> EmptyView();

struct FabricView {
  Generation generation;  // Grows with every published view.
  std::shared_ptr<const fabric::FabricSnapshot>
      snapshot;                                      // Never null; empty before the first sweep.
  std::shared_ptr<const fabric::LidTable> lids;      // Never null.
  std::shared_ptr<const routing::RoutingPlan> plan;  // Null before the first plan.
  // False: the plan is of an earlier snapshot, and one for this is on its way.
  bool plan_stands = false;
  // Never null. The groups that trees were made for, and the trees: as wanted, like `plan`.
  std::shared_ptr<const fabric::MulticastGroups> groups;
  std::shared_ptr<const routing::MulticastPlan> multicast;
  std::vector<routing::ChainStep> chain;  // How the plan's engine was chosen.
  routing::RoutingOptions routing;        // By which plans are made.
  // End ports that holds cut off. Sorted.
  std::vector<PortRef> isolated;
  // What partition and lane tables were last read to hold. Null before the first sweep has ended.
  std::shared_ptr<const fabric::TablesByPort> tables;
  // Never null. As they are in force; whether all P_Key tables are so.
  std::shared_ptr<const policy::PartitionState> partitions;
  bool partitions_in_effect = false;
  // Never null. Holds, damped links, conditions.
  std::shared_ptr<const policy::PolicyView> policy;
  SmStatus sm;
  Phase phase = Phase::kIdle;
  bool subnet_up = false;    // Master, every reachable link ACTIVE, tables applied.
  uint32_t sweeps_done = 0;  // Heavy ones.
  SweepReport last_sweep;
  std::vector<Problem> problems;
};

}  // namespace fabricd::sweep
