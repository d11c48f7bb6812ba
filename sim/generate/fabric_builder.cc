// SPDX-License-Identifier: Apache-2.0
#include "sim/generate/fabric_builder.h"

#include <utility>

#include "common/status.h"
#include "sim/device/link_rate.h"
#include "sim/generate/parameters.h"

namespace fabricd::sim {
namespace {

using wire::LinkSpeed;

constexpr int kLanes = 4;
constexpr uint32_t kVendor = 0x2C9;
// Locally administered EUI-64s: switches by tier, group and index; HCAs by host and rail. The low
// byte of an HCA's GUID is free for its port GUID (node GUID + port number, as ibsim makes them).
constexpr uint64_t kSwitchGuids = 0x02FAB0ull << 40;
constexpr uint64_t kHostGuids = 0x02FAB1ull << 40;

Guid HostGuid(int host, int rail) {
  return Guid(kHostGuids | static_cast<uint64_t>(host) << 16 | static_cast<uint64_t>(rail) << 8);
}

uint16_t DeviceId(bool is_switch, LinkSpeed speed) {
  if (speed >= LinkSpeed::kXdr) return is_switch ? 0xD2F4 : 0x1023;
  if (speed >= LinkSpeed::kNdr) return is_switch ? 0xD2F2 : 0x1021;
  if (speed >= LinkSpeed::kHdr) return is_switch ? 0xD2F0 : 0x101B;
  if (speed >= LinkSpeed::kEdr) return is_switch ? 0xCB20 : 0x1013;
  return is_switch ? 0xC738 : 0x1011;
}

}  // namespace

Guid SwitchGuid(int tier, int group, int index) {
  return Guid(kSwitchGuids | static_cast<uint64_t>(tier) << 32 |
              static_cast<uint64_t>(group) << 16 | static_cast<uint64_t>(index));
}

Guid SwitchGuid(int index) { return SwitchGuid(1, index >> 16, index & 0xFFFF); }

absl::Status CheckNodes(const std::string& what, int64_t switches, int64_t hosts) {
  if (switches + hosts <= kMaxNodes) return absl::OkStatus();
  return InvalidArgument("{}: {} switches and {} HCAs are more than {} nodes", what, switches,
                         hosts, kMaxNodes);
}

absl::StatusOr<int> RadixFor(int radix, int64_t needed, const std::string& what) {
  if (radix != 0) FABRICD_RETURN_IF_ERROR(CheckRange("radix", radix, 2, kMaxRadix));
  if (needed <= (radix != 0 ? radix : kMaxRadix)) {
    return radix != 0 ? radix : static_cast<int>(needed);
  }
  return InvalidArgument("{} need {} ports of a switch, and radix is {}", what, needed,
                         radix != 0 ? radix : kMaxRadix);
}

NodeIndex FabricBuilder::AddSwitch(Guid guid, int ports, std::string description) {
  return Add(wire::NodeType::kSwitch, guid, guid, ports, std::move(description));
}

NodeIndex FabricBuilder::AddHca(int host, int rail) {
  return Add(wire::NodeType::kChannelAdapter, HostGuid(host, rail), HostGuid(host, 0), 1,
             fmt::format("node{:04} mlx5_{}", host, rail));
}

void FabricBuilder::AddHosts(NodeIndex leaf, int first, int count) {
  for (int i = 0; i < count; ++i) Cable(AddHca(first + i, 0), 1, leaf, i + 1);
}

void FabricBuilder::Cable(NodeIndex a, int port_a, NodeIndex b, int port_b) {
  const PortRef ends[] = {{a, PortNum(static_cast<uint8_t>(port_a))},
                          {b, PortNum(static_cast<uint8_t>(port_b))}};
  builder_.Link(ends[0], ends[1]);
  for (PortRef end : ends) builder_.SetPortInfo(end, LinkedPort(end.port));
}

NodeIndex FabricBuilder::Add(wire::NodeType type, Guid guid, Guid system, int ports,
                             std::string description) {
  const bool is_switch = type == wire::NodeType::kSwitch;
  wire::NodeInfo info;
  info.node_type = type;
  info.num_ports = static_cast<uint8_t>(ports);
  info.system_image_guid = system;
  info.node_guid = guid;
  info.port_guid = is_switch ? guid : Guid(guid.value() + 1);
  info.local_port = PortNum(is_switch ? 0 : 1);
  info.device_id = DeviceId(is_switch, speed_);
  info.vendor_id = kVendor;
  const NodeIndex node = builder_.PutNode(info);
  builder_.SetDescription(node, std::move(description));
  builder_.SetPortGuid({node, info.local_port}, info.port_guid);
  if (!is_switch) return node;
  wire::PortInfo port0;
  port0.port_state = wire::PortState::kActive;
  port0.port_physical_state = wire::PortPhysicalState::kLinkUp;
  builder_.SetPortInfo({node, PortNum(0)}, port0);
  builder_.SetSwitchInfo(node, wire::SwitchInfo());
  for (int port = 1; port <= ports; ++port) {
    const PortNum number(static_cast<uint8_t>(port));
    builder_.SetPortInfo({node, number}, FreePort(number));
  }
  return node;
}

wire::PortInfo FabricBuilder::FreePort(PortNum number) const {
  wire::PortInfo info;
  info.local_port = number;
  info.port_state = wire::PortState::kDown;
  info.port_physical_state = wire::PortPhysicalState::kPolling;
  SetSupportedRate(info, speed_, kLanes);
  return info;
}

wire::PortInfo FabricBuilder::LinkedPort(PortNum number) const {
  wire::PortInfo info = FreePort(number);
  info.port_state = wire::PortState::kInit;
  info.port_physical_state = wire::PortPhysicalState::kLinkUp;
  SetActiveRate(info, speed_, kLanes);
  return info;
}

}  // namespace fabricd::sim
