// SPDX-License-Identifier: Apache-2.0
// sweep/program: how devices are made to hold what is wanted.
//
// Programmer: makes the devices hold what is desired. It knows no history: each stage is the
// difference between desired and last confirmed, made anew, so that running it again on a fabric
// that is right sends nothing. A Set that was lost is simply a difference in the next run.
//
// After a change only the nodes that it touched are looked at (ProgrammerInput::scope); tables are
// compared on all switches, which costs little where they share memory with the plan.
//
// Stages, each ended by the last answer of its writes:
//   kReadTables  LFT blocks up to LinearFDBTop that are not known: another SM's, or written by a
//                Set whose answer was lost; multicast blocks likewise (tree_programmer.h); P_Keys
//                of switch ports that are to enforce partitions
//   kSwitches    SwitchInfo: LinearFDBTop, LifeTimeValue, PortStateChange cleared
//   kGuids       GUIDInfo: alias GUIDs (port_guids.h)
//   kKeys        P_Key tables (port_keys.h)
//   kPorts       PortInfo: LID, link parameters, enforcement of partitions
//   kTables      LFT blocks in the order of the PushPlan; waits here for the plan. With a scope it
//                comes before kPorts: traffic waits for tables, not for ports that come up
//   kTrees       multicast tables of the trees that go with the plan; waits here for them
//   kReadLanes   a plan of several lanes: mappings and arbitration that are not known
//   kLanes       the same: SLtoVLMappingTables, VLArbitrationTables
//   kHeld        PortInfo: ports that holds keep down, or have let go, once no table leads there
//   kArm         PortInfo: INIT → ARMED
//   kActivate    PortInfo: ARMED → ACTIVE
// Requests are made when there is room for them, so a stage of a million writes costs a few bytes
// each.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include "fabric/snapshot_builder.h"
#include "mad/transaction_engine.h"
#include "sweep/device/device_table.h"
#include "sweep/device/port_config.h"
#include "sweep/interface/problems.h"
#include "sweep/program/port_guids.h"
#include "sweep/program/port_keys.h"
#include "sweep/program/second_looks.h"
#include "sweep/program/table_push.h"
#include "sweep/program/tree_programmer.h"

namespace fabricd::sweep {

struct ProgrammerInput {
  std::shared_ptr<const fabric::FabricSnapshot> snapshot;  // As discovered.
  std::shared_ptr<const fabric::LidTable> lids;
  PortRef local;                // The SM's port: its LID goes first.
  bool reregister_all = false;  // The first sweep as master: clients must register anew.
  // Sorted. nullopt: all nodes.
  std::optional<std::vector<NodeIndex>> scope;
  uint8_t run = 0;  // Tells completions of this Programmer from those of the one before.
  // Sorted, of switches: to be down, and to be up again.
  std::vector<PortRef> disabled, reenabled;
  uint16_t multicast_blocks = 0;  // One more than the highest block of MLIDs that groups take.
  bool trees_only = false;        // kReadTables and kTrees alone: the plan stands.
  KeyInput keys;
  GuidInput guids;
};

class Programmer {
 public:
  enum class Stage : uint8_t {
    kReadTables,
    kSwitches,
    kGuids,
    kKeys,
    kPorts,
    kTables,
    kTrees,
    kReadLanes,
    kLanes,
    kHeld,
    kArm,
    kActivate,
    kDone
  };

  // References must outlive this. The builder takes every confirmed value.
  Programmer(ProgrammerInput input, fabric::SnapshotBuilder& builder, DeviceTable& devices,
             mad::TransactionEngine& engine, ProblemList& problems, const CoreOptions& options);

  void Start();
  // All tables that could be read are known, and the plan has to be asked for.
  bool NeedsPlan() const {
    return !plan_known_ && !input_.trees_only && stage_ != Stage::kReadTables;
  }
  // The verified plan, or null when there is none: then nothing behind kPorts is done.
  void SetPlan(std::shared_ptr<const routing::RoutingPlan> plan);
  // In kTables with a plan: tables that may carry traffic differ from it, and what differs is not
  // to be written before SetPush() says in which order.
  bool NeedsPush();
  void SetPush(routing::PushPlan push);
  // Takes all multicast entries away before the plan is written: they may not fit both it and the
  // one before. REQUIRES: before SetPlan().
  void WithdrawTrees() { withdrawal_ = Withdrawal::kWanted; }
  // In kTrees, with a plan, and without the trees that go with it.
  bool NeedsTrees() const { return stage_ == Stage::kTrees && plan_ && !trees_known_; }
  // Null: what the tables hold may stay. `together`: as TreePush has it. REQUIRES: NeedsTrees(), so
  // that what the trees are compared with has been read.
  void SetTrees(std::shared_ptr<const routing::MulticastPlan> trees, bool together);
  // REQUIRES: IsMine().
  void OnCompletion(const mad::Completion& completion);
  bool IsMine(const mad::Completion& completion) const {
    return completion.context.run == input_.run;
  }
  // Of anybody: what a device has just told may be all that a Set still waits in the queue for.
  void OnRead(const mad::Completion& completion);
  // Of a Programmer that is gone: what a table holds is known again, or may be written again.
  static void NoteLate(const mad::Completion& completion, fabric::SnapshotBuilder& builder,
                       DeviceTable& devices);
  // Hands as many requests to the engine as it should hold, and goes to the next stage when due.
  void Feed();

  Stage stage() const { return stage_; }
  const std::optional<std::vector<NodeIndex>>& scope() const { return input_.scope; }
  bool has_plan() const { return plan_ != nullptr; }
  bool done() const { return stage_ == Stage::kDone; }
  // P_Key tables and what enforces them are written, or have failed.
  bool keys_done() const { return keys_done_; }
  // Of which the same holds then.
  const std::shared_ptr<const fabric::AliasGuids>& aliases() const { return input_.guids.aliases; }
  const std::vector<NodeIndex>& aliases_changed() const { return input_.guids.changed; }
  // Writes of this run that were not confirmed.
  size_t failures() const { return failures_; }
  // Ports came up or went down, or switches started anew, behind the discovery's back: their nodes
  // have to be looked at. Of a run that is superseded, those too with ports that were to be read
  // once more. Sorted.
  std::vector<NodeIndex> ToLookAt() const { return looks_.Nodes(); }
  size_t stage_total() const;
  size_t stage_position() const;
  // All table writes are acknowledged, or have failed.
  bool tables_done() const { return tables_ == Tables::kDone; }
  // All multicast entries are as wanted. REQUIRES: done().
  bool trees_done() const { return trees_known_ && tree_failures_ + trees_.failures() == 0; }
  size_t tree_blocks_written() const { return trees_.blocks_written(); }
  size_t blocks_written() const { return blocks_written_; }
  size_t switches_written() const { return written_.size(); }
  // Nodes with a write that was not confirmed.
  const absl::flat_hash_set<NodeIndex>& undone() const { return undone_; }

 private:
  enum class What : uint8_t {
    kReadBlock,
    kSwitchInfo,
    kPKeys,  // Read or written; `block` with kGuidBlock: GUIDs.
    kConfigure,
    kBlock,
    kArm,
    kActivate,
    kReread,
    kReadMap,  // `block`: in << 8 | out of a switch.
    kMap,
    kWholeMap,  // All of a switch at once.
    kReadArbitration,
    kArbitration,
    kDisable,
    kEnable,
    kTree  // `port` and `block` are a TreeProgrammer::Tag.
  };
  struct Item {
    NodeIndex node;
    uint16_t block;
    PortNum port;
    What what;
  };

  void EnterStage(Stage stage);
  Stage StageAfter(Stage stage) const;
  template <typename Visit>
  void ForEachInScope(Visit&& visit) const;
  template <typename Visit>
  void ForEachKeyed(Visit&& visit) const;
  bool FeedItems();
  bool FeedTables();
  bool FeedTrees();
  bool FeedWithdrawal();
  void SubmitTrees();
  void ListTables();
  std::vector<routing::TableWrite> ListDifferences() const;
  wire::LinearForwardingTable BlockOf(const routing::TableWrite& write) const;
  void ListReadTables();
  void ListSwitches();
  void ListGuids();
  void ListKeys();
  void ListWrongKeys();
  void DropRepeated();
  void ListPorts();
  void ListReadLanes();
  void ListLanes();
  void ListLanesOf(const fabric::Node& node);
  void ListHeld();
  void ListStates(What what, wire::PortState from);
  void Stripe();

  PortRef RouteOf(const Item& item) const;
  // False: nothing to send for the item any more.
  bool Send(const Item& item);
  bool SendConfigure(const Item& item);
  mad::RequestContext ContextOf(const Item& item) const;
  static DeviceTable::PKeyBlocks& KeysOf(PortRef port, const fabric::SnapshotBuilder& builder,
                                         DeviceTable& devices);
  void SendReread(PortRef port);
  void Reread(PortRef port);
  bool SendPKeys(const Item& item);
  void OnPKeys(const Item& item, const mad::Completion& completion);
  bool SendGuids(const Item& item);
  void OnGuids(const Item& item, const mad::Completion& completion);
  bool IsUnread(NodeIndex index) const;
  void SendBlock(const routing::TableWrite& write);
  bool SendLaneTable(const Item& item);
  void KeepEnforcement(PortRef port, wire::PortInfo& info) const;
  bool SendState(const Item& item, wire::PortState state);
  bool SendPhysical(const Item& item, wire::PortPhysicalState state);
  void Submit(mad::SmpRequest request, const Item& item);

  void OnBlock(const Item& item, const mad::Completion& completion);
  // `expected`: it said before that a port had changed.
  void LookWhetherStartedAnew(NodeIndex node, bool expected);
  void NoteIgnored(const Item& item, const wire::PortInfo& wanted, const wire::PortInfo& kept);
  void NoteContradiction(const Item& item, const mad::Completion& completion);
  void OnLaneTable(const Item& item, const mad::Completion& completion);
  void OnTree(const Item& item, const mad::Completion& completion);
  void OnSwitchInfo(const Item& item, const mad::Completion& completion);
  void OnPortInfo(const Item& item, const mad::Completion& completion);
  void OnStartedAnew(NodeIndex node);
  void NoteFailure(const Item& item, const mad::Completion& completion);
  bool IsLinkReady(const fabric::Node& node, const fabric::Port& port) const;
  static LaneTable LaneTableOf(const Item& item);
  static wire::SmpData LaneBytes(const Item& item, const wire::SmpData& data);
  // What the table is to hold; nullopt: what it holds.
  std::optional<wire::SmpData> WantedOf(const LaneTable& table) const;
  std::string NameOf(NodeIndex node, PortNum port) const;
  uint64_t Fingerprint(const PortWish& wish, const wire::PortInfo& seen) const;

  const ProgrammerInput input_;
  fabric::SnapshotBuilder& builder_;
  DeviceTable& devices_;
  mad::TransactionEngine& engine_;
  ProblemList& problems_;
  const PortConfig port_config_;
  const PortKeys keys_;
  const PortGuids guids_;
  absl::flat_hash_map<std::pair<PortRef, uint16_t>, wire::PKeyTable> keys_wanted_;
  absl::flat_hash_map<std::pair<PortRef, uint8_t>, wire::GuidInfo> guids_wanted_;
  bool keys_done_ = false;

  std::shared_ptr<const routing::RoutingPlan> plan_;
  bool plan_known_ = false;
  TablePush push_;
  enum class Tables : uint8_t { kUnlisted, kNeedPush, kPushing, kDone } tables_ = Tables::kUnlisted;
  TreeProgrammer trees_;
  bool trees_known_ = false;
  enum class Withdrawal : uint8_t { kNone, kWanted, kUnderWay } withdrawal_ = Withdrawal::kNone;
  size_t tree_failures_ = 0;
  size_t blocks_written_ = 0;
  absl::flat_hash_set<NodeIndex> written_, undone_;
  Stage stage_ = Stage::kReadTables;
  std::vector<Item> items_;  // Of this stage.
  size_t next_ = 0;
  std::vector<Item> deferred_;  // Something of an earlier run is under way there.
  size_t outstanding_ = 0;
  size_t failures_ = 0;
  absl::flat_hash_set<NodeIndex> lid_set_;  // Switches that were given, or kept, a LID by a Set.
  SecondLooks looks_;
  absl::flat_hash_set<PortRef> unconfigured_;  // Their Set failed: they are not armed.
  // Routes whose last request was given up: left alone until an answer comes, or the next run.
  absl::flat_hash_set<PortRef> silent_;
};

std::string_view StageName(Programmer::Stage stage);

}  // namespace fabricd::sweep
