// SPDX-License-Identifier: Apache-2.0
// A program on a host port of a SimFabric, for tests: single SMPs, a breadth-first discovery, and a
// subnet manager as dumb as can be (LIDs in order of discovery, shortest paths, one SMP at a time).
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "sim/fabric/sim_fabric.h"
#include "sim/generate/generate.h"

namespace fabricd::sim {

inline constexpr Duration kTestTimeout = std::chrono::milliseconds(100);

inline wire::Smp DecodeSmp(const std::vector<uint8_t>& payload) {
  return *wire::Smp::Decode(
      std::span<const uint8_t, wire::kMadBytes>(payload.data(), wire::kMadBytes));
}

inline mad::OutgoingMad EncodeSmp(const wire::Smp& smp, Duration timeout, Lid to = kPermissiveLid) {
  mad::OutgoingMad mad;
  mad.agent = smp.path ? mad::Agent::kSmpDirected : mad::Agent::kSmpLid;
  mad.to.lid = to;
  mad.timeout = timeout;
  mad.payload.resize(wire::kMadBytes);
  smp.Encode(std::span<uint8_t, wire::kMadBytes>(mad.payload.data(), wire::kMadBytes));
  return mad;
}

struct Answer {
  bool timed_out = false;
  uint16_t status = 0xFFFF;
  wire::Smp smp;
  template <typename Attribute>
  Attribute As() const {
    return Attribute::Decode(smp.data);
  }
  bool ok() const { return !timed_out && status == wire::kStatusOk; }
};

class TestClient {
 public:
  TestClient(SimFabric& fabric, PortRef host) : fabric_(fabric), host_(host) {
    fabric.Attach(host);
  }

  Answer Exchange(wire::Smp smp, Lid to = kPermissiveLid) {
    smp.tid = TransactionId(++tid_);
    smp.m_key = m_key;
    const std::vector<mad::IncomingMad> arrived =
        fabric_.Exchange(now, host_, EncodeSmp(smp, kTestTimeout, to));
    Answer answer;
    for (const mad::IncomingMad& mad : arrived) {
      if (&mad != &arrived.back()) unsolicited.push_back(mad);
    }
    answer.timed_out = arrived.back().kind == mad::IncomingMad::Kind::kTimedOut;
    if (answer.timed_out) now += kTestTimeout;
    answer.smp = DecodeSmp(arrived.back().payload);
    if (!answer.timed_out) answer.status = answer.smp.status;
    return answer;
  }
  Answer Get(const wire::DirectedPath& path, wire::AttributeId attribute, uint32_t modifier = 0) {
    wire::Smp smp;
    smp.method = wire::Method::kGet;
    smp.attribute = attribute;
    smp.modifier = modifier;
    smp.path = path;
    return Exchange(smp);
  }
  template <typename Attribute>
  Answer Set(const wire::DirectedPath& path, const Attribute& value, uint32_t modifier = 0) {
    wire::Smp smp;
    smp.method = wire::Method::kSet;
    smp.attribute = Attribute::kAttribute;
    smp.modifier = modifier;
    smp.path = path;
    value.Encode(smp.data);
    return Exchange(smp);
  }
  wire::PortInfo PortInfoOf(const wire::DirectedPath& path, uint32_t port) {
    return Get(path, wire::AttributeId::kPortInfo, port).As<wire::PortInfo>();
  }
  // A Set of the PortInfo as read with PortState and PortPhysicalState 0, after `change`.
  template <typename Change>
  Answer ChangePort(const wire::DirectedPath& path, uint32_t port, Change&& change) {
    wire::PortInfo info = PortInfoOf(path, port & 0xFF);
    info.port_state = wire::PortState::kNoChange;
    info.port_physical_state = wire::PortPhysicalState::kNoChange;
    change(info);
    return Set(path, info, port);
  }
  // What arrived or happened until `until`.
  std::vector<Delivery> Wait(Instant until) {
    std::vector<Delivery> out;
    while (fabric_.next_event() <= until) fabric_.Advance(fabric_.next_event(), out);
    now = std::max(now, until);
    fabric_.Advance(now, out);
    return out;
  }

  Instant now{};
  MKey m_key;
  std::vector<mad::IncomingMad> unsolicited;

 private:
  SimFabric& fabric_;
  PortRef host_;
  uint32_t tid_ = 0;
};

// What a breadth-first walk by directed routes finds.
struct Discovered {
  struct Node {
    wire::NodeInfo info;
    wire::DirectedPath path;
    std::map<uint8_t, std::pair<Guid, uint8_t>> links;  // By port: peer and its port.
  };
  std::map<Guid, Node> nodes;
  std::vector<Guid> order;
};

inline Discovered Discover(TestClient& client) {
  Discovered found;
  std::deque<Guid> queue;
  const auto visit = [&](const wire::DirectedPath& path) {
    const Answer answer = client.Get(path, wire::AttributeId::kNodeInfo);
    if (!answer.ok()) return std::optional<wire::NodeInfo>();
    const auto info = answer.As<wire::NodeInfo>();
    if (found.nodes.emplace(info.node_guid, Discovered::Node{info, path, {}}).second) {
      found.order.push_back(info.node_guid);
      queue.push_back(info.node_guid);
    }
    return std::optional(info);
  };
  const auto own = visit({});
  while (!queue.empty()) {
    const Guid guid = queue.front();
    queue.pop_front();
    const Discovered::Node node = found.nodes.at(guid);
    const bool is_switch = node.info.node_type == wire::NodeType::kSwitch;
    if (!is_switch && guid != own->node_guid) continue;
    for (int number = 1; number <= node.info.num_ports; ++number) {
      if (!is_switch && number != node.info.local_port.value()) continue;
      const uint8_t port = static_cast<uint8_t>(number);
      const wire::PortInfo state = client.PortInfoOf(node.path, port);
      if (state.port_state < wire::PortState::kInit) continue;
      const auto peer = visit(node.path.Then(PortNum(port)));
      if (!peer) continue;
      found.nodes.at(guid).links[port] = {peer->node_guid, peer->local_port.value()};
      found.nodes.at(peer->node_guid).links[peer->local_port.value()] = {guid, port};
    }
  }
  return found;
}

// Brings everything that Discover finds to ACTIVE. LIDs: order of discovery from 1.
class TinySm {
 public:
  explicit TinySm(TestClient& client) : client_(client), found(Discover(client)) {}

  // False when a device refused or did not answer a Set.
  bool BringUp() {
    uint16_t next = 1;
    for (Guid guid : found.order) lid[guid] = Lid(next++);
    return AssignLids() && WriteTables() && SetStates(wire::PortState::kArmed) &&
           SetStates(wire::PortState::kActive);
  }

 private:
  // The LID of a node is its place in `found.order`, from 1.
  bool WriteTables() {
    std::map<Guid, size_t> place;
    for (Guid guid : found.order) place.emplace(guid, place.size());
    std::vector<Neighbours> graph;
    for (Guid guid : found.order) {
      const Discovered::Node& node = found.nodes.at(guid);
      Neighbours& here = graph.emplace_back();
      here.is_switch = node.info.node_type == wire::NodeType::kSwitch;
      for (const auto& [port, peer] : node.links)
        here.links.emplace_back(port, place.at(peer.first));
    }
    for (size_t at = 0; at < graph.size(); ++at) {
      if (graph[at].is_switch && !WriteTable(at, NextHops(graph, at))) return false;
    }
    return true;
  }
  bool WriteTable(size_t at, const std::vector<uint8_t>& hops) {
    const wire::DirectedPath& path = found.nodes.at(found.order[at]).path;
    auto info = client_.Get(path, wire::AttributeId::kSwitchInfo).As<wire::SwitchInfo>();
    info.linear_fdb_top = static_cast<uint16_t>(hops.size());
    info.port_state_change = true;
    if (!client_.Set(path, info).ok()) return false;
    for (size_t block = 0; block <= hops.size() / 64; ++block) {
      wire::LinearForwardingTable table;
      table.port.fill(wire::LinearForwardingTable::kNoPath);
      for (size_t i = 0; i < table.port.size(); ++i) {
        const size_t its_lid = block * 64 + i;
        if (its_lid >= 1 && its_lid <= hops.size()) table.port[i] = hops[its_lid - 1];
      }
      if (!client_.Set(path, table, static_cast<uint32_t>(block)).ok()) return false;
    }
    return true;
  }
  bool AssignLids() {
    const Lid sm = lid.at(found.order.front());
    // The second port of an HCA gets a LID that no table knows: its own link needs one to be armed.
    uint16_t spare = static_cast<uint16_t>(found.order.size() + 1);
    for (Guid guid : found.order) {
      const Discovered::Node& node = found.nodes.at(guid);
      const bool is_switch = node.info.node_type == wire::NodeType::kSwitch;
      const uint8_t main_port = is_switch ? 0 : node.info.local_port.value();
      std::map<uint8_t, Lid> ports{{main_port, lid.at(guid)}};
      for (const auto& [port, peer] : node.links) {
        if (!is_switch && port != main_port) ports.emplace(port, Lid(spare++));
      }
      for (const auto& [port, its_lid] : ports) {
        if (!client_
                 .ChangePort(node.path, port,
                             [&, own = its_lid](wire::PortInfo& info) {
                               info.lid = own;
                               info.lmc = 0;
                               info.master_sm_lid = sm;
                             })
                 .ok()) {
          return false;
        }
      }
    }
    return true;
  }
  bool SetStates(wire::PortState state) {
    for (Guid guid : found.order) {
      const Discovered::Node& node = found.nodes.at(guid);
      for (const auto& [port, peer] : node.links) {
        if (!client_
                 .ChangePort(node.path, port,
                             [&](wire::PortInfo& info) { info.port_state = state; })
                 .ok()) {
          return false;
        }
      }
    }
    return true;
  }
  struct Neighbours {
    bool is_switch = false;
    std::vector<std::pair<uint8_t, size_t>> links;  // Port and the place of the peer.
  };
  // Egress port towards each node, by breadth-first search over the switches.
  static std::vector<uint8_t> NextHops(const std::vector<Neighbours>& graph, size_t from) {
    std::vector<uint8_t> hop(graph.size(), wire::LinearForwardingTable::kNoPath);
    hop[from] = 0;
    std::vector<size_t> queue{from};
    for (size_t next = 0; next < queue.size(); ++next) {
      const size_t at = queue[next];
      if (!graph[at].is_switch) continue;
      for (const auto& [port, peer] : graph[at].links) {
        if (hop[peer] != wire::LinearForwardingTable::kNoPath) continue;
        hop[peer] = at == from ? port : hop[at];
        queue.push_back(peer);
      }
    }
    return hop;
  }

  TestClient& client_;

 public:
  Discovered found;
  std::map<Guid, Lid> lid;
};

}  // namespace fabricd::sim
