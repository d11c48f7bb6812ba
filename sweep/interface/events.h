// SPDX-License-Identifier: Apache-2.0
// sweep/interface: what goes into the core and what comes out.
//
// What goes into the core and what comes out: values only (DESIGN §1). The core never calls
// anybody.
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

// Of a question to the shell; never given twice.
using QuestionId = StrongId<struct QuestionIdTag, uint64_t>;

// ---- in

// Begin: discover, elect, and so on.
struct StartEvent {
  policy::WallMs epoch = 0;  // Wall-clock time at Instant zero.
};
// The wall clock was set.
struct WallClockSet {
  policy::WallMs epoch = 0;  // Wall-clock time at Instant zero, from now on.
};
struct TimerEvent {};  // Time has passed; NextDeadline() has come.
// What answers a question of Effects. Each kind of question names its kind of answer.
struct Persisted {
  absl::Status status;
};
struct PlanReady {
  routing::ReplanResult result;
  // The trees that are programmed fit all that the plan and the one before let wait for each other:
  // they may stay while this one is written. Where ComputePlan::has_trees asked for it.
  bool keeps_trees = true;
  // And new ones may be written among them: all of them follow one order of the switches.
  bool mixes_trees = true;
};
struct TablesOrdered {
  routing::PushPlan push;
};
struct CablesChecked {
  std::vector<Problem> problems;
};
struct TreesReady {
  std::shared_ptr<const routing::MulticastPlan> plan;  // Proved together with the unicast plan.
  std::string fault;                                   // Why there is none: plan is null.
};
struct IntentEvaluated {
  routing::Consequences consequences;
};
// One whose question is not open any more changes nothing.
struct Answer {
  QuestionId id;
  std::variant<Persisted, PlanReady, TablesOrdered, CablesChecked, TreesReady, IntentEvaluated>
      what;
};
struct SweepCommand {
  uint64_t command = 0;  // Handed back in Effects::finished.
  bool heavy = true;
};
// A validated reload: a heavy sweep follows and works with these. The windows of the transaction
// engine (`smp`) keep their values until a restart.
struct OptionsChanged {
  CoreOptions options;
};
// A hold to be made: `hold` as wanted, without id and times. One with the same request_id, or the
// same owner, kind and target, is answered by the hold that stands already.
struct CreateHold {
  uint64_t command = 0;
  policy::Hold hold;
  std::optional<Duration> ttl = std::nullopt;  // From when the core gets this; nullopt: for ever.
  // Why the target is not known: then only the hold of an earlier request with the same request_id
  // can answer.
  absl::Status unresolved = absl::OkStatus();
  bool validate_only = false;  // Only the consequences are wanted.
  bool renews = false;         // One that stands ends when this would.
};
struct DeleteHold {
  uint64_t command = 0;
  policy::HoldBook::DeleteRequest request;
};
struct AckHold {
  uint64_t command = 0;
  uint64_t id = 0;
  std::string asker;  // Must be the owner, or:
  bool any_owner = false;
};
// A request about partitions.
struct ChangePartitions {
  uint64_t command = 0;
  policy::PartitionRequest request;
  bool validate_only = false;  // Only the answer is wanted.
  bool of_this_host = false;   // Of a file, which a standby takes too.
  std::string by = {};         // Who asks, for the event that tells of it.
};
// Who is a member of which group has changed; replaces all that was said before.
struct GroupsChanged {
  std::shared_ptr<const fabric::MulticastGroups> groups;  // Not null.
};
// Which alias GUIDs ports are to have has changed; replaces all that was said before.
struct AliasesChanged {
  std::shared_ptr<const fabric::AliasGuids> aliases;  // Not null.
};
// Somebody asks for the lane tables of these nodes: a view with them follows. What does not answer
// is not in it.
struct ReadLanes {
  std::vector<NodeIndex> nodes;
};
// This SM's priority from now on: until the next such command, a reload of the options or the end.
struct SetPriority {
  uint64_t command = 0;
  uint8_t priority = 0;  // 0-15
  bool validate_only = false;
};
// The master is to hand over to the best SM that stands by; its own priority goes below that one's.
struct StepDown {
  uint64_t command = 0;
  bool validate_only = false;
  std::string request_id = {};  // What was done for it before is answered again; empty: nothing.
};
using Event =
    std::variant<StartEvent, WallClockSet, TimerEvent, mad::IncomingMad, mad::LocalPortEvent,
                 Answer, SweepCommand, OptionsChanged, CreateHold, DeleteHold, AckHold,
                 GroupsChanged, ChangePartitions, AliasesChanged, ReadLanes, SetPriority, StepDown>;

// ---- out

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
  // Plans are to leave room for multicast trees: there are some, or they come next.
  bool needs_room = false;
  bool has_trees = false;                                         // Multicast trees are programmed:
  std::shared_ptr<const routing::MulticastPlan> trees = nullptr;  // these; null: not known.
  // What switches may hold; null: there is no plan before, or they hold just that one.
  std::shared_ptr<const routing::AppliedTables> applied = nullptr;
};
// Which cables are not where they should be. Asked behind the plan for the same snapshot, which
// does not wait for it.
struct CheckCables {
  using Answer = CablesChecked;
  std::shared_ptr<const fabric::FabricSnapshot> snapshot;
  fabric::HostPatterns host_patterns;
};
// The multicast trees that go with a unicast plan.
struct ComputeTrees {
  using Answer = TreesReady;
  // What the plan was made for.
  std::shared_ptr<const fabric::FabricSnapshot> snapshot;
  std::shared_ptr<const fabric::LidTable> lids;
  fabric::Intent intent;
  std::shared_ptr<const routing::RoutingPlan> plan;
  std::shared_ptr<const fabric::MulticastGroups> groups;
  // Its trees are kept as far as they serve: those wanted before, or what the switches hold.
  std::shared_ptr<const routing::MulticastPlan> before;
};
// In which order tables that carry traffic are to take a plan.
struct OrderTables {
  using Answer = TablesOrdered;
  std::shared_ptr<const fabric::FabricSnapshot> snapshot;
  std::shared_ptr<const fabric::LidTable> lids;
  std::shared_ptr<const routing::RouteState> routes;      // As wanted.
  std::shared_ptr<const routing::RoutingPlan> before;     // As wanted before; may be null.
  std::shared_ptr<const routing::AppliedTables> applied;  // As it is.
  int threads = 0;
};
// All or none: holds written or replaced, and ids taken out.
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
// What an intent would do.
struct EvaluateIntent {
  using Answer = IntentEvaluated;
  std::shared_ptr<const fabric::FabricSnapshot> snapshot;
  std::shared_ptr<const fabric::LidTable> lids;
  routing::RoutingOptions options;
  std::shared_ptr<const routing::RouteState> now;
  fabric::Intent intent;
  PortRef sm_port;
};
// What the core needs of others before it goes on: each is answered by one Answer with its id.
struct Question {
  QuestionId id;
  std::variant<PersistLids, PersistHolds, PersistPartitions, ComputePlan, CheckCables, OrderTables,
               ComputeTrees, EvaluateIntent>
      what;
};

// What came of a command about a hold.
struct HoldOutcome {
  policy::Hold hold;
  routing::Consequences consequences;  // Of CreateHold.
  bool existing = false;               // It stood already.
};
// What came of a command about this SM's place among others.
struct MastershipOutcome {
  uint8_t before = 0, priority = 0;   // Its own, of which the latter is in force now.
  std::optional<RemoteSm> successor;  // Who is handed the subnet, or has been. None: nobody.
  bool existing = false;              // It had been done before.
};
struct FinishedCommand {
  uint64_t command = 0;
  // Of a hold: kFailedPrecondition with `hold`: refused by a guard, which the message names;
  // without: this SM is not the master. kAlreadyExists: the request_id was used for another hold.
  // kResourceExhausted: too many holds, or commands that wait. kUnavailable: it is not durable.
  // Of StepDown: kFailedPrecondition: this SM is not the master; kNotFound: nobody can take over;
  // kAborted: who should have taken over has not, and all is as before.
  absl::Status status;
  std::shared_ptr<const HoldOutcome> hold;  // Null: not about a hold, or nothing came of it.
  // The same of partitions.
  std::shared_ptr<const policy::PartitionOutcome> partitions = nullptr;
  std::shared_ptr<const MastershipOutcome> mastership = nullptr;
};

// Everything Step asks of the shell. There is no order to keep between a record that is written and
// `send` within one batch: the core itself sends nothing that needs the record before Persisted has
// come back for it.
struct Effects {
  std::vector<mad::OutgoingMad> send;
  std::vector<Question> questions;  // In the order in which they were asked; one of each kind.
  std::vector<fabric::FabricEvent> events;
  std::shared_ptr<const FabricView> publish;
  std::vector<FinishedCommand> finished;
  std::vector<LogRecord> log;
  std::optional<bool> set_is_sm;
};

}  // namespace fabricd::sweep
