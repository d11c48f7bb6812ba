// SPDX-License-Identifier: Apache-2.0
// sweep/interface: the inputs and outputs of the core.
//
// Events and Effects: values only (DESIGN §1). The core calls no other part of the daemon.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <absl/status/status.h>

#include "common/ids.h"
#include "fabric/alias_guids.h"
#include "fabric/event.h"
#include "fabric/hosts.h"
#include "fabric/intent.h"
#include "fabric/lid_record.h"
#include "fabric/multicast_groups.h"
#include "mad/transport.h"
#include "policy/holds.h"
#include "policy/partition_state.h"
#include "routing/plan/multicast_plan.h"
#include "routing/repair/consequences.h"
#include "routing/repair/replan.h"
#include "routing/transition/push_plan.h"
#include "sweep/interface/options.h"
#include "sweep/interface/view.h"

namespace fabricd::sweep {

// Identifies a question to the shell. Never reused.
using QuestionId = StrongId<struct QuestionIdTag, uint64_t>;

// ---- events

// Start: discovery, election and everything that follows.
struct StartEvent {
  policy::WallMs epoch = 0;  // Wall-clock time at Instant zero.
};
// The wall clock was set.
struct WallClockSet {
  policy::WallMs epoch = 0;  // Wall-clock time at Instant zero, from now on.
};
struct TimerEvent {};  // Time has passed; NextDeadline() has come.
// The contents of answers to the questions in Effects. Each kind of question names its kind of
// answer.
struct Persisted {
  absl::Status status;
};
struct PlanReady {
  routing::ReplanResult result;
  // The programmed trees add no dependency cycle to the channel dependencies of this plan and the
  // previous one, so they may stay while this plan is written. Computed if ComputePlan::has_trees.
  bool keeps_trees = true;
  // New trees may also be written beside the programmed ones: all follow one switch order.
  bool mixes_trees = true;
};
struct TablesOrdered {
  routing::PushPlan push;
};
struct CablesChecked {
  std::vector<Problem> problems;
};
struct TreesReady {
  std::shared_ptr<const routing::MulticastPlan> plan;  // Verified together with the unicast plan.
  std::string fault;                                   // If plan is null: the reason.
};
struct IntentEvaluated {
  routing::Consequences consequences;
};
struct MastershipClaimed {
  absl::Status status;  // OK: this SM may become master.
  // Another manager was master with the same durable state until now, so that state names every
  // client that has registered with its Subnet Administration.
  bool continues = false;
};
// The answer to a question. Ignored if the question is no longer open.
struct Answer {
  QuestionId id;
  std::variant<Persisted, PlanReady, TablesOrdered, CablesChecked, TreesReady, IntentEvaluated,
               MastershipClaimed>
      what;
};
struct SweepCommand {
  uint64_t command = 0;  // Returned in Effects::finished.
  bool heavy = true;
};
// A validated reload. A heavy sweep follows and uses these options. The windows of the transaction
// engine (`smp`) keep their values until a restart.
struct OptionsChanged {
  CoreOptions options;
};
// Creates a hold: `hold` as requested, without id and times. If a hold with the same request_id, or
// with the same owner, kind and target, is active already, the outcome is that hold.
struct CreateHold {
  uint64_t command = 0;
  policy::Hold hold;
  std::optional<Duration> ttl = std::nullopt;  // From when this arrives; nullopt: no expiry.
  // Why the target is unknown. Then only the hold of an earlier request with the same request_id
  // can be returned.
  absl::Status unresolved = absl::OkStatus();
  bool validate_only = false;  // Only compute the consequences.
  bool renews = false;         // A hold that exists already gets this expiry.
};
struct DeleteHold {
  uint64_t command = 0;
  policy::HoldBook::DeleteRequest request;
};
struct AckHold {
  uint64_t command = 0;
  uint64_t id = 0;
  std::string asker;  // Must be the owner, unless any_owner.
  bool any_owner = false;
};
// Forgets that the links with this end have flapped: suppressed ones may be used again.
struct ClearDamping {
  uint64_t command = 0;
  PortRef end;
  bool validate_only = false;  // Changes nothing.
};
// A request about partitions.
struct ChangePartitions {
  uint64_t command = 0;
  policy::PartitionRequest request;
  bool validate_only = false;  // Only compute the outcome.
  bool of_this_host = false;   // From a file of this host; a standby accepts it too.
  std::string by = {};         // The requester, for the emitted event.
};
// The members of multicast groups have changed. Replaces all earlier groups.
struct GroupsChanged {
  std::shared_ptr<const fabric::MulticastGroups> groups;  // Not null.
};
// The alias GUIDs of ports have changed. Replaces all earlier aliases.
struct AliasesChanged {
  std::shared_ptr<const fabric::AliasGuids> aliases;  // Not null.
};
// What the master has stored with the shared state. For an SM that follows it
// (SmOptions::FollowsOwner); others ignore it. Replaces all earlier holds and partitions.
struct StoredStateChanged {
  policy::StoredHolds holds;
  std::shared_ptr<const policy::PartitionState> partitions;  // Not null.
};
// The ports of the other managers that share this SM's durable state, also of those that have gone.
// All other SMs are foreign from then on. Replaces all earlier ports.
struct SharingPorts {
  std::vector<Guid> ports;
};
// A client requests the VL tables of these nodes. A view with them follows; it lacks the tables
// that could not be read.
struct ReadLanes {
  std::vector<NodeIndex> nodes;
};
// Sets this SM's priority until the next such command, a reload of the options or a restart.
struct SetPriority {
  uint64_t command = 0;
  uint8_t priority = 0;  // 0-15
  bool validate_only = false;
};
// The master hands over to the best standby and sets its own priority below that of the standby.
struct StepDown {
  uint64_t command = 0;
  bool validate_only = false;
  std::string request_id = {};  // A repeat of the last id returns its outcome. Empty: no id.
};
// Accepts the risky changes of the takeover report with this id.
struct AcceptTakeover {
  uint64_t command = 0;
  std::string id;
};
// The store takes writes again, after it had refused some: LIDs that are not stored yet can be.
struct StoreTakesWrites {};
using Event =
    std::variant<StartEvent, WallClockSet, TimerEvent, mad::IncomingMad, mad::LocalPortEvent,
                 Answer, SweepCommand, OptionsChanged, CreateHold, DeleteHold, AckHold,
                 GroupsChanged, ChangePartitions, AliasesChanged, ReadLanes, SetPriority, StepDown,
                 AcceptTakeover, ClearDamping, StoredStateChanged, SharingPorts, StoreTakesWrites>;

// ---- effects

enum class LogLevel : uint8_t { kDebug, kInfo, kWarning, kError };
struct LogRecord {
  LogLevel level = LogLevel::kInfo;
  std::string text;
};

// ---- questions

struct PersistLids {
  using Answer = Persisted;
  std::vector<fabric::LidRecord> records;
};
struct ComputePlan {
  using Answer = PlanReady;
  std::shared_ptr<const fabric::FabricSnapshot> snapshot;
  std::shared_ptr<const fabric::LidTable> lids;
  fabric::Intent intent;
  routing::RoutingOptions options;
  std::shared_ptr<const routing::RouteState> before;  // May be null.
  routing::ReplanGoal goal = routing::ReplanGoal::kIdeal;
  // Plans must leave room for multicast trees: some exist, or they are requested next.
  bool needs_room = false;
  bool has_trees = false;                                         // Multicast trees are programmed:
  std::shared_ptr<const routing::MulticastPlan> trees = nullptr;  // these; null: not known.
  // What the switches may hold. Null: there is no previous plan, or they hold exactly that one.
  std::shared_ptr<const routing::AppliedTables> applied = nullptr;
  std::shared_ptr<const routing::RouteState> ideal = nullptr;  // As in ReplanInput.
};
// Finds misplaced cables. Asked after the plan for the same snapshot; the plan does not wait for
// it.
struct CheckCables {
  using Answer = CablesChecked;
  std::shared_ptr<const fabric::FabricSnapshot> snapshot;
  fabric::HostPatterns host_patterns;
};
// The multicast trees that go with a unicast plan.
struct ComputeTrees {
  using Answer = TreesReady;
  // The inputs of the plan.
  std::shared_ptr<const fabric::FabricSnapshot> snapshot;
  std::shared_ptr<const fabric::LidTable> lids;
  fabric::Intent intent;
  std::shared_ptr<const routing::RoutingPlan> plan;
  std::shared_ptr<const fabric::MulticastGroups> groups;
  // These trees are kept as far as they serve: the last desired ones, or what the switches hold.
  std::shared_ptr<const routing::MulticastPlan> before;
};
// The order in which tables that carry traffic are updated to a plan.
struct OrderTables {
  using Answer = TablesOrdered;
  std::shared_ptr<const fabric::FabricSnapshot> snapshot;
  std::shared_ptr<const fabric::LidTable> lids;
  std::shared_ptr<const routing::RouteState> routes;      // Desired.
  std::shared_ptr<const routing::RoutingPlan> before;     // Desired before; may be null.
  std::shared_ptr<const routing::AppliedTables> applied;  // Applied now.
  int threads = 0;
};
// All or none: writes or replaces the holds in `put`, and removes these ids.
struct PersistHolds {
  using Answer = Persisted;
  std::vector<policy::Hold> put;
  std::vector<uint64_t> remove;
};
// All or none.
struct PersistPartitions {
  using Answer = Persisted;
  RowChanges rows;
};
// What the takeover guard must know after a restart. All or none.
struct PersistTakeover {
  using Answer = Persisted;
  RowChanges rows;
};
// The right to be master, where several managers share the durable state. Asked for before each
// mastership; nothing is written to a device before the answer.
struct ClaimMastership {
  using Answer = MastershipClaimed;
};
// Computes the consequences of an intent.
struct EvaluateIntent {
  using Answer = IntentEvaluated;
  std::shared_ptr<const fabric::FabricSnapshot> snapshot;
  std::shared_ptr<const fabric::LidTable> lids;
  routing::RoutingOptions options;
  std::shared_ptr<const routing::RouteState> now;
  fabric::Intent intent;
  PortRef sm_port;
};
// A request that the shell carries out for the core. Each gets one Answer with its id.
struct Question {
  QuestionId id;
  std::variant<PersistLids, PersistHolds, PersistPartitions, ComputePlan, CheckCables, OrderTables,
               ComputeTrees, EvaluateIntent, PersistTakeover, ClaimMastership>
      what;
};

// The outcome of a command about a hold.
struct HoldOutcome {
  policy::Hold hold;
  routing::Consequences consequences;  // Of CreateHold.
  bool existing = false;               // It existed already.
};
// The outcome of a command about mastership.
struct MastershipOutcome {
  uint8_t before = 0, priority = 0;   // This SM's own; `priority` is valid now.
  std::optional<RemoteSm> successor;  // The SM that gets, or got, the subnet.
  bool existing = false;              // An earlier request with this id had done it.
};
struct FinishedCommand {
  uint64_t command = 0;
  // Holds: kFailedPrecondition with `hold`: a guard refused it, and the message names the guard;
  // without `hold`: this SM is not the master. kAlreadyExists: the request_id was used for another
  // hold. kResourceExhausted: too many holds or waiting commands. kUnavailable: it could not be
  // made durable.
  // ClearDamping: kFailedPrecondition: this SM is not the master.
  // AcceptTakeover: kFailedPrecondition: nothing is held. kNotFound: the report has another id.
  // StepDown: kFailedPrecondition: this SM is not the master. kNotFound: there is no SM to take
  // over. kAborted: the successor did not take over, and everything is as before.
  absl::Status status;
  std::shared_ptr<const HoldOutcome> hold;  // Null: not about a hold, or no outcome.
  // The outcome of a command about partitions; null as above.
  std::shared_ptr<const policy::PartitionOutcome> partitions = nullptr;
  std::shared_ptr<const MastershipOutcome> mastership = nullptr;
};

// Everything that Step requests of the shell. Within one batch, records may be written before or
// after `send`: the core sends nothing that depends on a record before its Persisted has arrived.
struct Effects {
  std::vector<mad::OutgoingMad> send;
  std::vector<Question> questions;  // In the order of asking; one of each kind.
  std::vector<fabric::FabricEvent> events;
  std::shared_ptr<const FabricView> publish;
  std::vector<FinishedCommand> finished;
  std::vector<LogRecord> log;
  std::optional<bool> set_is_sm;
};

}  // namespace fabricd::sweep
