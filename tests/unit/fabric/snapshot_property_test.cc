// SPDX-License-Identifier: Apache-2.0
// Random edits against an oracle that is nothing but maps, over several generations.
#include <map>
#include <optional>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "fabric/snapshot_builder.h"

namespace fabricd::fabric {
namespace {

struct Edit {
  enum Kind { kPut, kRemove, kDescribe, kSetPort, kForgetPort, kLink, kUnlink, kBuild, kKinds };
  int kind = kPut;
  uint64_t guid_a = 1, guid_b = 1;
  uint8_t port_a = 1, port_b = 1;
  uint8_t ports = 1;
  int value = 0;
};

std::ostream& operator<<(std::ostream& out, const Edit& e) {
  return out << "{kind " << e.kind << " a " << e.guid_a << "/" << int(e.port_a) << " b " << e.guid_b
             << "/" << int(e.port_b) << " ports " << int(e.ports) << " value " << e.value << "}";
}

using PortKey = std::pair<uint64_t, int>;  // Node GUID, port number.

struct OracleNode {
  wire::NodeInfo info;
  std::string description;
  std::map<int, int> known;  // Port number to LID.
};

// What the fabric should be, by GUID; no indices, no sharing.
struct Oracle {
  std::map<uint64_t, OracleNode> nodes;
  std::map<uint64_t, uint32_t> indices;  // Grown only.
  std::map<PortKey, PortKey> links;      // Both directions.

  void Cut(PortKey port) {
    if (const auto found = links.find(port); found != links.end()) {
      const PortKey peer = found->second;
      links.erase(port);
      links.erase(peer);
    }
  }
  void CutAll(uint64_t guid) {
    for (int port = 0; port < 256; ++port) Cut({guid, port});
  }
  bool HasPort(PortKey port) const {
    const auto found = nodes.find(port.first);
    return found != nodes.end() && port.second <= found->second.info.num_ports;
  }
  void Apply(const Edit& edit, const wire::NodeInfo& info);
};

wire::NodeInfo InfoOf(const Edit& edit) {
  wire::NodeInfo info;
  info.node_guid = Guid(edit.guid_a);
  info.node_type = edit.guid_a % 2 ? wire::NodeType::kSwitch : wire::NodeType::kChannelAdapter;
  info.num_ports = edit.ports;
  info.device_id = static_cast<uint16_t>(edit.value);
  return info;
}

void Oracle::Apply(const Edit& edit, const wire::NodeInfo& info) {
  const PortKey a{edit.guid_a, edit.port_a}, b{edit.guid_b, edit.port_b};
  const auto node = nodes.find(edit.guid_a);
  switch (edit.kind) {
    case Edit::kPut:
      indices.emplace(edit.guid_a, static_cast<uint32_t>(indices.size()));
      if (node != nodes.end() && node->second.info.num_ports == info.num_ports) {
        node->second.info = info;
      } else {
        CutAll(edit.guid_a);
        nodes[edit.guid_a] = {info, "", {}};
      }
      break;
    case Edit::kRemove:
      CutAll(edit.guid_a);
      nodes.erase(edit.guid_a);
      break;
    case Edit::kDescribe:
      if (node != nodes.end()) node->second.description = std::to_string(edit.value);
      break;
    case Edit::kSetPort:
      if (HasPort(a)) node->second.known[edit.port_a] = edit.value;
      break;
    case Edit::kForgetPort:
      if (HasPort(a)) node->second.known.erase(edit.port_a);
      break;
    case Edit::kLink:
      if (!HasPort(a) || !HasPort(b) || a == b || !edit.port_a || !edit.port_b) break;
      Cut(a);
      Cut(b);
      links[a] = b;
      links[b] = a;
      break;
    case Edit::kUnlink: Cut(a); break;
    default: break;
  }
}

void ApplyTo(SnapshotBuilder& builder, const Edit& edit, const wire::NodeInfo& info) {
  const NodeIndex a = builder.FindIndex(Guid(edit.guid_a));
  const NodeIndex b = builder.FindIndex(Guid(edit.guid_b));
  const PortRef port_a{a, PortNum(edit.port_a)}, port_b{b, PortNum(edit.port_b)};
  switch (edit.kind) {
    case Edit::kPut: builder.PutNode(info); break;
    case Edit::kRemove: builder.RemoveNode(a); break;
    case Edit::kDescribe: builder.SetDescription(a, std::to_string(edit.value)); break;
    case Edit::kSetPort: {
      wire::PortInfo port_info;
      port_info.lid = Lid(static_cast<uint16_t>(edit.value));
      builder.SetPortInfo(port_a, port_info);
      break;
    }
    case Edit::kForgetPort: builder.SetPortUnknown(port_a); break;
    case Edit::kLink: builder.Link(port_a, port_b); break;
    case Edit::kUnlink: builder.Unlink(port_a); break;
    default: break;
  }
}

void CheckAgainst(const Oracle& oracle, const FabricSnapshot& snapshot) {
  RC_ASSERT(snapshot.node_count() == oracle.nodes.size());
  RC_ASSERT(snapshot.node_index_end() == oracle.indices.size());
  size_t switches = 0, visited = 0;
  snapshot.ForEachNode([&](const Node&) { ++visited; });
  RC_ASSERT(visited == oracle.nodes.size());
  for (const auto& [guid, index] : oracle.indices) {
    RC_ASSERT(snapshot.FindIndex(Guid(guid)) == NodeIndex(index));
    const auto expected = oracle.nodes.find(guid);
    const Node* node = snapshot.node(NodeIndex(index));
    RC_ASSERT((node != nullptr) == (expected != oracle.nodes.end()));
    RC_ASSERT(snapshot.FindNode(Guid(guid)) == node);
    if (!node) continue;
    switches += node->IsSwitch();
    RC_ASSERT(node->index == NodeIndex(index));
    RC_ASSERT(node->info == expected->second.info);
    RC_ASSERT(node->description == expected->second.description);
    RC_ASSERT(node->ports.size() == size_t{node->info.num_ports} + 1);
    for (int number = 0; number <= node->info.num_ports; ++number) {
      const Port& port = node->ports[static_cast<size_t>(number)];
      const auto known = expected->second.known.find(number);
      RC_ASSERT(port.known == (known != expected->second.known.end()));
      if (port.known) RC_ASSERT(port.info.lid.value() == known->second);
      const auto link = oracle.links.find({guid, number});
      RC_ASSERT(port.peer.IsNone() == (link == oracle.links.end()));
      if (port.peer.IsNone()) continue;
      RC_ASSERT(port.peer.node == NodeIndex(oracle.indices.at(link->second.first)));
      RC_ASSERT(port.peer.port.value() == link->second.second);
    }
  }
  RC_ASSERT(snapshot.switch_count() == switches);
}

// Diff() against the plainest comparison of the two.
void CheckDiff(const FabricSnapshot& before, const FabricSnapshot& after) {
  const SnapshotDiff diff = Diff(before, after);
  size_t added = 0, removed = 0, changed = 0;
  std::map<std::pair<PortRef, PortRef>, int> gained_or_lost;
  for (uint32_t i = 0; i < after.node_index_end(); ++i) {
    const Node* was = before.node(NodeIndex(i));
    const Node* is = after.node(NodeIndex(i));
    added += !was && is;
    removed += was && !is;
    changed += was && is && !(*was == *is);
    // Nodes that are equal are the same object.
    if (was && is && *was == *is) RC_ASSERT(was == is);
    for (const auto& [node, sign] : {std::pair(was, -1), std::pair(is, 1)}) {
      if (!node) continue;
      for (size_t p = 1; p < node->ports.size(); ++p) {
        const PortRef self{node->index, PortNum(static_cast<uint8_t>(p))};
        const PortRef peer = node->ports[p].peer;
        if (!peer.IsNone() && self < peer) gained_or_lost[{self, peer}] += sign;
      }
    }
  }
  RC_ASSERT(diff.added.size() == added);
  RC_ASSERT(diff.removed.size() == removed);
  RC_ASSERT(diff.changed.size() == changed);
  size_t expected_links = 0;
  for (const auto& [link, sign] : gained_or_lost) {
    if (sign == 0) continue;
    ++expected_links;
    RC_ASSERT(std::any_of(diff.links.begin(), diff.links.end(), [&](const auto& change) {
      return change.a == link.first && change.b == link.second;
    }));
  }
  // Ports never come up in this test, so no link changes its state alone.
  RC_ASSERT(diff.links.size() == expected_links);
  RC_ASSERT(diff.empty() ==
            (before.generation() == after.generation() || (added + removed + changed) == 0));
}

rc::Gen<Edit> AnyEdit() {
  // Port counts follow the GUID mostly, so that links live long enough to matter.
  return rc::gen::map(
      rc::gen::tuple(rc::gen::weightedElement<int>({{4, Edit::kPut},
                                                    {1, Edit::kRemove},
                                                    {1, Edit::kDescribe},
                                                    {3, Edit::kSetPort},
                                                    {1, Edit::kForgetPort},
                                                    {6, Edit::kLink},
                                                    {1, Edit::kUnlink},
                                                    {2, Edit::kBuild}}),
                     rc::gen::inRange<uint64_t>(1, 100), rc::gen::inRange<uint64_t>(1, 100),
                     rc::gen::inRange<uint8_t>(0, 6), rc::gen::inRange<uint8_t>(0, 6),
                     rc::gen::inRange(0, 20)),
      [](const auto& t) {
        Edit edit;
        std::tie(edit.kind, edit.guid_a, edit.guid_b, edit.port_a, edit.port_b, edit.value) = t;
        edit.ports = static_cast<uint8_t>(edit.value == 0 ? 3 : 4);
        return edit;
      });
}

RC_GTEST_PROP(SnapshotPropertyTest, EqualsAnOracleOfMaps, ()) {
  auto edits = *rc::gen::container<std::vector<Edit>>(*rc::gen::inRange(0, 600), AnyEdit());
  // A populated fabric of more than one chunk to begin with.
  std::vector<Edit> populate;
  const uint64_t nodes = *rc::gen::inRange<uint64_t>(0, 90);
  for (uint64_t guid = 1; guid <= nodes; ++guid) {
    populate.push_back({Edit::kPut, guid, guid, 1, 1, 4, 7});
  }
  edits.insert(edits.begin(), populate.begin(), populate.end());
  Oracle oracle;
  SnapshotBuilder builder;
  auto last = builder.Build();
  std::vector<std::pair<Oracle, std::shared_ptr<const FabricSnapshot>>> history;
  for (const Edit& edit : edits) {
    const wire::NodeInfo info = InfoOf(edit);
    oracle.Apply(edit, info);
    ApplyTo(builder, edit, info);
    if (edit.kind != Edit::kBuild) continue;
    const auto next = builder.Build();
    CheckDiff(*last, *next);
    history.emplace_back(oracle, next);
    // Half of the time from the snapshot alone, as a restarted sweep would.
    if (edit.value % 2) builder = SnapshotBuilder(*next);
    last = next;
  }
  // Old generations are as they were.
  for (const auto& [then, snapshot] : history) CheckAgainst(then, *snapshot);
  CheckAgainst(oracle, *builder.Build());
}

}  // namespace
}  // namespace fabricd::fabric
