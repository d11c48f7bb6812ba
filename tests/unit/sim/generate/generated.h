// SPDX-License-Identifier: Apache-2.0
// What the tests of generators ask of a fabric, with no code of the generators'.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/status.h"
#include "fabric/snapshot.h"
#include "sim/generate/generate.h"

namespace fabricd::sim {

struct Counts {
  size_t hosts = 0, switches = 0, links = 0;
  friend bool operator==(const Counts&, const Counts&) = default;
  friend void PrintTo(const Counts& counts, std::ostream* out) {
    *out << counts.hosts << " HCAs, " << counts.switches << " switches, " << counts.links
         << " links";
  }
};

// The first thing that no fabric may be, or "": GUIDs that are not unique, a cable whose ends
// differ or that is not up, a port that is not there, an HCA without a cable, a LID.
inline std::string Fault(const fabric::FabricSnapshot& snapshot) {
  std::set<Guid> node_guids, port_guids;
  std::string fault;
  snapshot.ForEachNode([&](const fabric::Node& node) {
    const auto found = [&](const std::string& what) {
      if (fault.empty()) fault = node.description + ": " + what;
    };
    if (!node_guids.insert(node.guid()).second) found("its GUID is another's too");
    if (node.ports.size() != node.info.num_ports + size_t{1}) found("its ports are not num_ports");
    if (!node.IsSwitch() && node.ports[1].peer.IsNone()) found("no cable");
    for (size_t number = 0; number < node.ports.size(); ++number) {
      const fabric::Port& port = node.ports[number];
      if (port.guid && !port_guids.insert(port.guid).second) found("a port GUID used before");
      if (port.info.lid) found("a LID");
      if (port.peer.IsNone()) {
        if (number > 0 && port.IsUp()) found("up without a cable");
        continue;
      }
      const PortRef self{node.index, PortNum(static_cast<uint8_t>(number))};
      const fabric::Port* peer = snapshot.port(port.peer);
      if (number == 0 || port.peer.port.value() == 0) found("a cable at port 0");
      if (peer == nullptr || peer->peer != self) {
        found("a cable of one end");
      } else if (port.info.port_state != wire::PortState::kInit || port.Speed() != peer->Speed()) {
        found("a cable that is not INIT, at one speed");
      }
    }
  });
  return fault;
}

inline Counts Check(const fabric::FabricSnapshot& snapshot) {
  EXPECT_EQ(Fault(snapshot), "");
  Counts counts;
  snapshot.ForEachNode([&](const fabric::Node& node) {
    ++(node.IsSwitch() ? counts.switches : counts.hosts);
    for (const fabric::Port& port : node.ports) counts.links += port.peer.IsNone() ? 0 : 1;
  });
  counts.links /= 2;
  return counts;
}

inline std::shared_ptr<const fabric::FabricSnapshot> Made(const std::string& spec) {
  const auto made = Generate(spec);
  EXPECT_TRUE(made.ok()) << spec << ": " << made.status();
  return made.ok() ? *made : nullptr;
}

inline Counts Make(const std::string& spec) {
  const auto made = Made(spec);
  return made ? Check(*made) : Counts();
}

inline std::string Refusal(const std::string& spec) {
  const auto made = Generate(spec);
  EXPECT_EQ(made.status().code(), absl::StatusCode::kInvalidArgument) << spec;
  return Message(made.status());
}

// Cables between two nodes by name, counted from `a`.
inline int Cables(const fabric::FabricSnapshot& snapshot, const std::string& a,
                  const std::string& b) {
  int cables = 0;
  snapshot.ForEachNode([&](const fabric::Node& node) {
    if (node.description != a) return;
    for (const fabric::Port& port : node.ports) {
      if (!port.peer.IsNone() && snapshot.node(port.peer.node)->description == b) ++cables;
    }
  });
  return cables;
}

// Cables as pairs of names, the smaller one first; with port numbers "name[3]" or without.
enum class Numbers { kWith, kWithout };
inline std::multiset<std::pair<std::string, std::string>> CablesOf(
    const fabric::FabricSnapshot& snapshot, Numbers numbers) {
  std::multiset<std::pair<std::string, std::string>> cables;
  const auto name = [&](PortRef end) {
    const std::string& of = snapshot.node(end.node)->description;
    return numbers == Numbers::kWith ? fmt::format("{}[{}]", of, end.port.value()) : of;
  };
  snapshot.ForEachNode([&](const fabric::Node& node) {
    for (const fabric::Port& port : node.ports) {
      if (port.peer.IsNone()) continue;
      const PortRef self = snapshot.port(port.peer)->peer;
      if (self < port.peer) cables.insert(std::minmax(name(self), name(port.peer)));
    }
  });
  return cables;
}

// Cables between switches, as above.
inline std::multiset<std::pair<std::string, std::string>> SwitchCablesOf(
    const fabric::FabricSnapshot& snapshot, Numbers numbers) {
  auto cables = CablesOf(snapshot, numbers);
  std::erase_if(cables, [](const auto& cable) {
    return cable.first.rfind("node", 0) == 0 || cable.second.rfind("node", 0) == 0;
  });
  return cables;
}

inline bool IsConnected(const fabric::FabricSnapshot& snapshot) {
  std::vector<NodeIndex> todo;
  snapshot.ForEachNode([&](const fabric::Node& node) {
    if (todo.empty()) todo.push_back(node.index);
  });
  std::set<NodeIndex> seen(todo.begin(), todo.end());
  while (!todo.empty()) {
    const fabric::Node* node = snapshot.node(todo.back());
    todo.pop_back();
    for (const fabric::Port& port : node->ports) {
      if (!port.peer.IsNone() && seen.insert(port.peer.node).second) todo.push_back(port.peer.node);
    }
  }
  return seen.size() == snapshot.node_count();
}

// What topology text tells of a fabric: by node GUID its name and port count, and of each cabled
// port the peer, speed and width.
using Told = std::map<Guid, std::tuple<std::string, size_t, std::map<size_t, std::string>>>;
inline Told TellOf(const fabric::FabricSnapshot& snapshot) {
  Told told;
  snapshot.ForEachNode([&](const fabric::Node& node) {
    std::map<size_t, std::string> ports;
    for (size_t number = 1; number < node.ports.size(); ++number) {
      const fabric::Port& port = node.ports[number];
      if (port.peer.IsNone()) continue;
      ports[number] = fmt::format("{}[{}] {}x{} {}", snapshot.node(port.peer.node)->guid(),
                                  port.peer.port.value(), wire::ActiveWidth(port.info),
                                  wire::SpeedName(port.Speed()), port.guid);
    }
    told[node.guid()] = {node.description, node.ports.size(), std::move(ports)};
  });
  return told;
}

}  // namespace fabricd::sim
