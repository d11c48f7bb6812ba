// SPDX-License-Identifier: Apache-2.0
// sweep/program: runs of the writers over the fabric.
//
// Programmer: one run of the writers over the fabric. It knows no history: each stage is the
// difference between wanted and last confirmed, made when the stage begins, so that a run over a
// fabric that is right sends nothing. A Set that was lost is a difference in the next run.
//
// After a change only the nodes that it touched are looked at (ProgrammerInput::scope); tables are
// compared on all switches, which costs little where they share memory with the plan.
//
// The writers (sweep/write) know what to send and what an answer means. stage_sequencer.h has the
// order of the stages. This class feeds the engine, waits for the plan, the order of writes and the
// trees, and goes on to the next stage when the last answer has come.
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

  // References must outlive this. The builder takes every confirmed value.
  Programmer(ProgrammerInput input, fabric::SnapshotBuilder& builder, DeviceTable& devices,
             mad::TransactionEngine& engine, ProblemList& problems, const CoreOptions& options);

  void Start() { EnterStage(); }
  // All tables that could be read are known, and the plan has to be asked for.
  bool NeedsPlan() const {
    return !plan_known_ && !input_.trees_only && stage() != Stage::kReadTables;
  }
  // The verified plan, or null when there is none: then nothing behind kPorts is done.
  void SetPlan(std::shared_ptr<const routing::RoutingPlan> plan);
  // In kTables with a plan: tables that may carry traffic differ from it, and what differs is not
  // to be written before SetPush() says in which order.
  bool NeedsPush();
  void SetPush(routing::PushPlan push) { writers_.lft().SetOrder(std::move(push)); }
  // Takes all multicast entries away before the plan is written: they may not fit both it and the
  // one before. REQUIRES: before SetPlan().
  void WithdrawTrees() { writers_.mft().WantWithdrawal(); }
  // In kTrees, with a plan, and without the trees that go with it.
  bool NeedsTrees() const {
    return stage() == Stage::kTrees && has_plan() && !writers_.mft().has_target();
  }
  // Null: what the tables hold may stay. `together`: as TreePush has it. REQUIRES: NeedsTrees(), so
  // that what the trees are compared with has been read.
  void SetTrees(std::shared_ptr<const routing::MulticastPlan> trees, bool together);
  // REQUIRES: IsMine().
  void OnCompletion(const mad::Completion& completion);
  bool IsMine(const mad::Completion& completion) const { return sender_.IsMine(completion); }
  // Of anybody: what a device has just answered may be all that a Set in the queue is for.
  void OnRead(const mad::Completion& completion);
  // Of a Programmer that is gone: what a table holds is known again, or it may be written again.
  // True: the answer shows that something changed meanwhile, and the node has to be read again.
  [[nodiscard]] static bool OnLateAnswer(const mad::Completion& completion,
                                         fabric::SnapshotBuilder& builder, DeviceTable& devices);
  // Hands as many requests to the engine as it should hold, and goes to the next stage when due.
  void Feed();

  Stage stage() const { return sequencer_.stage(); }
  const DesiredState& desired() const { return input_.desired; }
  const WorkScopeInput& scope() const { return input_.scope; }
  bool trees_only() const { return input_.trees_only; }
  bool has_plan() const { return input_.desired.plan != nullptr; }
  bool done() const { return sequencer_.done(); }
  // P_Key tables and what enforces them are written, or have failed.
  bool keys_done() const { return sequencer_.HasPassed(Stage::kPorts); }
  // Writes of this run that were not confirmed.
  size_t failures() const { return record_.failures(); }
  // Ports came up or went down, or devices restarted, behind the discovery's back: their nodes have
  // to be looked at. Of a run that is superseded, those too with ports that were to be read once
  // more. Sorted.
  std::vector<NodeIndex> ToLookAt() const { return record_.rereads().Nodes(); }
  size_t stage_total() const;
  size_t stage_position() const;
  // All table writes are acknowledged, or have failed.
  bool tables_done() const {
    return input_.trees_only || writers_.lft().phase() == LftWriter::Phase::kDone;
  }
  // All multicast entries are as wanted. REQUIRES: done().
  bool trees_done() const { return writers_.mft().IsComplete(); }
  size_t tree_blocks_written() const { return writers_.mft().blocks_written(); }
  size_t blocks_written() const { return writers_.lft().blocks_written(); }
  size_t switches_written() const { return writers_.lft().switches_written(); }
  // Nodes with a write that was not confirmed.
  const absl::flat_hash_set<NodeIndex>& undone() const { return record_.undone(); }

 private:
  void EnterStage();
  // True: the stage has ended.
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
  WorkQueue queue_;  // Of this stage.
  StageSequencer sequencer_;
  WriterSet writers_;
};

}  // namespace fabricd::sweep
