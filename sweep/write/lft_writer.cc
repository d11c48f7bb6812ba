// SPDX-License-Identifier: Apache-2.0
#include "sweep/write/lft_writer.h"

#include <algorithm>

#include "common/breakage.h"
#include "common/check.h"
#include "common/sort_unique.h"

namespace fabricd::sweep {

// ---- reading

void LftWriter::List(ProgramStage stage, WorkQueue& queue) {
  if (stage != ProgramStage::kReadTables) return;
  AnnounceLost();
  ground_.scope.ForEach([&](const fabric::Node& node) { ListReadsOf(node, queue); });
  // Tables are written on all switches, so the tables of a new switch that is not in the scope yet
  // are read first too.
  ground_.desired.snapshot->ForEachNode([&](const fabric::Node& node) {
    if (node.switch_info && ground_.devices.Has(node.index) &&
        !ground_.devices.applied().Lft(node.index).WasRead())
      ListReadsOf(node, queue);
  });
  queue.StripeUnique();
}

// Before the top of a switch that has lost its tables is set: from then on it looks like one that
// has them. Not in a first run: no record of tables stands then.
void LftWriter::AnnounceLost() {
  if (ground_.desired.ports.first_run.is_first) return;
  std::vector<routing::TableWrite> writes;
  ground_.scope.ForEach([&](const fabric::Node& node) {
    if (!node.IsSwitch() || !node.switch_info || node.switch_info->linear_fdb_top != 0) return;
    const Lid top = PortConfig::NeededTop(node, ground_.desired.lids->top());
    for (uint16_t block = 0; block <= top.value() / AppliedLft::kBlock; ++block)
      writes.push_back({node.index, block, 0, 0, ~uint64_t{0}, false});
  });
  Announce(writes);
}

// A switch whose LinearFDBTop is 0 has lost its tables. If it names another SM as its master, that
// SM has written its tables. Otherwise it may still hold the desired tables: it was away, or this
// SM was.
void LftWriter::ListReadsOf(const fabric::Node& node, WorkQueue& queue) {
  if (!node.IsSwitch()) return;
  const Lid sm_lid = ground_.desired.lids->Of(ground_.desired.ports.local).base;
  const uint16_t top = node.switch_info->linear_fdb_top;
  AppliedLft& applied = ground_.devices.applied().Lft(node.index);
  const Lid named = node.port(PortNum(0)).info.master_sm_lid;
  if (top == 0 || (named != sm_lid && !ground_.desired.ports.first_run.IsOfPredecessor(named))) {
    applied.Forget();
    ground_.devices.applied().vls().Forget(node.index);
    ground_.devices.applied().Mft(node.index).Forget();
    ground_.devices.applied().ForgetSwitchKeys(node.index);
  }
  if (top == 0) return;
  for (uint16_t block = 0; block <= top / AppliedLft::kBlock; ++block)
    if (!applied.Knows(block) && !applied.IsContradicted(block))
      queue.Add({node.index, block, PortNum(0), Work::kReadLft});
}

std::optional<mad::SmpRequest> LftWriter::Next(const WorkItem& item) {
  if (ground_.devices.applied().Lft(item.node).Knows(item.block)) return std::nullopt;
  return ground_.devices.Get(item.node, wire::AttributeId::kLinearForwardingTable, item.block);
}

// Before the response to a Set, a read could return the old content.
bool LftWriter::IsBusy(const WorkItem& item) const {
  return ground_.devices.applied().Lft(item.node).IsInFlight(item.block);
}

// ---- differences

void LftWriter::ListWrites() {
  FABRICD_CHECK(phase_ == Phase::kUnlisted);
  std::vector<routing::TableWrite> writes;
  if (ground_.desired.plan != nullptr) writes = Differences();
  // Tables that were never read carry no traffic, so they can be written in any order.
  const bool carried = std::any_of(writes.begin(), writes.end(), [this](const auto& write) {
    return ground_.devices.applied().Lft(write.node).WasRead();
  });
  Announce(writes);
  push_ = TablePush(carried ? std::vector<routing::TableWrite>() : std::move(writes));
  phase_ = carried ? Phase::kNeedOrder : Phase::kWriting;
}

std::vector<routing::TableWrite> LftWriter::Differences() const {
  std::vector<routing::TableWrite> writes;
  const routing::RoutingPlan& plan = *ground_.desired.plan;
  ground_.desired.snapshot->ForEachNode([&](const fabric::Node& node) {
    if (!node.IsSwitch() || !plan.HasRow(node.index)) return;
    const Lid top = PortConfig::NeededTop(node, ground_.desired.lids->top());
    AppliedLft& applied = ground_.devices.applied().Lft(node.index);
    const auto& row = *plan.rows[node.index.value()];
    applied.ExpectRow(row);
    for (uint16_t block : applied.Differences(top.value() / AppliedLft::kBlock + 1u, row))
      writes.push_back({node.index, block, 0, 0, ~uint64_t{0}, false});
  });
  // One device after the other would leave the engine's window idle, because of the limit per
  // device.
  std::stable_sort(writes.begin(), writes.end(),
                   [](const auto& a, const auto& b) { return a.block < b.block; });
  return writes;
}

void LftWriter::SetOrder(routing::PushPlan push) {
  Announce(push.writes);
  push_ = TablePush(std::move(push.writes));
  phase_ = Phase::kWriting;
}

void LftWriter::Announce(const std::vector<routing::TableWrite>& writes) {
  auto blocks = std::make_shared<TableWrites>();
  blocks->reserve(writes.size());
  for (const routing::TableWrite& write : writes) blocks->push_back({write.node, write.block});
  SortUnique(*blocks);
  const auto is_known = [&] {
    return listed_ &&
           std::includes(listed_->begin(), listed_->end(), blocks->begin(), blocks->end());
  };
  if (!blocks->empty() && !is_known()) listed_ = std::move(blocks);
}

// ---- writing

std::optional<OrderedRequest> LftWriter::NextWrite() {
  const auto is_busy = [this](NodeIndex node, uint16_t block) {
    return ground_.devices.applied().Lft(node).IsInFlight(block);
  };
  while (const auto write = push_.Next(is_busy))
    if (auto request = Write(*write)) return request;
  return std::nullopt;
}

void LftWriter::EndIfAnswered() {
  if (!push_.done()) return;
  ground_.record.CountFailures(push_.skipped());
  phase_ = Phase::kDone;
}

// The content of the block after the write.
wire::LinearForwardingTable LftWriter::BlockOf(const routing::TableWrite& write) const {
  wire::LinearForwardingTable table;
  const uint8_t* wanted = ground_.desired.plan->rows[write.node.value()]->block(write.block);
  const routing::Row& held = ground_.devices.applied().Lft(write.node).row();
  for (size_t i = 0; i < routing::Row::kBlock; ++i) {
    const bool taken = (write.lids >> i & 1) != 0;
    if (taken)
      table.port[i] = write.withdraw ? routing::kNoRoute : wanted[i];
    else
      table.port[i] = write.block < held.blocks() ? held.block(write.block)[i] : routing::kNoRoute;
  }
  return table;
}

// The switch was lost and found again since its tables were read. The next run reads them.
bool LftWriter::WasReplaced(NodeIndex index) const {
  const fabric::Node* seen = ground_.desired.snapshot->node(index);
  return seen != nullptr && seen->switch_info && seen->switch_info->linear_fdb_top != 0 &&
         ground_.devices.applied().Lft(index).IsUntouched();
}

// Without a sufficient LinearFDBTop a switch would not use the table, and a LinearFDBTop of 0
// counts as lost tables. A later run writes it.
bool LftWriter::IsReady(NodeIndex index) const {
  const fabric::Node* node = ground_.builder.node(index);
  return node != nullptr && ground_.sender.MayReach({index, 0, PortNum(0), Work::kSetLft}) &&
         node->switch_info->linear_fdb_top >=
             PortConfig::NeededTop(*node, ground_.desired.lids->top()).value() &&
         !WasReplaced(index);
}

std::optional<OrderedRequest> LftWriter::Write(const routing::TableWrite& write) {
  const bool ready = IsReady(write.node);
  AppliedLft& lft = ground_.devices.applied().Lft(write.node);
  const wire::LinearForwardingTable table = BlockOf(write);
  if (!ready || (IsBroken(Breakage::kBlockNotSent) && write.block == 0)) {
    if (ready) lft.Confirm(write.block, table.port);
    if (!ready) ground_.record.NoteUnsent(write.node);
    push_.OnAnswer(write.node, write.block, ready);
    return std::nullopt;
  }
  // The block may already have this content: it was perhaps unknown when the write was listed.
  const bool same = lft.Knows(write.block) && !lft.IsDistrusted(write.block) &&
                    std::equal(table.port.begin(), table.port.end(), lft.row().block(write.block));
  if (same) {
    push_.OnAnswer(write.node, write.block, true);
    return std::nullopt;
  }
  lft.MarkSent(write.block, table.port);
  ++blocks_written_;
  written_.insert(write.node);
  return OrderedRequest{{write.node, write.block, PortNum(0), Work::kSetLft},
                        ground_.devices.Set(write.node, write.block, table)};
}

// ---- responses

// If a device answers a Set with other values, it may return old ones for a while, or may have
// refused the new ones. So its content is unknown.
void LftWriter::OnAnswer(const WorkItem& item, const mad::Completion& completion) {
  AppliedLft& lft = ground_.devices.applied().Lft(item.node);
  if (item.work == Work::kReadLft) {
    if (!HasFailed(item, completion)) lft.Confirm(item.block, completion.response.data);
    return;
  }
  completion.sent ? lft.Complete(item.block) : lft.MarkUnsent(item.block);
  if (HasFailed(item, completion)) return push_.OnAnswer(item.node, item.block, false);
  const bool taken = lft.Answer(item.block, completion.response.data);
  if (!taken) ground_.record.NoteContradiction(item, completion);
  push_.OnAnswer(item.node, item.block, taken);
}

// Updates what is known of the block.
bool LftWriter::OnLateAnswer(const LateAnswer& late) {
  AppliedLft& lft = late.devices.applied().Lft(late.item.node);
  if (!late.completion.sent) {
    lft.MarkUnsent(late.item.block);
    return false;
  }
  lft.Complete(late.item.block);
  if (IsOk(late.completion)) lft.Answer(late.item.block, late.completion.response.data);
  return false;
}

}  // namespace fabricd::sweep
