// SPDX-License-Identifier: Apache-2.0
// A fabric of two units of three hosts with two rails, four leaves and two spines, with something
// wrong in it: node2 has lost rail 1, node5's rail 1 hangs on the other unit's leaf, one cable to a
// spine is slow, one is down, and node9 has no cable at all.
#pragma once

#include <fmt/format.h>

#include "tests/unit/cli/sample.h"

namespace fabricd::cli::testing {

class TopologyMaker {
 public:
  pb::Node* Switch(const std::string& name, uint32_t tier, int rail) {
    pb::Node* node = topology.add_nodes();
    node->set_guid(fmt::format("0x{:016x}", 0x200000 + topology.nodes_size()));
    node->set_name(name);
    node->set_type("SWITCH");
    node->set_role(tier == 1 ? "leaf" : "spine");
    node->set_tier(tier);
    node->set_num_ports(8);
    node->set_ports_active(5);
    if (rail >= 0) node->set_rail(static_cast<uint32_t>(rail));
    return node;
  }
  // Cabled to these leaves, a port each; null: that port is free.
  void Host(const std::string& name, const std::vector<pb::Node*>& leaves) {
    pb::Host* host = topology.add_hosts();
    host->set_name(name);
    for (size_t rail = 0; rail < leaves.size(); ++rail) {
      pb::HostPort* port = host->add_ports();
      port->mutable_port()->set_node_guid(
          fmt::format("0x{:016x}", 0x100000 + 16 * topology.hosts_size() + rail));
      port->set_rail(static_cast<uint32_t>(rail));
      port->set_rail_known(true);
      port->set_state(leaves[rail] ? "ACTIVE" : "DOWN");
      host->set_hcas(host->hcas() + 1);
      if (!leaves[rail]) continue;
      host->set_ports_active(host->ports_active() + 1);
      pb::Link* link = Link(leaves[rail]);
      link->mutable_b()->set_node_guid(port->port().node_guid());
      link->mutable_b()->set_node_name(fmt::format("{} mlx5_{}", name, rail));
      link->mutable_b()->set_node_type("CA");
      link->mutable_b()->set_number(1);
    }
  }
  pb::Link* Link(pb::Node* a) {
    pb::Link* link = topology.add_links();
    link->mutable_a()->set_node_guid(a->guid());
    link->mutable_a()->set_node_name(a->name());
    link->mutable_a()->set_node_type("SWITCH");
    link->mutable_a()->set_number(static_cast<uint32_t>(topology.links_size()));
    link->set_state("ACTIVE");
    return link;
  }
  pb::Link* Link(pb::Node* a, pb::Node* b) {
    pb::Link* link = Link(a);
    link->mutable_b()->set_node_guid(b->guid());
    link->mutable_b()->set_node_name(b->name());
    link->mutable_b()->set_node_type("SWITCH");
    link->mutable_b()->set_number(link->a().number());
    return link;
  }

  pb::Topology topology;
};

inline pb::Topology SampleTopology() {
  TopologyMaker maker;
  maker.topology.mutable_nodes()->Reserve(16);  // Its elements stay where they are.
  std::vector<pb::Node*> leaf[2];
  for (int unit = 0; unit < 2; ++unit)
    for (int rail = 0; rail < 2; ++rail)
      leaf[unit].push_back(maker.Switch(fmt::format("su{}-rail{}-leaf", unit + 1, rail), 1, rail));
  for (int i = 1; i <= 6; ++i) {
    std::vector<pb::Node*> ends = leaf[i > 3];
    if (i == 2) ends[1] = nullptr;
    if (i == 5) ends[1] = leaf[0][1];
    maker.Host(fmt::format("node{}", i), ends);
  }
  maker.Host("node9", {nullptr, nullptr});
  for (const char* name : {"spine1", "spine2"}) {
    pb::Node* spine = maker.Switch(name, 2, -1);
    for (int unit = 0; unit < 2; ++unit)
      for (pb::Node* each : leaf[unit])
        for (int cable = 0; cable < 2; ++cable) maker.Link(each, spine);
  }
  auto& links = *maker.topology.mutable_links();
  links[links.size() - 1].set_degraded(true);
  links[links.size() - 3].set_state("DOWN");
  links[links.size() - 4].set_state("DOWN");
  maker.topology.mutable_hosts(0)->add_held(pb::HOLD_KIND_CORDON);
  return maker.topology;
}

}  // namespace fabricd::cli::testing
