// SPDX-License-Identifier: Apache-2.0
#include "sweep/program/programmer.h"

#include <span>
#include <utility>

#include "common/check.h"

namespace fabricd::sweep {
namespace {

RunKind KindOf(const ProgrammerInput& input) {
  if (input.reads_only) return RunKind::kReadOnly;
  if (input.trees_only) return RunKind::kTreesOnly;
  return input.scope.nodes ? RunKind::kChange : RunKind::kWholeFabric;
}

}  // namespace

Programmer::Programmer(ProgrammerInput input, fabric::SnapshotBuilder& builder,
                       DeviceTable& devices, mad::TransactionEngine& engine, ProblemList& problems,
                       const CoreOptions& options)
    : input_(std::move(input)),
      config_(options, input_.desired.lids->Of(input_.desired.ports.local).base),
      scope_(input_, builder),
      sender_(builder, devices, engine, input_.run),
      record_(builder, problems),
      ground_{input_.desired, scope_,  input_.trees_only, config_,
              builder,        devices, sender_,           record_},
      sequencer_(KindOf(input_)),
      writers_(ground_, queue_) {}

void Programmer::EnterStage() {
  queue_.Clear();
  writers_.List(stage(), queue_);
}

void Programmer::SetPlan(std::shared_ptr<const routing::RoutingPlan> plan) {
  input_.desired.plan = std::move(plan);
  plan_known_ = true;
  writers_.lft().ListAgain();
}

bool Programmer::NeedsPush() {
  ListTables();
  return writers_.lft().phase() == LftWriter::Phase::kNeedOrder;
}

void Programmer::SetTrees(std::shared_ptr<const routing::MulticastPlan> trees, bool together) {
  FABRICD_CHECK(NeedsTrees(), "in stage {}", StageName(stage()));
  input_.desired.trees = std::move(trees);
  writers_.mft().SetTarget(input_.desired.trees, together);
}

// ---- requests

void Programmer::Feed() {
  while (!done() && FeedStage()) {
    sequencer_.Advance();
    EnterStage();
  }
}

bool Programmer::FeedStage() {
  switch (stage()) {
    case Stage::kTables: return FeedTables();
    case Stage::kTrees: return FeedTrees();
    default: return FeedQueue();
  }
}

bool Programmer::FeedQueue() {
  const auto is_busy = [this](const WorkItem& item) {
    return writers_.QueuedOf(item.work).IsBusy(item);
  };
  while (!sender_.IsFull()) {
    const auto item = queue_.Next(is_busy);
    if (!item) break;
    Send(*item);
  }
  if (stage() == Stage::kReadTables) SubmitTrees();
  return queue_.empty() && sender_.outstanding() == 0 &&
         (stage() != Stage::kReadTables || writers_.mft().done());
}

void Programmer::Send(const WorkItem& item) {
  if (!sender_.MayReach(item)) {
    const fabric::Node* node = ground_.builder.node(item.node);
    if (node != nullptr && node->unresponsive && IsPromised(item.work))
      record_.NoteUnsent(item.node);
    return;
  }
  if (auto request = writers_.QueuedOf(item.work).Next(item))
    sender_.Submit(*std::move(request), item);
}

void Programmer::ListTables() {
  if (stage() != Stage::kTables || !plan_known_ ||
      writers_.lft().phase() != LftWriter::Phase::kUnlisted)
    return;
  MftWriter& mft = writers_.mft();
  if (mft.WantsWithdrawal()) mft.BeginWithdrawal();
  if (!mft.IsWithdrawn()) SubmitTrees();
  if (mft.IsWithdrawn()) writers_.lft().ListWrites();
}

bool Programmer::FeedTables() {
  ListTables();
  LftWriter& lft = writers_.lft();
  if (lft.phase() != LftWriter::Phase::kWriting) return lft.phase() == LftWriter::Phase::kDone;
  while (!sender_.IsFull()) {
    auto write = lft.NextWrite();
    if (!write) break;
    sender_.Submit(std::move(write->smp), write->item);
  }
  if (sender_.outstanding() == 0) lft.EndIfAnswered();
  return lft.phase() == LftWriter::Phase::kDone;
}

bool Programmer::FeedTrees() {
  if (!has_plan()) return sender_.outstanding() == 0;
  if (!writers_.mft().has_target()) return false;
  SubmitTrees();
  return sender_.outstanding() == 0 && writers_.mft().done();
}

void Programmer::SubmitTrees() {
  while (!sender_.IsFull()) {
    auto request = writers_.mft().NextRequest();
    if (!request) return;
    sender_.Submit(std::move(request->smp), request->item);
  }
}

size_t Programmer::stage_total() const {
  return stage() == Stage::kTables  ? writers_.lft().size()
         : stage() == Stage::kTrees ? writers_.mft().size()
                                    : queue_.size();
}

size_t Programmer::stage_position() const {
  return stage() == Stage::kTables  ? writers_.lft().sent()
         : stage() == Stage::kTrees ? writers_.mft().position()
                                    : queue_.position();
}

// ---- responses

void Programmer::OnCompletion(const mad::Completion& completion) {
  sender_.OnCompletion(completion);
  writers_.OnAnswer(RequestSender::ItemOf(completion), completion);
}

bool Programmer::OnLateAnswer(const mad::Completion& completion, fabric::SnapshotBuilder& builder,
                              DeviceTable& devices) {
  return WriterSet::OnLateAnswer(RequestSender::ItemOf(completion), completion, builder, devices);
}

// Queued Sets of the same attribute are rebuilt from the new value, or dropped.
void Programmer::OnRead(const mad::Completion& completion) {
  const bool of_port = completion.attribute == wire::AttributeId::kPortInfo;
  if ((!of_port && completion.attribute != wire::AttributeId::kSwitchInfo) ||
      completion.method != wire::Method::kGet || !IsOk(completion))
    return;
  const PortNum port(of_port ? static_cast<uint8_t>(completion.modifier) : uint8_t{0});
  const PortRef subject{NodeIndex(completion.device), port};
  if (!ground_.devices.applied().IsBusy(subject, completion.attribute)) return;
  using enum Work;
  constexpr Work kOfPort[] = {kConfigurePort, kArm, kActivate, kDisable, kEnable};
  constexpr Work kOfSwitch[] = {kSetSwitchInfo};
  for (const Work work : of_port ? std::span<const Work>(kOfPort) : kOfSwitch) {
    const WorkItem item{subject.node, 0, port, work};
    if (sender_.Withdraw(item) && ground_.builder.node(subject.node) != nullptr) Send(item);
  }
}

}  // namespace fabricd::sweep
