// SPDX-License-Identifier: Apache-2.0
// Two switches with a cable between them and hosts behind them, every port read and INIT.
#pragma once

#include "fabric/snapshot_builder.h"

namespace fabricd::sweep {

struct SmallFabric {
  fabric::SnapshotBuilder builder;
  NodeIndex switches[2];
  std::vector<NodeIndex> hosts;

  static wire::PortInfo Up() {
    wire::PortInfo info;
    info.port_state = wire::PortState::kInit;
    info.port_physical_state = wire::PortPhysicalState::kLinkUp;
    info.mtu_cap = 5;
    info.vl_cap = 4;
    return info;
  }

  // Host i is attached to switch i % 2. GUIDs: hosts 0x100 + i, their ports 0x1000 + i, switches
  // 0x10 and 0x11.
  explicit SmallFabric(int host_count) {
    for (int i : {0, 1}) {
      wire::NodeInfo info;
      info.node_type = wire::NodeType::kSwitch;
      info.num_ports = 36;
      info.node_guid = info.port_guid = Guid(0x10 + static_cast<uint64_t>(i));
      switches[i] = builder.PutNode(info);
      builder.SetSwitchInfo(switches[i], {});
      builder.SetPortInfo({switches[i], PortNum(0)}, Up());
      builder.SetPortGuid({switches[i], PortNum(0)}, info.node_guid);
    }
    Cable({switches[0], PortNum(36)}, {switches[1], PortNum(36)});
    for (int i = 0; i < host_count; ++i) {
      wire::NodeInfo info;
      info.node_type = wire::NodeType::kChannelAdapter;
      info.num_ports = 1;
      info.node_guid = Guid(0x100 + static_cast<uint64_t>(i));
      info.port_guid = Guid(0x1000 + static_cast<uint64_t>(i));
      info.local_port = PortNum(1);
      hosts.push_back(builder.PutNode(info));
      builder.SetPortGuid({hosts.back(), PortNum(1)}, info.port_guid);
      Cable({hosts.back(), PortNum(1)},
            {switches[i % 2], PortNum(static_cast<uint8_t>(i / 2 + 1))});
    }
  }
  void Cable(PortRef a, PortRef b) {
    builder.SetPortInfo(a, Up());
    builder.SetPortInfo(b, Up());
    builder.Link(a, b);
  }
  PortRef Host(size_t i) const { return {hosts[i], PortNum(1)}; }
};

}  // namespace fabricd::sweep
