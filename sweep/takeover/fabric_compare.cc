// SPDX-License-Identifier: Apache-2.0
#include "sweep/takeover/fabric_compare.h"

#include <algorithm>
#include <bitset>

#include "fabric/aggregation_node.h"
#include "sweep/device/port_config.h"
#include "sweep/write/port_guids.h"
#include "sweep/write/port_keys.h"

namespace fabricd::sweep {
namespace {

using wire::PortInfo;
using wire::PortState;

template <typename T>
struct Field {
  const char* name;
  bool (*differs)(const T& a, const T& b);
};

#define FABRICD_FIELD(type, name, member)                                   \
  Field<type> {                                                             \
    name, [](const type& a, const type& b) { return a.member != b.member; } \
  }

// Those that fabricd manages.
constexpr Field<PortInfo> kPortFields[] = {
    FABRICD_FIELD(PortInfo, "M_Key", m_key),
    FABRICD_FIELD(PortInfo, "GidPrefix", gid_prefix),
    FABRICD_FIELD(PortInfo, "LID", lid),
    FABRICD_FIELD(PortInfo, "MasterSMLID", master_sm_lid),
    FABRICD_FIELD(PortInfo, "M_KeyLeasePeriod", m_key_lease_period),
    FABRICD_FIELD(PortInfo, "LinkDownDefaultState", link_down_default_state),
    FABRICD_FIELD(PortInfo, "M_KeyProtectBits", m_key_protect_bits),
    FABRICD_FIELD(PortInfo, "LMC", lmc),
    FABRICD_FIELD(PortInfo, "NeighborMTU", neighbor_mtu),
    FABRICD_FIELD(PortInfo, "MasterSMSL", master_sm_sl),
    FABRICD_FIELD(PortInfo, "VLStallCount", vl_stall_count),
    FABRICD_FIELD(PortInfo, "HOQLife", hoq_life),
    FABRICD_FIELD(PortInfo, "OperationalVLs", operational_vls),
    FABRICD_FIELD(PortInfo, "PartitionEnforcementInbound", partition_enforcement_inbound),
    FABRICD_FIELD(PortInfo, "PartitionEnforcementOutbound", partition_enforcement_outbound),
    FABRICD_FIELD(PortInfo, "ClientReregister", client_reregister),
    FABRICD_FIELD(PortInfo, "SubnetTimeOut", subnet_timeout),
    FABRICD_FIELD(PortInfo, "LocalPhyErrors", local_phy_errors),
    FABRICD_FIELD(PortInfo, "OverrunErrors", overrun_errors),
};
constexpr Field<wire::SwitchInfo> kSwitchFields[] = {
    FABRICD_FIELD(wire::SwitchInfo, "LinearFDBTop", linear_fdb_top),
    FABRICD_FIELD(wire::SwitchInfo, "LifeTimeValue", life_time_value),
};
#undef FABRICD_FIELD

template <typename T, size_t N>
void CountSet(const Field<T> (&fields)[N], const T& before, const T& after, AttributeSets& sets) {
  ++sets.sets;
  for (const Field<T>& field : fields)
    if (field.differs(before, after)) ++sets.fields[field.name];
}

class ReportBuilder {
 public:
  ReportBuilder(const CompareInput& input, const fabric::MulticastGroups& groups)
      : input_(input),
        desired_(input.desired),
        snapshot_(*input.desired.snapshot),
        groups_(groups),
        config_(input.options, desired_.lids->Of(desired_.ports.local).base),
        keys_(desired_.keys, desired_.ports.local, snapshot_, input.applied),
        guids_(desired_.guids, snapshot_, input.applied) {}

  TakeoverReport Make() {
    report_.risks = FindRisks(input_);
    report_.id = DigestOf(report_.risks);
    snapshot_.ForEachNode([&](const fabric::Node& node) {
      for (const auto& [ref, port] : node.AllPorts())
        if (port.known) AddPort(node, ref, port);
      if (node.IsSwitch() && node.switch_info) AddSwitch(node);
      if (fabric::IsAggregationNode(node)) List(report_.aggregation_nodes, node.guid());
      if (input_.applied.adaptive_routing().Of(node.index) == AdaptiveRouting::State::kOn)
        List(report_.adaptive_routing, node.guid());
      // A host lists the switch ports that enforce for it too.
      for (const PortKeys::Write& write : keys_.Writes(node, [](auto&&...) {}))
        if (write.port.node == node.index) ++SetsOf(wire::AttributeId::kPKeyTable).sets;
      if (const auto writes = guids_.Writes(node); !writes.empty())
        SetsOf(wire::AttributeId::kGuidInfo).sets += static_cast<uint32_t>(writes.size());
    });
    AddGroups();
    return std::move(report_);
  }

 private:
  AttributeSets& SetsOf(wire::AttributeId attribute) {
    return report_.sets[std::string(wire::AttributeName(attribute))];
  }
  template <typename T>
  static void List(std::vector<T>& list, T value) {
    if (list.size() < TakeoverReport::kMostListed) list.push_back(value);
  }

  void AddPort(const fabric::Node& node, PortRef ref, const fabric::Port& port) {
    const bool is_end_port = !node.IsSwitch() || ref.port == PortNum(0);
    // A new master asks all clients to register again.
    const auto wanted = config_.Configure(snapshot_, *desired_.lids, node, ref.port, true,
                                          keys_.EnforcementOf(ref, port.info));
    if (wanted) {
      PortInfo before = port.info;
      before.client_reregister = false;
      CountSet(kPortFields, ComparableTo(wanted->info, before, is_end_port), wanted->info,
               SetsOf(wire::AttributeId::kPortInfo));
    }
    AddState(node, ref, port);
    if (is_end_port) return AddEndPort(node, ref, port);
    const bool enforces =
        port.info.partition_enforcement_inbound || port.info.partition_enforcement_outbound;
    report_.ports_kept_enforcing += enforces && keys_.IsKept(ref);
  }

  // Fields that an external port of a switch does not have are not changed by a Set.
  static PortInfo ComparableTo(const PortInfo& wanted, PortInfo before, bool is_end_port) {
    if (is_end_port) return before;
    before.lid = wanted.lid;
    before.master_sm_lid = wanted.master_sm_lid;
    before.lmc = wanted.lmc;
    before.m_key = wanted.m_key;
    before.gid_prefix = wanted.gid_prefix;
    return before;
  }

  // Links that are up are armed and activated.
  void AddState(const fabric::Node& node, PortRef ref, const fabric::Port& port) {
    if (node.IsSwitch() && ref.port == PortNum(0)) return;
    if (port.info.port_state == PortState::kActive) {
      ++report_.active_ports;
      if (!node.IsSwitch() || !port.peer.IsNone()) return;
      ++report_.unresponsive_ports;
      List(report_.unresponsive, UnresponsivePort{node.guid(), ref.port});
      return;
    }
    if (!port.IsUp() || port.peer.IsNone()) return;
    const uint32_t sets = port.info.port_state == PortState::kInit ? 2 : 1;
    AttributeSets& of_ports = SetsOf(wire::AttributeId::kPortInfo);
    of_ports.sets += sets;
    of_ports.fields["PortState"] += sets;
  }

  void AddEndPort(const fabric::Node& node, PortRef ref, const fabric::Port& port) {
    const Lid wanted = desired_.lids->Of(ref).base;
    if (wanted != port.info.lid) {
      ++report_.lids_changed;
      List(report_.lid_changes, LidChange{port.guid, port.info.lid, wanted});
    }
    if (node.IsSwitch()) return;
    const auto* blocks = input_.applied.FindGuids(ref);
    bool has_more = false;
    for (size_t i = 0; blocks != nullptr && i < blocks->size(); ++i)
      if (const wire::GuidInfo* info = blocks->Find(i))
        for (const Guid guid : info->guids) has_more |= guid && guid != port.guid;
    report_.virtualized_ports += has_more;
  }

  void AddSwitch(const fabric::Node& node) {
    const auto wanted = config_.ConfigureSwitch(node, desired_.lids->top());
    if (wanted)
      CountSet(kSwitchFields, *node.switch_info, *wanted, SetsOf(wire::AttributeId::kSwitchInfo));
    AddMulticastTop(node);
    if (desired_.plan == nullptr || !desired_.plan->HasRow(node.index)) return;
    const Lid top = PortConfig::NeededTop(node, desired_.lids->top());
    const size_t blocks = top.value() / AppliedLft::kBlock + 1u;
    const AppliedLft* held = input_.applied.FindLft(node.index);
    const auto& row = *desired_.plan->rows[node.index.value()];
    const auto differing =
        static_cast<uint32_t>(held == nullptr ? blocks : held->Differences(blocks, row).size());
    if (differing == 0) return;
    report_.lft_blocks += differing;
    ++report_.lft_switches;
    SetsOf(wire::AttributeId::kLinearForwardingTable).sets += differing;
  }

  // Where no group is known, all multicast entries are cleared.
  void AddMulticastTop(const fabric::Node& node) {
    const bool has_top =
        (node.port(PortNum(0)).info.capability_mask & wire::kCapIsMulticastFdbTop) != 0;
    const uint16_t top = node.switch_info->multicast_fdb_top;
    if (!groups_.groups.empty() || !has_top || top == 0 || top == routing::kNoMulticastTop.value())
      return;
    AttributeSets& of_switches = SetsOf(wire::AttributeId::kSwitchInfo);
    ++of_switches.sets;
    ++of_switches.fields["MulticastFDBTop"];
  }

  // MLIDs by what the switches hold.
  void AddGroups() {
    std::bitset<0x10000> forwarded;
    for (const auto& row : input_.applied.Trees().rows) {
      if (row == nullptr) continue;
      for (const auto& [place, block] : row->blocks)
        for (size_t i = 0; i < block->size(); ++i)
          if ((*block)[i] != 0)
            forwarded.set(fabric::kFirstMulticastLid.value() + place.block * block->size() + i);
    }
    report_.mlids_forwarded = static_cast<uint32_t>(forwarded.count());
    for (const fabric::MulticastGroup& group : groups_.groups) forwarded.reset(group.mlid.value());
    report_.mlids_unknown = static_cast<uint32_t>(forwarded.count());
  }

  const CompareInput& input_;
  const DesiredState& desired_;
  const fabric::FabricSnapshot& snapshot_;
  const fabric::MulticastGroups& groups_;
  const PortConfig config_;
  const PortKeys keys_;
  const PortGuids guids_;
  TakeoverReport report_;
};

}  // namespace

TakeoverReport MakeTakeoverReport(const CompareInput& input,
                                  const fabric::MulticastGroups& groups) {
  return ReportBuilder(input, groups).Make();
}

}  // namespace fabricd::sweep
