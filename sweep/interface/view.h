// SPDX-License-Identifier: Apache-2.0
// FabricView: the state that the core publishes after each change, for readers on any thread (rpc,
// sa, metrics). Immutable; its parts are shared with the core and with earlier views.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/sm_mode.h"
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
#include "sweep/interface/problem.h"
#include "sweep/interface/switch_tables.h"
#include "sweep/interface/takeover.h"

namespace fabricd::sweep {

// kTargeted: covers what one change touched. kSettle: without discovery, replaces an incremental
// repair by the ideal plan.
enum class SweepKind : uint8_t { kNone, kHeavy, kLight, kTargeted, kSettle };

struct SweepReport {
  SweepKind kind = SweepKind::kNone;
  double duration_ms = 0;
  uint64_t smps_sent = 0;  // All attempts, retries included.
  uint64_t timeouts = 0;   // Attempts without a response.
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

// The master as an SM sees it that only reads, for managers that share its state.
enum class WatchedMaster : uint8_t {
  kUnknown,  // No sweep has reached the fabric yet.
  // No sweep has found a master; or the master, which does not share the state, does not respond
  // at present.
  kNoMaster,
  kThere,
  kUnresponsive,  // The one that was seen does not respond, or is master no longer.
  kNone,          // No SM was found, sweep after sweep.
};

struct SmStatus {
  SmMode mode = SmMode::kManage;
  wire::SmState state = wire::SmState::kNotActive;
  Guid guid;  // This SM's port GUID.
  Lid lid;
  uint8_t priority = 0;
  uint32_t activity_count = 0;
  PortRef port;  // This SM's port in the snapshot.
  std::vector<RemoteSm> remote;
  // MASTER, but the takeover guard lets nothing be written until its report is accepted.
  bool is_held = false;
  WatchedMaster watched_master = WatchedMaster::kUnknown;
  Guid watched_guid;  // Its port; 0: none was seen.
  // kUnresponsive: the port still responds, so that the path of the polls is whole.
  bool watched_port_responds = false;
  // The port of the SM that was last seen as master; 0: it is not known.
  Guid last_master;
  // STANDBY of an SM that has answered as master. (One that may be busy has not answered.)
  bool has_other_master = false;
  // Whether `port` has a link; without one this SM reaches no device. True before the first sweep.
  bool has_link = true;

  // This SM configures the subnet.
  bool Manages() const { return state == wire::SmState::kMaster && !is_held; }
};

// What the core does now, for progress lines, sd_notify and `get sm`.
enum class Phase : uint8_t {
  kIdle,
  kDiscovering,
  kElecting,
  kAssigningLids,
  kRouting,
  kProgramming,
  kBringingUp,
  kStandby,
  kSurveying,  // Reads the switches that reported a change.
};
std::string_view PhaseName(Phase phase);  // "DISCOVERING"

// For a progress line: `done` of `total` in this phase; total 0: unknown.
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
  // False: the plan is of an earlier snapshot, and a new one is being computed.
  bool plan_stands = false;
  // Never null. The groups that the trees serve, and the desired trees; like `plan`, perhaps not
  // yet applied.
  std::shared_ptr<const fabric::MulticastGroups> groups;
  std::shared_ptr<const routing::MulticastPlan> multicast;
  // MLIDs with entries in switches that are in none of these trees, sorted: another SM wrote them.
  // Empty while the subnet is up. Null: none.
  std::shared_ptr<const std::vector<Lid>> foreign_mlids;
  std::vector<routing::ChainStep> chain;  // How the plan's engine was chosen.
  routing::RoutingOptions routing;        // Options of the plans.
  // End ports that holds isolate. Sorted.
  std::vector<PortRef> isolated;
  // The P_Key and VL tables as last read or confirmed. Null before the first sweep has ended.
  std::shared_ptr<const fabric::TablesByPort> tables;
  // Never null. The active partitions; and whether all P_Key tables match them.
  std::shared_ptr<const policy::PartitionState> partitions;
  bool partitions_in_effect = false;
  // Never null. Holds, damped links, conditions.
  std::shared_ptr<const policy::PolicyView> policy;
  SmStatus sm;
  Phase phase = Phase::kIdle;
  bool subnet_up = false;    // Master, every reachable link ACTIVE, tables applied.
  uint32_t sweeps_done = 0;  // Number of heavy sweeps.
  SweepReport last_sweep;
  std::vector<Problem> problems;
  SharedTakeoverReport takeover;  // The last one.
  // Of an SM that only reads, and shares its state.
  ReaderTables reader_tables;
  // Blocks of LinearForwardingTables, as the last run that writes tables has listed them. Another
  // object for each list. Published while their order is computed, or else in the step that sends
  // the first of them. Null: there was none.
  std::shared_ptr<const TableWrites> table_writes;
};

}  // namespace fabricd::sweep
