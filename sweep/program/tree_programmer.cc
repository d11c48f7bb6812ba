// SPDX-License-Identifier: Apache-2.0
#include "sweep/program/tree_programmer.h"

#include <algorithm>
#include <utility>

#include "common/breakage.h"
#include "fabric/multicast_groups.h"
#include "sweep/device/completion.h"

namespace fabricd::sweep {
namespace {

using routing::MulticastBlock;
using routing::MulticastPlace;
using wire::MulticastForwardingTable;

constexpr unsigned kEntries = MulticastForwardingTable::kEntries;
constexpr unsigned kFirst = fabric::kFirstMulticastLid.value();

bool HasTop(const fabric::Node& node) {
  return (node.port(PortNum(0)).info.capability_mask & wire::kCapIsMulticastFdbTop) != 0;
}

unsigned BlocksOf(const fabric::Node& node) {
  return node.switch_info ? (node.switch_info->multicast_fdb_cap + kEntries - 1) / kEntries : 0;
}

uint8_t PositionsOf(const fabric::Node& node) {
  return static_cast<uint8_t>(node.info.num_ports / 16 + 1);
}

// What the plan makes of a switch's MulticastFDBTop; nullopt: it is right.
std::optional<uint16_t> TopFor(const routing::MulticastPlan& plan, const fabric::Node& node) {
  if (!node.switch_info || !HasTop(node) || node.switch_info->multicast_fdb_cap == 0) return {};
  const uint16_t held = node.switch_info->multicast_fdb_top;
  const uint32_t last = kFirst + node.switch_info->multicast_fdb_cap - 1u;
  const auto wanted = static_cast<uint16_t>(std::min<uint32_t>(plan.top.value(), last));
  const bool never_set = held == 0 && plan.top == routing::kNoMulticastTop;
  if (held == wanted || never_set) return {};
  return wanted;
}

}  // namespace

void TreeProgrammer::ListReads(const fabric::FabricSnapshot& snapshot, uint16_t groups_end) {
  snapshot.ForEachNode([&](const fabric::Node& node) {
    if (node.IsSwitch() && node.switch_info && devices_.Has(node.index))
      ListReadsOf(node, groups_end);
  });
  // One device after the other would leave the window idle behind the limit per device.
  std::stable_sort(reads_.begin(), reads_.end(),
                   [](const Read& a, const Read& b) { return a.place < b.place; });
}

void TreeProgrammer::ListReadsOf(const fabric::Node& node, uint16_t groups_end) {
  const AppliedMft& applied = devices_.Mft(node.index);
  const uint16_t top = node.switch_info->multicast_fdb_top;
  unsigned end = 1;
  if (HasTop(node) && top != 0) end = top < kFirst ? 0 : (top - kFirst) / kEntries + 1;
  end = std::min(std::max<unsigned>(end, groups_end), BlocksOf(node));
  for (uint16_t block = 0; block < end; ++block)
    for (uint8_t position = 0; position < PositionsOf(node); ++position)
      if (const MulticastPlace place{block, position};
          !applied.Knows(place) && !applied.IsDistrusted(place))
        reads_.push_back({node.index, place});
}

void TreeProgrammer::Withdraw(const fabric::FabricSnapshot& snapshot) {
  plan_ = std::make_shared<const routing::MulticastPlan>();
  push_ = TreePush(plan_, snapshot, devices_, /*together=*/true);
}

void TreeProgrammer::Write(std::shared_ptr<const routing::MulticastPlan> plan,
                           const fabric::FabricSnapshot& snapshot, bool together) {
  plan_ = std::move(plan);
  push_ = TreePush(plan_, snapshot, devices_, together);
  snapshot.ForEachNode([&](const fabric::Node& seen) {
    const fabric::Node* node = builder_.node(seen.index);
    if (node == nullptr || !node->IsSwitch()) return;
    const auto top = TopFor(*plan_, *node);
    if (!top) return;
    const bool rises = *top > node->switch_info->multicast_fdb_top;
    (rises ? tops_to_raise_ : tops_to_lower_).push_back(node->index);
  });
}

std::optional<TreeProgrammer::Request> TreeProgrammer::NextTop(std::deque<NodeIndex>& nodes) {
  for (size_t left = nodes.size(); left > 0; --left) {
    const NodeIndex index = nodes.front();
    nodes.pop_front();
    // Two Sets of one SwitchInfo under way would undo each other's.
    if (devices_.IsBusy({index, PortNum(0)}, wire::AttributeId::kSwitchInfo)) {
      nodes.push_back(index);
      continue;
    }
    const fabric::Node* node = builder_.node(index);
    const auto top = node == nullptr ? std::nullopt : TopFor(*plan_, *node);
    if (!top || !devices_.Has(node->index)) continue;
    wire::SwitchInfo info = *node->switch_info;
    info.multicast_fdb_top = *top;
    info.port_state_change = false;  // 1 would clear what was not looked at.
    ++outstanding_;
    return Request{node->index, TagOf(Kind::kTop, {}), devices_.Set(node->index, 0, info)};
  }
  return std::nullopt;
}

std::optional<TreeProgrammer::Request> TreeProgrammer::Next() {
  while (!reads_.empty()) {
    const Read read = reads_.front();
    reads_.pop_front();
    const AppliedMft& applied = devices_.Mft(read.node);
    // Read meanwhile, a block could show what it held before the Set.
    if (!devices_.Has(read.node) || applied.Knows(read.place) || applied.IsInFlight(read.place))
      continue;
    ++outstanding_;
    return Request{
        read.node, TagOf(Kind::kRead, read.place),
        devices_.Get(read.node, MulticastForwardingTable::kAttribute,
                     MulticastForwardingTable::Modifier(read.place.position, read.place.block))};
  }
  if (auto top = NextTop(tops_to_raise_)) return top;
  while (const auto write = push_.Next(devices_)) {
    // A switch that shows no LinearFDBTop has started anew: it holds something else than was read.
    // One that was lost and found again meanwhile was not read.
    const fabric::Node* node = builder_.node(write->node);
    if (node == nullptr || !devices_.Has(write->node) || node->switch_info->linear_fdb_top == 0 ||
        devices_.Lft(write->node).IsUntouched()) {
      push_.OnAnswer(write->node, write->place, false);
      continue;
    }
    // What a write was for may have come about: its block was not sure to hold what it does.
    AppliedMft& applied = devices_.Mft(write->node);
    if (applied.Knows(write->place) && applied.Surely(write->place) == write->bytes) {
      push_.OnAnswer(write->node, write->place, true);
      continue;
    }
    if (IsBroken(Breakage::kBranchNotWritten) && write->place == MulticastPlace{}) {
      applied.Confirm(write->place, write->bytes);
      push_.OnAnswer(write->node, write->place, true);
      continue;
    }
    applied.Sent(write->place, write->bytes);
    ++outstanding_;
    ++blocks_written_;
    return Request{
        write->node, TagOf(Kind::kWrite, write->place),
        devices_.Set(write->node,
                     MulticastForwardingTable::Modifier(write->place.position, write->place.block),
                     MulticastForwardingTable{write->bytes})};
  }
  return push_.done() ? NextTop(tops_to_lower_) : std::nullopt;
}

bool TreeProgrammer::done() const {
  return reads_.empty() && outstanding_ == 0 && push_.done() && tops_to_raise_.empty() &&
         tops_to_lower_.empty();
}

void TreeProgrammer::OnRead(NodeIndex index, MulticastPlace place, const MulticastBlock& block) {
  devices_.Mft(index).Confirm(place, block);
  const fabric::Node* node = builder_.node(index);
  const MulticastPlace next{static_cast<uint16_t>(place.block + 1), place.position};
  const bool ends = node == nullptr || (HasTop(*node) && node->switch_info->multicast_fdb_top) ||
                    next.block >= BlocksOf(*node) || block == MulticastBlock{};
  if (!ends) reads_.push_back({index, next});
}

TreeProgrammer::Answer TreeProgrammer::OnCompletion(NodeIndex node, Tag tag,
                                                    const mad::Completion* completion) {
  --outstanding_;
  const MulticastPlace place = PlaceOf(tag);
  const bool ok = completion != nullptr && IsOk(*completion);
  if (KindOf(tag) == Kind::kWrite) {
    AppliedMft& applied = devices_.Mft(node);
    const MulticastBlock wanted = applied.InFlight(place);
    const bool was_sent = completion != nullptr && completion->sent;
    was_sent ? applied.Landed(place) : applied.Unsent(place);
    const bool taken =
        ok && MulticastForwardingTable::Decode(completion->response.data).port_mask == wanted;
    if (taken) applied.Confirm(place, wanted);
    if (ok && !taken) applied.Distrust(place);
    push_.OnAnswer(node, place, taken);
    return taken ? Answer::kTaken : ok ? Answer::kRefused : Answer::kFailed;
  }
  if (!ok) return Answer::kFailed;
  if (KindOf(tag) == Kind::kRead) {
    OnRead(node, place, MulticastForwardingTable::Decode(completion->response.data).port_mask);
  } else if (builder_.node(node) != nullptr) {
    const auto info = wire::SwitchInfo::Decode(completion->response.data);
    builder_.SetSwitchInfo(node, info);
    if (TopFor(*plan_, *builder_.node(node))) return Answer::kRefused;
  }
  return Answer::kTaken;
}

void TreeProgrammer::NoteLate(NodeIndex node, Tag tag, const mad::Completion& completion,
                              DeviceTable& devices) {
  if (KindOf(tag) != Kind::kWrite) return;
  AppliedMft& applied = devices.Mft(node);
  const MulticastPlace place = PlaceOf(tag);
  if (!completion.sent) return applied.Unsent(place);
  const bool in_flight = applied.IsInFlight(place);
  applied.Landed(place);
  if (!IsOk(completion)) return;
  const auto shown = MulticastForwardingTable::Decode(completion.response.data).port_mask;
  if (in_flight && shown != applied.InFlight(place))
    applied.Distrust(place);
  else
    applied.Confirm(place, shown);
}

}  // namespace fabricd::sweep
