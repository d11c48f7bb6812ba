// SPDX-License-Identifier: Apache-2.0
#include "sweep/write/mft_writer.h"

#include <algorithm>
#include <utility>

#include "common/breakage.h"
#include "fabric/multicast_groups.h"
#include "sweep/write/switch_info_writer.h"

namespace fabricd::sweep {
namespace {

using routing::MulticastBlock;
using routing::MulticastPlace;
using wire::MulticastForwardingTable;

constexpr unsigned kBlockLids = MulticastForwardingTable::kEntries;
constexpr unsigned kFirst = fabric::kFirstMulticastLid.value();

bool HasTop(const fabric::Node& node) {
  return (node.port(PortNum(0)).info.capability_mask & wire::kCapIsMulticastFdbTop) != 0;
}

unsigned BlocksOf(const fabric::Node& node) {
  return node.switch_info ? (node.switch_info->multicast_fdb_cap + kBlockLids - 1) / kBlockLids : 0;
}

uint8_t PositionsOf(const fabric::Node& node) {
  return static_cast<uint8_t>(node.info.num_ports / 16 + 1);
}

// The MulticastFDBTop to set for the plan. nullopt: the present one is right.
std::optional<uint16_t> TopFor(const routing::MulticastPlan& plan, const fabric::Node& node) {
  if (!node.switch_info || !HasTop(node) || node.switch_info->multicast_fdb_cap == 0) return {};
  const uint16_t held = node.switch_info->multicast_fdb_top;
  const uint32_t last = kFirst + node.switch_info->multicast_fdb_cap - 1u;
  const auto wanted = static_cast<uint16_t>(std::min<uint32_t>(plan.top.value(), last));
  const bool never_set = held == 0 && plan.top == routing::kNoMulticastTop;
  if (held == wanted || never_set) return {};
  return wanted;
}

uint32_t ModifierOf(MulticastPlace place) {
  return MulticastForwardingTable::Modifier(place.position, place.block);
}

}  // namespace

// ---- listing

void MftWriter::List(ProgramStage stage, WorkQueue&) {
  if (stage != ProgramStage::kReadTables) return;
  ground_.desired.snapshot->ForEachNode([&](const fabric::Node& node) {
    if (node.IsSwitch() && node.switch_info && ground_.devices.Has(node.index)) ListReadsOf(node);
  });
  // One device after the other would leave the engine's window idle, because of the limit per
  // device.
  std::stable_sort(reads_.begin(), reads_.end(),
                   [](const Read& a, const Read& b) { return a.place < b.place; });
}

void MftWriter::ListReadsOf(const fabric::Node& node) {
  const AppliedMft& applied = ground_.devices.applied().Mft(node.index);
  const uint16_t top = node.switch_info->multicast_fdb_top;
  unsigned end = 1;
  if (HasTop(node) && top != 0) end = top < kFirst ? 0 : (top - kFirst) / kBlockLids + 1;
  end = std::min(std::max<unsigned>(end, ground_.desired.multicast_blocks), BlocksOf(node));
  for (uint16_t block = 0; block < end; ++block)
    for (uint8_t position = 0; position < PositionsOf(node); ++position)
      if (const MulticastPlace place{block, position};
          !applied.Knows(place) && !applied.IsContradicted(place))
        reads_.push_back({node.index, place});
}

void MftWriter::BeginWithdrawal() {
  plan_ = std::make_shared<const routing::MulticastPlan>();
  push_ = TreePush(plan_, *ground_.desired.snapshot, ground_.devices, /*together=*/true);
  withdrawal_ = Withdrawal::kUnderWay;
}

bool MftWriter::IsWithdrawn() {
  if (withdrawal_ == Withdrawal::kUnderWay && done()) withdrawal_ = Withdrawal::kNone;
  return withdrawal_ == Withdrawal::kNone;
}

void MftWriter::SetTarget(std::shared_ptr<const routing::MulticastPlan> trees, bool together) {
  has_target_ = true;
  if (trees == nullptr) return;
  plan_ = std::move(trees);
  push_ = TreePush(plan_, *ground_.desired.snapshot, ground_.devices, together);
  ground_.desired.snapshot->ForEachNode([&](const fabric::Node& seen) {
    const fabric::Node* node = ground_.builder.node(seen.index);
    if (node == nullptr || !node->IsSwitch()) return;
    const auto top = TopFor(*plan_, *node);
    if (!top) return;
    const bool rises = *top > node->switch_info->multicast_fdb_top;
    (rises ? tops_to_raise_ : tops_to_lower_).push_back(node->index);
  });
}

// ---- requests

// Requests to unresponsive switches are given up at once.
std::optional<OrderedRequest> MftWriter::NextRequest() {
  while (auto request = Next()) {
    const WorkItem& item = request->item;
    if (!IsGone(item.node) && ground_.sender.MayReach(item)) return request;
    Take(item, nullptr);
    ++failures_;
    ground_.record.NoteUnsent(item.node);
  }
  return std::nullopt;
}

std::optional<OrderedRequest> MftWriter::Next() {
  while (!reads_.empty()) {
    const Read read = reads_.front();
    reads_.pop_front();
    const AppliedMft& applied = ground_.devices.applied().Mft(read.node);
    // Before the response to a Set, a read could return the old content.
    if (!ground_.devices.Has(read.node) || applied.Knows(read.place) ||
        applied.IsInFlight(read.place))
      continue;
    ++outstanding_;
    return OrderedRequest{ItemOf(Work::kReadMft, read.node, read.place),
                          ground_.devices.Get(read.node, MulticastForwardingTable::kAttribute,
                                              ModifierOf(read.place))};
  }
  if (auto top = NextTop(tops_to_raise_)) return top;
  if (auto block = NextBlock()) return block;
  return push_.done() ? NextTop(tops_to_lower_) : std::nullopt;
}

std::optional<OrderedRequest> MftWriter::NextTop(std::deque<NodeIndex>& nodes) {
  for (size_t left = nodes.size(); left > 0; --left) {
    const NodeIndex index = nodes.front();
    nodes.pop_front();
    // Two Sets of one SwitchInfo in flight would undo each other.
    if (ground_.devices.applied().IsBusy({index, PortNum(0)}, wire::AttributeId::kSwitchInfo)) {
      nodes.push_back(index);
      continue;
    }
    const fabric::Node* node = ground_.builder.node(index);
    const auto top = node == nullptr ? std::nullopt : TopFor(*plan_, *node);
    if (!top || !ground_.devices.Has(node->index)) continue;
    wire::SwitchInfo info = *node->switch_info;
    info.multicast_fdb_top = *top;
    info.port_state_change = false;  // 1 would clear changes that were not read.
    ++outstanding_;
    return OrderedRequest{ItemOf(Work::kSetMftTop, index, {}), ground_.devices.Set(index, 0, info)};
  }
  return std::nullopt;
}

std::optional<OrderedRequest> MftWriter::NextBlock() {
  while (const auto write = push_.Next(ground_.devices)) {
    // A LinearFDBTop of 0 shows that the switch has restarted and holds other entries than were
    // read. A switch that was lost and found again since was not read.
    const fabric::Node* node = ground_.builder.node(write->node);
    if (node == nullptr || !ground_.devices.Has(write->node) ||
        node->switch_info->linear_fdb_top == 0 ||
        ground_.devices.applied().Lft(write->node).IsUntouched()) {
      push_.OnAnswer(write->node, write->place, false);
      continue;
    }
    // The block may already have this content: it was perhaps unknown when the write was listed.
    AppliedMft& applied = ground_.devices.applied().Mft(write->node);
    if (applied.Knows(write->place) && applied.Surely(write->place) == write->bytes) {
      push_.OnAnswer(write->node, write->place, true);
      continue;
    }
    if (IsBroken(Breakage::kBranchNotWritten) && write->place == MulticastPlace{}) {
      applied.Confirm(write->place, write->bytes);
      push_.OnAnswer(write->node, write->place, true);
      continue;
    }
    applied.MarkSent(write->place, write->bytes);
    ++outstanding_;
    ++blocks_written_;
    return OrderedRequest{ItemOf(Work::kSetMft, write->node, write->place),
                          ground_.devices.Set(write->node, ModifierOf(write->place),
                                              MulticastForwardingTable{write->bytes})};
  }
  return std::nullopt;
}

bool MftWriter::done() const {
  return reads_.empty() && outstanding_ == 0 && push_.done() && tops_to_raise_.empty() &&
         tops_to_lower_.empty();
}

// ---- responses

void MftWriter::OnAnswer(const WorkItem& item, const mad::Completion& completion) {
  const Answer answer = Take(item, &completion);
  failures_ += answer != Answer::kTaken;
  if (answer == Answer::kContradicted) ground_.record.NoteContradiction(item, completion);
  if (item.work == Work::kSetMftTop && IsOk(completion) &&
      wire::SwitchInfo::Decode(completion.response.data).port_state_change)
    restarts_.Check(item.node, false);
  HasFailed(item, completion);
}

MftWriter::Answer MftWriter::Take(const WorkItem& item, const mad::Completion* completion) {
  --outstanding_;
  if (item.work == Work::kSetMft) return TakeBlock(item, completion);
  if (completion == nullptr || !IsOk(*completion)) return Answer::kFailed;
  if (item.work == Work::kReadMft) {
    OnRead(item, MulticastForwardingTable::Decode(completion->response.data).port_mask);
  } else if (!IsGone(item.node)) {
    const auto info = wire::SwitchInfo::Decode(completion->response.data);
    ground_.builder.SetSwitchInfo(item.node, info);
    if (TopFor(*plan_, NodeOf(item))) return Answer::kContradicted;
  }
  return Answer::kTaken;
}

MftWriter::Answer MftWriter::TakeBlock(const WorkItem& item, const mad::Completion* completion) {
  const MulticastPlace place = PlaceOf(item);
  const bool ok = completion != nullptr && IsOk(*completion);
  AppliedMft& applied = ground_.devices.applied().Mft(item.node);
  const MulticastBlock wanted = applied.InFlight(place);
  const bool was_sent = completion != nullptr && completion->sent;
  was_sent ? applied.Complete(place) : applied.MarkUnsent(place);
  const bool taken =
      ok && MulticastForwardingTable::Decode(completion->response.data).port_mask == wanted;
  if (taken) applied.Confirm(place, wanted);
  if (ok && !taken) applied.MarkContradicted(place);
  push_.OnAnswer(item.node, place, taken);
  return taken ? Answer::kTaken : ok ? Answer::kContradicted : Answer::kFailed;
}

void MftWriter::OnRead(const WorkItem& item, const MulticastBlock& block) {
  const MulticastPlace place = PlaceOf(item);
  ground_.devices.applied().Mft(item.node).Confirm(place, block);
  const fabric::Node* node = ground_.builder.node(item.node);
  const MulticastPlace next{static_cast<uint16_t>(place.block + 1), place.position};
  const bool ends = node == nullptr || (HasTop(*node) && node->switch_info->multicast_fdb_top) ||
                    next.block >= BlocksOf(*node) || block == MulticastBlock{};
  if (!ends) reads_.push_back({item.node, next});
}

void MftWriter::TakeLate(const LateAnswer& late) {
  AppliedMft& applied = late.devices.applied().Mft(late.item.node);
  const MulticastPlace place = PlaceOf(late.item);
  if (!late.completion.sent) return applied.MarkUnsent(place);
  const bool in_flight = applied.IsInFlight(place);
  applied.Complete(place);
  if (!IsOk(late.completion)) return;
  const auto shown = MulticastForwardingTable::Decode(late.completion.response.data).port_mask;
  if (in_flight && shown != applied.InFlight(place))
    applied.MarkContradicted(place);
  else
    applied.Confirm(place, shown);
}

bool MftWriter::OnLateAnswer(const LateAnswer& late) {
  if (late.item.work == Work::kSetMftTop) return SwitchInfoWriter::OnLateAnswer(late);
  TakeLate(late);
  return false;
}

}  // namespace fabricd::sweep
