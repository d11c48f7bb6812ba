// SPDX-License-Identifier: Apache-2.0
#include "sweep/device/port_config.h"

#include <algorithm>

#include "common/breakage.h"
#include "mad/wire/tables.h"
#include "sweep/device/m_keys.h"

namespace fabricd::sweep {

using wire::PortInfo;
using wire::PortState;

bool PortConfig::KnowsExtendedSpeeds(const fabric::Node& node, PortNum port) {
  const PortInfo& info = node.port(node.IsSwitch() ? PortNum(0) : port).info;
  return (info.capability_mask & wire::kCapIsExtendedSpeeds) != 0;
}

bool PortConfig::HasStateTable(const fabric::Node& node) {
  const PortInfo& info = node.port(PortNum(0)).info;
  return (info.capability_mask & wire::kCapIsCapabilityMask2) != 0 &&
         (info.capability_mask2 & wire::kCap2IsSwitchPortStateTable) != 0;
}

uint32_t PortConfig::ModifierOf(const fabric::Node& node, PortNum port) {
  const bool external = !(node.IsSwitch() && port == PortNum(0));
  const bool extended = external && KnowsExtendedSpeeds(node, port);
  return port.value() | (extended ? wire::kSmSupportsExtendedSpeeds : 0u);
}

namespace {

// A running link keeps its values while they are legal at both ends, so as not to disturb jobs.
// Between switches it also needs as many VLs as plans may use. Where it is ACTIVE its ends may have
// different numbers of VLs: the ones that plans use work, and traffic has shown it.
bool RunsWithin(const PortInfo& here, const PortInfo& there, uint8_t mtu_max, uint8_t vls_min,
                uint8_t vls_max) {
  const bool agree = here.operational_vls == there.operational_vls ||
                     (here.port_state == PortState::kActive &&
                      there.port_state == PortState::kActive && there.operational_vls >= vls_min);
  return here.port_state >= PortState::kArmed && here.neighbor_mtu >= 1 &&
         here.neighbor_mtu <= mtu_max && here.operational_vls >= vls_min &&
         here.operational_vls <= vls_max && agree;
}

}  // namespace

void PortConfig::ConfigureEndPort(const fabric::Node& node, PortNum num, fabric::LidRange lids,
                                  bool reregister, PortInfo& info) const {
  info.lid = lids.base;
  if (IsBroken(Breakage::kLidGivenTwice) && lids.base == Lid(2)) info.lid = Lid(1);
  info.lmc = lids.lmc;
  info.master_sm_lid = sm_lid_;
  info.master_sm_sl = 0;
  info.gid_prefix = options_.sm.gid_prefix;
  info.m_key = WantedMKey(options_.sm, node.port(num).guid);
  info.m_key_lease_period = options_.sm.m_key_lease_period;
  info.m_key_protect_bits = options_.sm.m_key_protect_bits;
  info.subnet_timeout = options_.link.subnet_timeout;
  // An enhanced port 0 has no peer to agree with. Its initial NeighborMTU may be only 256 bytes.
  if (node.IsSwitch() && node.switch_info && node.switch_info->enhanced_port0)
    info.neighbor_mtu = info.mtu_cap;
  info.client_reregister =
      reregister && (info.capability_mask & wire::kCapIsClientReregister) != 0 && !node.IsSwitch();
}

void PortConfig::ConfigureLink(const fabric::Node& node, const fabric::Port& port,
                               const fabric::Node& peer_node, const fabric::Port& peer,
                               Enforcement enforcement, PortInfo& info) const {
  const uint8_t mtu = std::min(port.info.mtu_cap, peer.info.mtu_cap);
  const uint8_t vls =
      std::min({port.info.vl_cap, peer.info.vl_cap, options_.link.max_operational_vls});
  const uint8_t vls_max = std::min(port.info.vl_cap, peer.info.vl_cap);
  uint8_t vls_min = 1;
  if (node.IsSwitch() && peer_node.IsSwitch())
    while (vls_min < vls && wire::DataVls(vls_min) < options_.routing.lanes_max) ++vls_min;
  if (!RunsWithin(port.info, peer.info, mtu, vls_min, vls_max)) {
    // An active link must retrain before these values may change.
    if (port.info.port_state >= PortState::kArmed) info.port_state = PortState::kDown;
    info.neighbor_mtu = mtu;
    info.operational_vls = vls;
  }
  info.link_down_default_state = wire::LinkDownDefaultState::kPolling;
  info.local_phy_errors = options_.link.local_phy_errors;
  info.overrun_errors = options_.link.overrun_errors;
  if (!node.IsSwitch()) return;
  info.vl_stall_count = options_.link.vl_stall_count;
  info.hoq_life = peer_node.IsSwitch() ? options_.link.hoq_life : options_.link.leaf_hoq_life;
  info.partition_enforcement_inbound = enforcement.inbound;
  info.partition_enforcement_outbound = enforcement.outbound;
}

std::optional<PortWish> PortConfig::Configure(const fabric::FabricSnapshot& snapshot,
                                              const fabric::LidTable& lids,
                                              const fabric::Node& node, PortNum num,
                                              bool reregister_clients,
                                              Enforcement enforcement) const {
  const fabric::Port& port = node.port(num);
  if (!port.known) return std::nullopt;
  PortWish wish{port.info, ModifierOf(node, num)};
  PortInfo& info = wish.info;
  info.port_state = PortState::kNoChange;
  info.port_physical_state = wire::PortPhysicalState::kNoChange;
  info.client_reregister = false;

  const bool end_port = !node.IsSwitch() || num == PortNum(0);
  if (end_port) {
    const fabric::LidRange range = lids.Of({node.index, num});
    if (!range.base) return std::nullopt;
    ConfigureEndPort(node, num, range, reregister_clients, info);
  } else {
    // A switch's external port does not have these fields (IBA vol 1 §14.2.5.6, "used by" column).
    info.lid = info.master_sm_lid = Lid(0);
    info.lmc = 0;
    info.m_key = MKey(0);
    info.gid_prefix = 0;
  }
  const fabric::Node* peer_node = port.peer.IsNone() ? nullptr : snapshot.node(port.peer.node);
  const fabric::Port* peer = peer_node ? snapshot.port(port.peer) : nullptr;
  const bool linked = port.IsUp() && peer != nullptr && peer->IsUp();
  if (linked)
    ConfigureLink(node, port, *peer_node, *peer, enforcement, info);
  else if (!end_port)
    return std::nullopt;

  PortInfo same = info;  // Without the commands, which are not values.
  same.port_physical_state = port.info.port_physical_state;
  same.client_reregister = port.info.client_reregister;
  if (info.port_state == PortState::kNoChange) same.port_state = port.info.port_state;
  if (!end_port) {
    same.lid = port.info.lid;
    same.master_sm_lid = port.info.master_sm_lid;
    same.lmc = port.info.lmc;
    same.m_key = port.info.m_key;
    same.gid_prefix = port.info.gid_prefix;
  }
  if (same == port.info && !info.client_reregister) return std::nullopt;
  return wish;
}

PortWish PortConfig::ChangeState(const fabric::Node& node, PortNum num, PortState state) {
  PortWish wish{node.port(num).info, ModifierOf(node, num)};
  wish.info.port_state = state;
  wish.info.port_physical_state = wire::PortPhysicalState::kNoChange;
  wish.info.client_reregister = false;
  return wish;
}

// A physical state may only be set together with PortState DOWN (IBA vol 1 §14.2.5.6).
PortWish PortConfig::ChangePhysicalState(const fabric::Node& node, PortNum num,
                                         wire::PortPhysicalState state) {
  PortWish wish = ChangeState(node, num, PortState::kDown);
  wish.info.port_physical_state = state;
  return wish;
}

Lid PortConfig::NeededTop(const fabric::Node& node, Lid lid_top) {
  const uint16_t cap = node.switch_info->linear_fdb_cap;
  return Lid(cap == 0 || lid_top.value() < cap ? lid_top.value() : static_cast<uint16_t>(cap - 1));
}

bool PortConfig::TopsSuffice(const fabric::FabricSnapshot& snapshot, Lid lid_top) {
  bool suffice = true;
  snapshot.ForEachNode([&](const fabric::Node& node) {
    suffice &=
        !node.switch_info || node.switch_info->linear_fdb_top >= NeededTop(node, lid_top).value();
  });
  return suffice;
}

namespace {

// The LinearFDBTop to set depends on the observed one. A switch with an empty table gets what it
// needs. A table that grows gets the end of the block, so that only one new LID in 64 costs a Set
// on every switch. A LinearFDBTop that suffices and lies within the last block in use stays.
Lid TopToSet(const fabric::Node& node, Lid lid_top) {
  constexpr uint16_t kBlock = wire::LinearForwardingTable::kEntries;
  const Lid needed = PortConfig::NeededTop(node, lid_top);
  const Lid most = PortConfig::NeededTop(
      node, Lid(static_cast<uint16_t>(lid_top.value() / kBlock * kBlock + kBlock - 1)));
  const Lid shown(node.switch_info->linear_fdb_top);
  if (shown.value() == 0 || shown > most) return needed;
  return shown < needed ? most : shown;
}

}  // namespace

std::optional<wire::SwitchInfo> PortConfig::ConfigureSwitch(const fabric::Node& node,
                                                            Lid lid_top) const {
  wire::SwitchInfo info = *node.switch_info;
  info.linear_fdb_top = TopToSet(node, lid_top).value();
  info.life_time_value = options_.link.packet_life_time;
  const bool idle = info == *node.switch_info && !info.port_state_change;
  if (idle && !IsBroken(Breakage::kSwitchInfoAlwaysSet)) return std::nullopt;
  return info;  // PortStateChange as observed: 1 clears it, 0 changes nothing.
}

bool IsSetOtherwise(wire::SwitchInfo a, wire::SwitchInfo b) {
  a.port_state_change = b.port_state_change = false;
  a.reserved = b.reserved = {};
  return a != b;
}

bool HasLostLid(const wire::PortInfo& before, const wire::PortInfo& now) {
  return before.lid && !now.lid;
}

std::optional<std::string> FindPortInfoFault(const PortInfo& info, const fabric::Node& node,
                                             PortNum port) {
  if (info.port_state > PortState::kActive)
    return fmt::format("PortState {} does not exist", static_cast<int>(info.port_state));
  if (node.IsSwitch() && port == PortNum(0)) return std::nullopt;
  if (info.port_state <= PortState::kDown) return std::nullopt;
  if (info.mtu_cap < 1 || info.mtu_cap > 5)
    return fmt::format("MTUCap {} is out of range", info.mtu_cap);
  if (info.vl_cap < 1 || info.vl_cap > 5)
    return fmt::format("VLCap {} is out of range", info.vl_cap);
  return std::nullopt;
}

}  // namespace fabricd::sweep
