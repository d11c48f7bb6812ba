// SPDX-License-Identifier: Apache-2.0
// sweep/program: runs of the writers over the fabric.
//
// Programmer: one run of the writers over the fabric. It keeps no history. Each stage writes the
// difference between the desired and the confirmed values, computed when the stage begins. So a run
// over a correct fabric sends nothing, and a lost Set is a difference in the next run.
//
// After a change only the nodes that it touched are checked (ProgrammerInput::scope). LFTs are
// compared on all switches, which costs little where they share memory with the plan.
//
// The writers (sweep/write) know what to send and what a response means. stage_sequencer.h has the
// order of the stages. This class feeds the engine, waits for the plan, the order of writes and the
// trees, and starts the next stage after the last response.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "sweep/program/stage_sequencer.h"
#include "sweep/program/writer_set.h"
#include "sweep/write/attribute_writer.h"

namespace fabricd::sweep {

class Programmer {
 public:
  using Stage = ProgramStage;

  // References must outlive this. Confirmed values go into `builder`.
  Programmer(ProgrammerInput input, fabric::SnapshotBuilder& builder, DeviceTable& devices,
             mad::TransactionEngine& engine, ProblemList& problems, const CoreOptions& options);

  void Start() { EnterStage(); }
  // All readable tables are known, and the plan must be requested.
  bool NeedsPlan() const {
    return !plan_known_ && !input_.trees_only && stage() != Stage::kReadTables;
  }
  // The verified plan; a later one replaces it while NeedsPush(). Null if there is none: then no
  // LFTs, trees and VL tables are written, and no ports are disabled, armed or activated.
  void SetPlan(std::shared_ptr<const routing::RoutingPlan> plan);
  // In kTables with a plan: tables that may carry traffic differ from it. Nothing is written before
  // SetPush() gives the order.
  bool NeedsPush();
  void SetPush(routing::PushPlan push) { writers_.lft().SetOrder(std::move(push)); }
  // Withdraws all multicast entries before the plan is written, because they may not fit both it
  // and the previous plan. REQUIRES: before SetPlan().
  void WithdrawTrees() { writers_.mft().WantWithdrawal(); }
  // In kTrees, with a plan but without its trees.
  bool NeedsTrees() const {
    return stage() == Stage::kTrees && has_plan() && !writers_.mft().has_target();
  }
  // Null: the tables may stay as they are. `together`: see TreePush. REQUIRES: NeedsTrees(), so
  // that the current tables have been read.
  void SetTrees(std::shared_ptr<const routing::MulticastPlan> trees, bool together);
  // REQUIRES: IsMine().
  void OnCompletion(const mad::Completion& completion);
  bool IsMine(const mad::Completion& completion) const { return sender_.IsMine(completion); }
  // Call for reads of any activity: the value may make a queued Set superfluous.
  void OnRead(const mad::Completion& completion);
  // The response to a request of an earlier Programmer: updates what is known of the table. Returns
  // true if the response shows that the node has changed since and must be read again.
  [[nodiscard]] static bool OnLateAnswer(const mad::Completion& completion,
                                         fabric::SnapshotBuilder& builder, DeviceTable& devices);
  // Submits requests up to the limit of the engine's queue, and starts the next stage when due.
  void Feed();

  Stage stage() const { return sequencer_.stage(); }
  const DesiredState& desired() const { return input_.desired; }
  const WorkScopeInput& scope() const { return input_.scope; }
  bool trees_only() const { return input_.trees_only; }
  bool reads_only() const { return input_.reads_only; }
  bool has_plan() const { return input_.desired.plan != nullptr; }
  bool done() const { return sequencer_.done(); }
  // P_Key tables and their enforcement are written, or their writes have failed.
  bool keys_done() const { return sequencer_.HasPassed(Stage::kPorts); }
  // Writes of this run that were not confirmed.
  size_t failures() const { return record_.failures(); }
  // Nodes to survey, because ports came up or went down, or devices restarted, during the run. Of a
  // superseded run also nodes with ports that still had to be read again. Sorted.
  std::vector<NodeIndex> ToLookAt() const { return record_.rereads().Nodes(); }
  size_t stage_total() const;
  size_t stage_position() const;
  // LFTs are being written, or need not be.
  bool tables_begun() const {
    return input_.trees_only || writers_.lft().phase() >= LftWriter::Phase::kWriting;
  }
  // All writes of LFTs were confirmed or have failed.
  bool tables_done() const {
    return input_.trees_only || writers_.lft().phase() == LftWriter::Phase::kDone;
  }
  const std::shared_ptr<const TableWrites>& table_writes() const { return writers_.lft().listed(); }
  // The tables hold the desired trees. REQUIRES: done().
  bool trees_done() const { return writers_.mft().IsComplete(); }
  size_t tree_blocks_written() const { return writers_.mft().blocks_written(); }
  size_t blocks_written() const { return writers_.lft().blocks_written(); }
  size_t switches_written() const { return writers_.lft().switches_written(); }
  // Nodes with a write that was not confirmed.
  const absl::flat_hash_set<NodeIndex>& undone() const { return record_.undone(); }

 private:
  void EnterStage();
  // Returns true if the stage has ended.
  bool FeedStage();
  bool FeedQueue();
  bool FeedTables();
  bool FeedTrees();
  void SubmitTrees();
  void ListTables();
  void Send(const WorkItem& item);

  ProgrammerInput input_;
  const PortConfig config_;
  bool plan_known_ = false;
  const WorkScope scope_;
  RequestSender sender_;
  RunRecord record_;
  const ProgramGround ground_;
  WorkQueue queue_;  // Work of this stage.
  StageSequencer sequencer_;
  WriterSet writers_;
};

}  // namespace fabricd::sweep
