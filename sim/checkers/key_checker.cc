// SPDX-License-Identifier: Apache-2.0
#include "sim/checkers/key_checker.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "common/p_key.h"
#include "sim/checkers/end_ports.h"

namespace fabricd::sim {
namespace {

using policy::Membership;
using policy::PortClass;

bool Matches(const policy::Member& member, const EndPort& end, wire::NodeType type, Guid self) {
  switch (member.ports) {
    case PortClass::kNone: return member.guid == end.guid;
    case PortClass::kAll: return true;
    case PortClass::kChannelAdapters: return type == wire::NodeType::kChannelAdapter;
    case PortClass::kSwitches: return type == wire::NodeType::kSwitch;
    case PortClass::kRouters: return type == wire::NodeType::kRouter;
    case PortClass::kVirtual: return false;
    case PortClass::kSelf: return end.guid == self;
  }
  return false;
}

std::vector<uint16_t> WantedAt(const SimFabric& fabric, const EndPort& end,
                               const KeyExpectations& expected) {
  std::vector<uint16_t> keys;
  const bool is_self = end.guid == expected.self;
  if (expected.isolated.contains(end.ref) && !is_self) {
    if (expected.options.isolated_in_default) keys.push_back(policy::kDefaultPartition);
    return keys;
  }
  const wire::NodeType type = fabric.device(end.ref.node)->node_info().node_type;
  for (const policy::Partition& partition : expected.partitions.list) {
    std::optional<Membership> membership;
    for (const policy::Member& member : partition.members)
      if (Matches(member, end, type, expected.self)) membership = member.membership;
    if (membership == Membership::kLimited || membership == Membership::kBoth)
      keys.push_back(partition.number);
    const bool forced = is_self && partition.number == policy::kDefaultPartition;
    if (forced || membership == Membership::kFull || membership == Membership::kBoth)
      keys.push_back(partition.number | kFullMemberBit);
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

std::vector<uint16_t> HeldAt(const SimDevice& device, PortNum port, size_t capacity) {
  std::vector<uint16_t> keys;
  for (size_t block = 0; block * wire::PKeyTable::kEntries < std::max<size_t>(1, capacity); ++block)
    for (PKey key : device.PKeyBlock(port, static_cast<uint16_t>(block)).keys)
      if (PartitionOf(key) != 0) keys.push_back(key.value());
  std::sort(keys.begin(), keys.end());
  return keys;
}

std::string TextOf(const std::vector<uint16_t>& keys) {
  std::string text;
  for (uint16_t key : keys) text += fmt::format("{}{:#06x}", text.empty() ? "" : " ", key);
  return "[" + text + "]";
}

// All that is wanted; of more than a table holds, a table full of it with the default partition.
bool IsAsMuchAsFits(const std::vector<uint16_t>& held, const std::vector<uint16_t>& wanted,
                    size_t capacity) {
  if (wanted.size() <= capacity) return held == wanted;
  const auto is_default = [](uint16_t key) {
    return PartitionOf(PKey(key)) == policy::kDefaultPartition;
  };
  return held.size() == capacity &&
         std::includes(wanted.begin(), wanted.end(), held.begin(), held.end()) &&
         (std::any_of(held.begin(), held.end(), is_default) ||
          std::none_of(wanted.begin(), wanted.end(), is_default));
}

// The number of the partition whose key belongs to index 0.
uint16_t FirstOf(const std::vector<uint16_t>& wanted, const policy::Partitions& partitions) {
  for (const policy::Partition& partition : partitions.list)
    if (partition.index0 && std::any_of(wanted.begin(), wanted.end(), [&](uint16_t key) {
          return PartitionOf(PKey(key)) == partition.number;
        }))
      return partition.number;
  return policy::kDefaultPartition;
}

bool EnforcesNothing(const KeyExpectations& expected) {
  return expected.partitions.list.size() == 1 &&
         expected.partitions.list.front().members ==
             std::vector<policy::Member>{{Guid(), PortClass::kAll, Membership::kFull}};
}

bool IsReported(const KeyExpectations& expected, Guid node, PortNum port) {
  const auto& reported = expected.not_enforced;
  return std::find(reported.begin(), reported.end(), std::pair(node, port)) != reported.end();
}

// What is wrong with the switch port that faces an end port; empty: nothing.
std::string EnforcementFault(const SimFabric& fabric, PortRef port,
                             const std::vector<uint16_t>& wanted, const KeyExpectations& expected) {
  const SimDevice& device = *fabric.device(port.node);
  if (!device.IsSwitch()) return "";
  const wire::PortInfo& info = device.port(port.port).info;
  const size_t capacity = device.switch_info().partition_enforcement_cap;
  const bool can = capacity >= wanted.size() && capacity > 0;
  const bool wants = can && !EnforcesNothing(expected);
  if (info.partition_enforcement_inbound != (wants && expected.options.enforce_inbound) ||
      info.partition_enforcement_outbound != (wants && expected.options.enforce_outbound)) {
    const Quirks* odd = device.quirks();
    if (odd == nullptr || !odd->ignored.partition_enforcement)
      return fmt::format("{} enforces in {} out {}", NameOf(fabric, port),
                         info.partition_enforcement_inbound, info.partition_enforcement_outbound);
    if (IsReported(expected, device.guid(), port.port)) return "";
    return fmt::format("{} ignores enforcement, and operators are not told", NameOf(fabric, port));
  }
  const auto held = HeldAt(device, port.port, capacity);
  if (wants && held != wanted)
    return fmt::format("{} enforces {} instead of {}", NameOf(fabric, port), TextOf(held),
                       TextOf(wanted));
  return "";
}

}  // namespace

std::vector<std::string> PKeyFaults(const SimFabric& fabric, const KeyExpectations& expected,
                                    size_t limit) {
  std::vector<std::string> faults;
  for (const EndPort& end : EndPorts(fabric)) {
    if (faults.size() >= limit) break;
    if (expected.undecided.contains(end.ref)) continue;
    const SimDevice& device = *fabric.device(end.ref.node);
    const auto wanted = WantedAt(fabric, end, expected);
    const size_t capacity = device.node_info().partition_cap;
    const auto held = HeldAt(device, end.ref.port, capacity);
    const PKey first = device.PKeyBlock(end.ref.port, 0).keys[0];
    if (!IsAsMuchAsFits(held, wanted, capacity))
      faults.push_back(fmt::format("{} holds {} instead of {}", NameOf(fabric, end.ref),
                                   TextOf(held), TextOf(wanted)));
    else if (!wanted.empty() && PartitionOf(first) != FirstOf(wanted, expected.partitions))
      faults.push_back(fmt::format("{} holds {} at index 0", NameOf(fabric, end.ref), first));
    const PortRef facing = device.port(end.ref.port).cable;
    if (device.IsSwitch() || facing.IsNone()) continue;
    const std::string fault = EnforcementFault(fabric, facing, wanted, expected);
    if (!fault.empty()) faults.push_back(fault);
  }
  return faults;
}

}  // namespace fabricd::sim
