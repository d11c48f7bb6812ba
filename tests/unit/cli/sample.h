// SPDX-License-Identifier: Apache-2.0
// Answers as a daemon would give them for a small fabric with something wrong in it.
#pragma once

#include <string>

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "fabric/v1/topology_service.pb.h"

namespace fabricd::cli::testing {

namespace pb = ::fabric::v1;

template <typename Message>
Message FromText(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

inline pb::ListNodesResponse SampleNodes() {
  return FromText<pb::ListNodesResponse>(R"(
    nodes { guid: "0x0000000000200000" name: "leaf1" description: "leaf1" type: "SWITCH"
            system_guid: "0x0000000000200000" vendor_id: 0x2c9 device_id: 54000 num_ports: 40
            ports_active: 36 ports_linked: 36 end_ports { guid: "0x0000000000200000" lid: 1 }
            switch_details { linear_fdb_cap: 49152 linear_fdb_top: 42 multicast_fdb_cap: 16384
                             enhanced_port0: true } }
    nodes { guid: "0x0000000000200100" name: "leaf2" description: "MF0;leaf2:MQM8700/U1" type:
      "SWITCH"
            vendor_id: 0x2c9 device_id: 54000 num_ports: 40 ports_active: 35 ports_linked: 36
            end_ports { guid: "0x0000000000200100" lid: 2 } links_degraded: 1 }
    nodes { guid: "0x0000000000100000" name: "node1 mlx5_0" description: "node1 mlx5_0" type: "CA"
            vendor_id: 0x2c9 device_id: 4129 num_ports: 2 ports_active: 2 ports_linked: 2
            end_ports { node_guid: "0x0000000000100000" number: 1 guid: "0x0000000000100001" lid:
              8 lmc: 2 }
            end_ports { node_guid: "0x0000000000100000" number: 2 guid: "0x0000000000100002" lid:
              12 }
            host: "node1" links_degraded: 1 }
    nodes { guid: "0x0000000000100100" name: "node2 mlx5_0" type: "CA" num_ports: 1
            end_ports { number: 1 guid: "0x0000000000100101" } host: "node2" }
    total_size: 4 generation: 7)");
}

inline pb::ListHostsResponse SampleHosts() {
  return FromText<pb::ListHostsResponse>(R"(
    hosts { name: "node1" hcas: 2 ports_active: 2
            ports { port { guid: "0x0000000000100001" lid: 8 number: 1 } device: "mlx5_0" rail: 0
                    rail_known: true state: "ACTIVE" rate_gbps: 400
                    peer { node_guid: "0x0000000000200000" node_name: "leaf1" number: 3 } }
            ports { port { guid: "0x0000000000100101" lid: 9 number: 1 } device: "mlx5_1" rail: 1
                    rail_known: true state: "ACTIVE" rate_gbps: 400
                    peer { node_guid: "0x0000000000200100" node_name: "leaf2" number: 3 } } }
    hosts { name: "node10" hcas: 1 ports { port { guid: "0x0000000000100201" number: 1 } state:
      "DOWN" } }
    total_size: 2 generation: 7)");
}

inline pb::ListPortsResponse SamplePorts() {
  return FromText<pb::ListPortsResponse>(R"(
    ports { id { node_guid: "0x0000000000200000" node_name: "leaf1" node_type: "SWITCH" number: 3 }
            name: "leaf1/3" known: true state: "ACTIVE" physical_state: "LinkUp" width: 4 speed:
              "NDR"
            rate_gbps: 400 mtu: 4096 vls: 4 width_supported: 4 speed_supported: "NDR"
            peer { node_guid: "0x0000000000100000" node_name: "node1 mlx5_0" node_type: "CA"
              number: 1 } }
    ports { id { node_guid: "0x0000000000200000" node_name: "leaf1" node_type: "SWITCH" number: 4 }
            name: "leaf1/4" known: true state: "ACTIVE" physical_state: "LinkUp" width: 1 speed:
              "NDR"
            rate_gbps: 100 degraded: true mtu: 4096 vls: 4 width_supported: 4 speed_supported: "NDR"
            peer { node_guid: "0x0000000000200200" node_name: "spine" node_type: "SWITCH" number:
              9 } }
    ports { id { node_guid: "0x0000000000200000" node_name: "leaf1" node_type: "SWITCH" number: 5 }
            name: "leaf1/5" known: true state: "DOWN" physical_state: "Polling" width_supported: 4
            speed_supported: "NDR" }
    ports { id { node_guid: "0x0000000000100000" node_name: "node1 mlx5_0" node_type: "CA"
      number: 1 }
            name: "node1 mlx5_0/1" known: true state: "INIT" physical_state: "LinkUp" width: 4
              speed: "NDR"
            rate_gbps: 400 mtu: 4096 mtu_supported: 4096 vls: 4 vls_supported: 8 width_supported: 4
            speed_supported: "NDR" sm_lid: 4 capability_mask: 0x2651e84a capability_mask2: 0x36
              hoq_life: 16
            subnet_timeout: 18 p_key_violations: 3
            end_port { node_guid: "0x0000000000100000" number: 1 guid: "0x0000000000100001" lid:
              8 lmc: 2 }
            peer { node_guid: "0x0000000000200000" node_name: "leaf1" node_type: "SWITCH" number:
              3 } }
    ports { id { node_guid: "0x0000000000100000" node_name: "node1 mlx5_0" node_type: "CA"
      number: 2 }
            name: "node1 mlx5_0/2" }
    total_size: 5 generation: 7)");
}

inline pb::ListLinksResponse SampleLinks() {
  return FromText<pb::ListLinksResponse>(R"(
    links { a { node_guid: "0x0000000000200000" node_name: "leaf1" number: 3 }
            b { node_guid: "0x0000000000100000" node_name: "node1 mlx5_0" number: 1 }
            state: "ACTIVE" physical_state: "LinkUp" width: 4 speed: "NDR" rate_gbps: 400
            width_supported: 4 speed_supported: "NDR" }
    links { a { node_guid: "0x0000000000200000" node_name: "leaf1" number: 4 }
            b { node_guid: "0x0000000000200200" node_name: "spine" number: 9 }
            state: "ACTIVE" physical_state: "LinkUp" width: 1 speed: "SDR" rate_gbps: 2.5
            width_supported: 4 speed_supported: "NDR" degraded: true }
    links { a { node_guid: "0x0000000000200000" node_name: "leaf1" number: 6 }
            b { node_guid: "0x0000000000200200" node_name: "spine" number: 11 } }
    total_size: 3 generation: 7)");
}

inline pb::GetSmResponse SampleSm() {
  return FromText<pb::GetSmResponse>(R"(
    state: "MASTER" guid: "0x0000000000100001" lid: 4 priority: 5 subnet_up: true generation: 7
    engine: "up_down" phase: "IDLE" version: "1.2.3" nodes: 6 switches: 3 hosts: 2 links: 5
    links_degraded: 1 ports_active: 10 end_ports: 6 sweeps_done: 2 node_name: "node1 mlx5_0"
      lanes: 1
    last_sweep { kind: "HEAVY" duration_ms: 12.5 smps_sent: 120 sets_sent: 40 timeouts: 1
                 smps_by_attribute { key: "Get PortInfo" value: 30 }
                 smps_by_attribute { key: "Get NodeInfo" value: 6 } }
    chain { engine: "rail" reason: "not a rail-optimised tree" }
    chain { engine: "up_down" chosen: true }
    routing_notes: "roots found: spine"
    remote_sms { port { node_guid: "0x0000000000100200" node_name: "node2 mlx5_0" number: 1 }
                 guid: "0x0000000000100201" priority: 3 state: "STANDBY" activity_count: 42 }
    problems { kind: "Unresponsive" subject: "node9 mlx5_0/1" message: "no answer to 3 Gets" })");
}

inline pb::GetForwardingTableResponse SampleRoutes() {
  return FromText<pb::GetForwardingTableResponse>(R"(
    node { node_guid: "0x0000000000200000" node_name: "leaf1" guid: "0x0000000000200000" lid: 1073 }
    lid_top: 1077
    entries { lid: 1073 routed: true port: 0 destination_type: "SWITCH"
              destination { node_name: "leaf1" guid: "0x0000000000200000" lid: 1073 } }
    entries { lid: 1074 routed: true port: 1 destination_type: "CA"
              destination { node_name: "node1 mlx5_0" guid: "0x0000000000100001" lid: 1074 } }
    entries { lid: 1075 routed: true port: 3 destination_type: "SWITCH"
              destination { node_name: "leaf2" guid: "0x0000000000200001" lid: 1075 } }
    entries { lid: 1076 destination_type: "CA"
              destination { node_name: "node2 mlx5_0" guid: "0x0000000000100003" lid: 1076 } }
    total_size: 4 generation: 7)");
}

inline pb::TracePathResponse SampleTrace() {
  return FromText<pb::TracePathResponse>(R"(
    source { node_guid: "0x0000000000100000" number: 1 lid: 1074 }
    destination { node_guid: "0x0000000000100004" number: 1 lid: 1077 }
    paths { destination_lid: 1077 reachable: true
            hops { node_guid: "0x0000000000100000" node_name: "node1 mlx5_0" node_type: "CA" lid:
              1074
                   egress_port: 1 port_guid: "0x0000000000100001" }
            hops { node_guid: "0x0000000000200000" node_name: "leaf1" node_type: "SWITCH" lid: 1073
                   ingress_port: 1 egress_port: 3 port_guid: "0x0000000000200000" }
            hops { node_guid: "0x0000000000200001" node_name: "leaf2" node_type: "SWITCH" lid: 1075
                   ingress_port: 3 egress_port: 1 port_guid: "0x0000000000200001" }
            hops { node_guid: "0x0000000000100004" node_name: "node3 mlx5_0" node_type: "CA" lid:
              1077
                   ingress_port: 1 port_guid: "0x0000000000100005" } }
    generation: 7)");
}

}  // namespace fabricd::cli::testing
