// SPDX-License-Identifier: Apache-2.0
// The table attributes of a simulated device: P_Keys, GUIDs, virtual lanes, forwarding tables.
#include <algorithm>

#include "common/p_key.h"
#include "sim/device/sim_device.h"

namespace fabricd::sim {
namespace {

using wire::AttributeId;
using wire::PortInfo;

// AttributeModifier bits 16 and 17 of SLtoVLMappingTable: all outputs, all inputs at once.
constexpr uint32_t kOptimizedSlToVl = 0x00030000;

size_t Blocks(size_t entries, size_t per_block) { return (entries + per_block - 1) / per_block; }

template <typename Table>
bool Store(Table& stored, const Table& wanted) {
  if (stored == wanted) return false;
  stored = wanted;
  return true;
}

// What lies behind a table's cap is ignored on write and reads as zero.
template <typename Entries>
void ClearBeyond(Entries& entries, size_t cap, size_t block) {
  for (size_t i = 0; i < entries.size(); ++i) {
    if (block * entries.size() + i >= cap) entries[i] = {};
  }
}

}  // namespace

wire::LinearForwardingTable SimDevice::LftBlock(uint16_t block) const {
  wire::LinearForwardingTable table;
  const size_t at = size_t{block} * table.kEntries;
  if (at + table.kEntries <= lft_.size()) {
    std::copy_n(lft_.begin() + static_cast<ptrdiff_t>(at), table.kEntries, table.port.begin());
  } else {
    table.port.fill(wire::LinearForwardingTable::kNoPath);
  }
  return table;
}

wire::MulticastForwardingTable SimDevice::MftBlock(uint8_t position, uint16_t block) const {
  const auto found = mft_.find(wire::MulticastForwardingTable::Modifier(position, block));
  return found == mft_.end() ? wire::MulticastForwardingTable() : found->second;
}

wire::PKeyTable SimDevice::PKeyBlock(PortNum port, uint16_t block) const {
  const std::vector<wire::PKeyTable>& stored = ports_[port.value()].pkeys;
  if (block < stored.size()) return stored[block];
  wire::PKeyTable table;
  if (block == 0)
    table.keys[0] = options_.limited_default_key ? kDefaultLimitedPKey : kDefaultFullPKey;
  return table;
}

std::vector<PortNum> SimDevice::MulticastPorts(Lid mlid, PortNum ingress) const {
  const uint16_t top = switch_info_.multicast_fdb_top;
  const uint32_t entry = mlid.value() - kFirstMulticastLid;
  // MulticastFDBTop is 0 until a subnet manager that knows it writes it.
  const bool in_table = entry < switch_info_.multicast_fdb_cap && (top == 0 || mlid.value() <= top);
  std::vector<PortNum> ports;
  if (!in_table) {
    PortNum port(switch_info_.default_multicast_primary_port);
    if (port == ingress) port = PortNum(switch_info_.default_multicast_not_primary_port);
    if (HasPort(port) && port != ingress) ports.push_back(port);
    return ports;
  }
  using Table = wire::MulticastForwardingTable;
  const uint16_t block = static_cast<uint16_t>(entry / Table::kEntries);
  for (size_t port = 0; port < ports_.size(); ++port) {
    const auto found = mft_.find(Table::Modifier(static_cast<uint8_t>(port / 16), block));
    if (found == mft_.end()) continue;
    const uint16_t mask = found->second.port_mask[entry % Table::kEntries];
    if ((mask >> port % 16 & 1) != 0 && port != ingress.value()) {
      ports.emplace_back(static_cast<uint8_t>(port));
    }
  }
  return ports;
}

PKey SimDevice::PKeyAt(PortNum port, uint16_t index) const {
  constexpr uint16_t kEntries = wire::PKeyTable::kEntries;
  if (index >= PKeyCap(port)) return PKey();
  return PKeyBlock(port, index / kEntries).keys[index % kEntries];
}

std::optional<uint16_t> SimDevice::PKeyIndexFor(PortNum port, PKey packet) const {
  if (PartitionOf(packet) == 0) return std::nullopt;
  for (size_t index = 0; index < PKeysStored(port); ++index) {
    const PKey key = PKeyAt(port, static_cast<uint16_t>(index));
    const bool same = PartitionOf(key) == PartitionOf(packet);
    if (same && (IsFullMember(key) || IsFullMember(packet))) return static_cast<uint16_t>(index);
  }
  return std::nullopt;
}

bool SimDevice::PartitionPasses(PortNum port, PKey packet) const {
  if (PartitionOf(packet) == 0) return false;
  for (size_t index = 0; index < PKeysStored(port); ++index) {
    if (PartitionOf(PKeyAt(port, static_cast<uint16_t>(index))) == PartitionOf(packet)) return true;
  }
  return false;
}

// How far a search of the table has to go: power-up's entry 0, or what was written.
size_t SimDevice::PKeysStored(PortNum port) const {
  return std::max<size_t>(1, ports_[port.value()].pkeys.size() * wire::PKeyTable::kEntries);
}

wire::SlToVlMappingTable SimDevice::SlToVl(PortNum in, PortNum out) const {
  const auto found = sl_to_vl_.find(wire::SlToVlMappingTable::Modifier(in, out));
  if (found != sl_to_vl_.end()) return found->second;
  wire::SlToVlMappingTable table;
  const int lanes = std::max(1, wire::DataVls(options_.vl_cap));
  for (size_t sl = 0; sl < table.vl.size(); ++sl) {
    table.vl[sl] = static_cast<uint8_t>(sl % static_cast<size_t>(lanes));
  }
  return table;
}

size_t SimDevice::PKeyCap(PortNum port) const {
  const bool external = IsSwitch() && port.value() != 0;
  return external ? switch_info_.partition_enforcement_cap : info_.partition_cap;
}

std::optional<std::pair<PortNum, uint16_t>> SimDevice::PKeyBlockOf(PortNum ingress,
                                                                   uint32_t modifier) const {
  const uint16_t block = static_cast<uint16_t>(modifier);
  const uint32_t named = IsSwitch() ? modifier >> 16 : ingress.value();
  if (named >= ports_.size()) return std::nullopt;
  const PortNum port(static_cast<uint8_t>(named));
  if (block >= Blocks(PKeyCap(port), wire::PKeyTable::kEntries)) return std::nullopt;
  return std::pair(port, block);
}

std::optional<PortNum> SimDevice::VlArbitrationPort(PortNum ingress, uint32_t modifier) const {
  const uint32_t table = modifier >> 16;
  // Tables 2 and 4 hold the entries above 32, which a cap of 8 does not reach.
  if (table != 1 && table != 3) return std::nullopt;
  const uint32_t named = IsSwitch() ? modifier & 0xFFFF : ingress.value();
  if (named >= ports_.size()) return std::nullopt;
  return PortNum(static_cast<uint8_t>(named));
}

bool SimDevice::SlToVlExists(uint32_t modifier) const {
  if (!IsSwitch()) return true;
  return (modifier >> 8) < ports_.size() && (modifier & 0xFF) < ports_.size();
}

bool SimDevice::LftBlockExists(uint32_t modifier) const {
  return modifier < Blocks(switch_info_.linear_fdb_cap, wire::LinearForwardingTable::kEntries);
}

bool SimDevice::MftBlockExists(uint32_t modifier) const {
  const uint32_t block = modifier & 0x0FFFFFFF;
  const uint32_t position = modifier >> 28;
  return block < Blocks(switch_info_.multicast_fdb_cap, wire::MulticastForwardingTable::kEntries) &&
         position <= info_.num_ports / 16u;
}

uint16_t SimDevice::GetBlock(PortNum ingress, wire::Smp& smp) const {
  constexpr uint16_t kRefused = wire::kStatusInvalidAttributeValue;
  const uint32_t modifier = smp.modifier;
  switch (smp.attribute) {
    case AttributeId::kPKeyTable: {
      const auto named = PKeyBlockOf(ingress, modifier);
      if (!named) return kRefused;
      PKeyBlock(named->first, named->second).Encode(smp.data);
      return wire::kStatusOk;
    }
    case AttributeId::kGuidInfo: {
      const SimPort& port = ports_[ManagementPort(ingress).value()];
      if (modifier >= Blocks(port.info.guid_cap, wire::GuidInfo::kEntries)) return kRefused;
      wire::GuidInfo info = modifier < port.guids.size() ? port.guids[modifier] : wire::GuidInfo();
      if (modifier == 0) info.guids[0] = port.guid;
      info.Encode(smp.data);
      return wire::kStatusOk;
    }
    case AttributeId::kVlArbitrationTable: {
      const auto port = VlArbitrationPort(ingress, modifier);
      if (!port) return kRefused;
      const auto& stored = ports_[port->value()].vl_arbitration;
      const auto found = stored.find(static_cast<uint8_t>(modifier >> 16));
      (found == stored.end() ? wire::VlArbitrationTable() : found->second).Encode(smp.data);
      return wire::kStatusOk;
    }
    case AttributeId::kSlToVlMappingTable:
      if (!SlToVlExists(modifier)) return kRefused;
      (IsSwitch() ? SlToVl(PortNum(static_cast<uint8_t>(modifier >> 8)),
                           PortNum(static_cast<uint8_t>(modifier)))
                  : SlToVl(PortNum(0), ingress))
          .Encode(smp.data);
      return wire::kStatusOk;
    case AttributeId::kLinearForwardingTable:
      if (!LftBlockExists(modifier)) return kRefused;
      LftBlock(static_cast<uint16_t>(modifier)).Encode(smp.data);
      return wire::kStatusOk;
    case AttributeId::kMulticastForwardingTable:
      if (!MftBlockExists(modifier)) return kRefused;
      MftBlock(static_cast<uint8_t>(modifier >> 28), static_cast<uint16_t>(modifier))
          .Encode(smp.data);
      return wire::kStatusOk;
    case AttributeId::kSwitchPortStateTable: {
      wire::SwitchPortStateTable table;
      const size_t first = size_t{modifier} * table.kEntries;
      if (modifier > 1 || first >= ports_.size()) return kRefused;
      const size_t end = std::min(ports_.size(), first + table.kEntries);
      for (size_t port = first; port < end; ++port) {
        table.state[port - first] = static_cast<uint8_t>(ports_[port].info.port_state);
      }
      table.Encode(smp.data);
      return wire::kStatusOk;
    }
    default: return wire::kStatusUnsupportedMethodAttribute;
  }
}

uint16_t SimDevice::SetPKeyTable(PortNum ingress, wire::Smp& smp, SmaEffects& effects) {
  const auto named = PKeyBlockOf(ingress, smp.modifier);
  if (!named) return wire::kStatusInvalidAttributeValue;
  const auto [number, block] = *named;
  wire::PKeyTable wanted = wire::PKeyTable::Decode(smp.data);
  ClearBeyond(wanted.keys, PKeyCap(number), block);
  wanted.Encode(smp.data);
  if (wanted == PKeyBlock(number, block)) return wire::kStatusOk;
  std::vector<wire::PKeyTable>& stored = ports_[number.value()].pkeys;
  for (size_t missing = stored.size(); missing <= block; ++missing) {
    stored.push_back(PKeyBlock(number, static_cast<uint16_t>(missing)));
  }
  stored[block] = wanted;
  effects.changed = true;
  effects.events_port = number;
  effects.events.push_back(mad::LocalPortEvent::Kind::kPKeyChange);
  return wire::kStatusOk;
}

uint16_t SimDevice::SetGuidInfo(PortNum ingress, wire::Smp& smp, SmaEffects& effects) {
  SimPort& port = ports_[ManagementPort(ingress).value()];
  if (smp.modifier >= Blocks(port.info.guid_cap, wire::GuidInfo::kEntries)) {
    return wire::kStatusInvalidAttributeValue;
  }
  wire::GuidInfo wanted = wire::GuidInfo::Decode(smp.data);
  ClearBeyond(wanted.guids, port.info.guid_cap, smp.modifier);
  if (smp.modifier == 0) wanted.guids[0] = Guid();  // The port GUID is read-only; Get fills it in.
  if (port.guids.size() <= smp.modifier) port.guids.resize(smp.modifier + 1);
  effects.changed = Store(port.guids[smp.modifier], wanted);
  if (smp.modifier == 0) wanted.guids[0] = port.guid;
  wanted.Encode(smp.data);
  return wire::kStatusOk;
}

uint16_t SimDevice::SetVlArbitration(PortNum ingress, wire::Smp& smp, SmaEffects& effects) {
  const auto number = VlArbitrationPort(ingress, smp.modifier);
  if (!number) return wire::kStatusInvalidAttributeValue;
  const uint8_t table = static_cast<uint8_t>(smp.modifier >> 16);
  const PortInfo& info = ports_[number->value()].info;
  wire::VlArbitrationTable wanted = wire::VlArbitrationTable::Decode(smp.data);
  ClearBeyond(wanted.entries, table == 1 ? info.vl_arb_low_cap : info.vl_arb_high_cap, 0);
  wanted.Encode(smp.data);
  effects.changed = Store(ports_[number->value()].vl_arbitration[table], wanted);
  return wire::kStatusOk;
}

uint16_t SimDevice::SetSlToVl(PortNum ingress, const wire::Smp& smp, SmaEffects& effects) {
  const wire::SlToVlMappingTable wanted = wire::SlToVlMappingTable::Decode(smp.data);
  const bool whole_switch =
      IsSwitch() && switch_info_.optimized_sl_to_vl != 0 && smp.modifier == kOptimizedSlToVl;
  if (!whole_switch && !SlToVlExists(smp.modifier)) return wire::kStatusInvalidAttributeValue;
  const auto write = [&](PortNum in, PortNum out) {
    if (SlToVl(in, out) == wanted) return;
    sl_to_vl_[wire::SlToVlMappingTable::Modifier(in, out)] = wanted;
    effects.changed = true;
  };
  if (!IsSwitch()) {
    write(PortNum(0), ingress);
  } else if (!whole_switch) {
    write(PortNum(static_cast<uint8_t>(smp.modifier >> 8)),
          PortNum(static_cast<uint8_t>(smp.modifier)));
  } else {
    for (const PortNum in : AllPorts())
      for (const PortNum out : AllPorts()) write(in, out);
  }
  return wire::kStatusOk;
}

uint16_t SimDevice::SetLft(const wire::Smp& smp, SmaEffects& effects) {
  if (!LftBlockExists(smp.modifier)) return wire::kStatusInvalidAttributeValue;
  const uint16_t block = static_cast<uint16_t>(smp.modifier);
  const wire::LinearForwardingTable wanted = wire::LinearForwardingTable::Decode(smp.data);
  if (shadow_mode_ == ShadowLft::kUntilWritten && block < shadow_.size()) shadow_[block].reset();
  if (wanted == LftBlock(block)) return wire::kStatusOk;
  const size_t at = size_t{block} * wanted.kEntries;
  if (lft_.size() < at + wanted.kEntries) {
    // LinearFDBTop is written first: it says how large the table becomes, so growing wastes
    // nothing.
    const size_t top_block = switch_info_.linear_fdb_top / wire::LinearForwardingTable::kEntries;
    lft_.reserve((std::max<size_t>(block, top_block) + 1) * wanted.kEntries);
    lft_.resize(at + wanted.kEntries, wire::LinearForwardingTable::kNoPath);
  }
  std::copy_n(wanted.port.begin(), wanted.kEntries, lft_.begin() + static_cast<ptrdiff_t>(at));
  effects.changed = true;
  return wire::kStatusOk;
}

uint16_t SimDevice::SetMft(const wire::Smp& smp, SmaEffects& effects) {
  if (!MftBlockExists(smp.modifier)) return wire::kStatusInvalidAttributeValue;
  effects.changed = Store(mft_[smp.modifier], wire::MulticastForwardingTable::Decode(smp.data));
  return wire::kStatusOk;
}

}  // namespace fabricd::sim
