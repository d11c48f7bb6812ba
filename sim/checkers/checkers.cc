// SPDX-License-Identifier: Apache-2.0
#include "sim/checkers/checkers.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <absl/container/flat_hash_set.h>
#include <fmt/format.h>

#include "sim/checkers/end_ports.h"

namespace fabricd::sim {
namespace {

// What each switch does with one LID, found once per switch: all ways of a LID end alike. Takes the
// LIDs in ascending order: a block of all tables and the links are copied to where they lie close
// together, which makes 48,000 LIDs on 4,000 switches a matter of seconds.
class Walk {
 public:
  enum class End : uint8_t { kUnknown, kUnderWay, kArrives, kDropped, kCircle };

  explicit Walk(const SimFabric& fabric)
      : fabric_(fabric), number_(fabric.node_index_end(), kNoSwitch) {
    for (uint32_t i = 0; i < fabric.node_index_end(); ++i) {
      const SimDevice* device = fabric.device(NodeIndex(i));
      if (device == nullptr || !device->IsSwitch()) continue;
      number_[i] = static_cast<uint32_t>(switches_.size());
      switches_.push_back({NodeIndex(i), device, static_cast<uint32_t>(links_.size())});
      for (const PortNum number : device->AllPorts())
        links_.push_back(FarEnd({NodeIndex(i), number}));
    }
    ends_.resize(switches_.size());
    block_.resize(switches_.size());
  }

  void Begin(Lid lid) {
    lid_ = lid;
    std::fill(ends_.begin(), ends_.end(), End::kUnknown);
    const uint32_t first = lid.value() / kBlock * kBlock;
    if (std::exchange(block_begin_, first) == first) return;
    for (size_t i = 0; i < switches_.size(); ++i)
      for (uint32_t at = 0; at < kBlock; ++at)
        block_[i][at] = switches_[i].device->LftPort(Lid(static_cast<uint16_t>(first + at)));
  }
  // From a switch onwards, to whatever owns the LID.
  End From(NodeIndex node) {
    way_.clear();
    End end = End::kUnknown;
    uint32_t at = number_[node.value()];
    while (end == End::kUnknown) {
      End& known = ends_[at];
      if (known != End::kUnknown) {
        end = known == End::kUnderWay ? End::kCircle : known;
        break;
      }
      known = End::kUnderWay;
      way_.push_back(at);
      end = Leave(at);
    }
    for (uint32_t passed : way_) ends_[passed] = end;
    return end;
  }

 private:
  static constexpr uint32_t kBlock = 64;
  static constexpr uint32_t kNoSwitch = 0xFFFFFFFF;
  struct Switch {
    NodeIndex node;
    const SimDevice* device;
    uint32_t first_link;  // In links_, by port.
  };

  // Where data that leaves by this port comes in; none: it does not.
  PortRef FarEnd(PortRef egress) const {
    if (fabric_.device(egress.node)->port(egress.port).info.port_state != wire::PortState::kActive)
      return {};
    const PortRef peer = fabric_.LinkedPeer(egress);
    if (peer.IsNone()) return {};
    const wire::PortInfo& ingress = fabric_.device(peer.node)->port(peer.port).info;
    return ingress.port_state < wire::PortState::kArmed ? PortRef{} : peer;
  }

  // kUnknown: `at` is the next switch now.
  End Leave(uint32_t& at) const {
    const Switch& here = switches_[at];
    const uint8_t egress = block_[at][lid_.value() % kBlock];
    if (egress > here.device->last_port().value()) return End::kDropped;
    PortRef far = links_[here.first_link + egress];
    if (egress == 0) far = {here.node, PortNum(0)};
    if (far.IsNone()) return End::kDropped;
    if (egress != 0 && number_[far.node.value()] != kNoSwitch) {
      at = number_[far.node.value()];
      return End::kUnknown;
    }
    return fabric_.device(far.node)->OwnsLid(far.port, lid_) ? End::kArrives : End::kDropped;
  }

  const SimFabric& fabric_;
  std::vector<uint32_t> number_;  // [NodeIndex] → in switches_; kNoSwitch: it is none.
  std::vector<Switch> switches_;
  std::vector<PortRef> links_;                      // Far ends of all switches' ports.
  std::vector<End> ends_;                           // By switch.
  std::vector<std::array<uint8_t, kBlock>> block_;  // Of each switch's table, from block_begin_.
  uint32_t block_begin_ = kNoSwitch;
  std::vector<uint32_t> way_;
  Lid lid_;
};

// A closed switch is an end node of a neighbour (routing/plan/usable.h); where all of those are
// closed too nothing leads to it.
bool HasOpenNeighbour(const SimFabric& fabric, NodeIndex node,
                      const absl::flat_hash_set<PortRef>& unwanted) {
  for (uint8_t num = 1; num <= fabric.device(node)->last_port().value(); ++num) {
    const PortRef far = fabric.LinkedPeer({node, PortNum(num)});
    if (far.IsNone() || !fabric.device(far.node)->IsSwitch()) continue;
    if (!unwanted.contains({far.node, PortNum(0)})) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> PortsNotActive(const SimFabric& fabric, size_t limit,
                                        const absl::flat_hash_set<PortRef>& beyond) {
  std::vector<std::string> names;
  for (uint32_t i = 0; i < fabric.node_index_end(); ++i) {
    const SimDevice* device = fabric.device(NodeIndex(i));
    if (device == nullptr) continue;
    for (const PortNum number : device->LinkPorts()) {
      if (names.size() >= limit) break;
      const PortRef port{NodeIndex(i), number};
      if (fabric.LinkedPeer(port).IsNone() || beyond.contains(port)) continue;
      if (device->port(port.port).info.port_state != wire::PortState::kActive)
        names.push_back(NameOf(fabric, port));
    }
  }
  return names;
}

std::vector<std::string> BrokenPairs(const SimFabric& fabric, size_t limit,
                                     const absl::flat_hash_set<PortRef>& unwanted) {
  const std::vector<EndPort> ports = EndPorts(fabric);
  const std::vector<uint32_t> part = SwitchParts(fabric, unwanted);
  struct Source {
    const EndPort* port;
    NodeIndex start;
    bool leaves;
  };
  std::vector<Source> sources;
  std::vector<std::pair<Lid, const EndPort*>> destinations;
  for (const EndPort& port : ports) {
    if (!port.base) continue;
    const SimDevice& device = *fabric.device(port.ref.node);
    const NodeIndex start = SwitchOf(fabric, port.ref);
    const bool leaves =
        device.IsSwitch() || device.port(port.ref.port).info.port_state == wire::PortState::kActive;
    const bool is_unwanted = unwanted.contains(port.ref);
    const bool is_mute = is_unwanted && !start.IsNone() && unwanted.contains({start, PortNum(0)});
    if (!start.IsNone() && !is_mute) sources.push_back({&port, start, leaves});
    const bool answers = device.IsSwitch() && device.LftPort(port.base) == 0 &&
                         HasOpenNeighbour(fabric, port.ref.node, unwanted);
    if (is_unwanted && !answers) continue;
    for (int path = 0; !start.IsNone() && path < port.lids; ++path)
      destinations.emplace_back(static_cast<uint16_t>(port.base.value() + path), &port);
  }
  std::stable_sort(destinations.begin(), destinations.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  // Ports of one switch share their way: once for each switch is enough while all is well.
  std::vector<Source> firsts;
  absl::flat_hash_set<std::pair<NodeIndex, bool>> starts;
  for (const Source& source : sources)
    if (starts.emplace(source.start, source.leaves).second) firsts.push_back(source);

  std::vector<std::string> broken;
  Walk walk(fabric);
  for (const auto& [lid, to] : destinations) {
    walk.Begin(lid);
    const uint32_t here = part[SwitchOf(fabric, to->ref).value()];
    const auto is_broken = [&](const Source& from) {
      if (part[from.start.value()] != here) return false;
      return !from.leaves || walk.From(from.start) != Walk::End::kArrives;
    };
    if (std::none_of(firsts.begin(), firsts.end(), is_broken)) continue;
    for (const Source& from : sources) {
      if (from.port == to || !is_broken(from)) continue;
      broken.push_back(fmt::format("{} -> LID {} of {}", NameOf(fabric, from.port->ref), lid,
                                   NameOf(fabric, to->ref)));
      if (broken.size() >= limit) return broken;
    }
  }
  return broken;
}

std::vector<std::string> Loops(const SimFabric& fabric, size_t limit) {
  std::vector<std::string> loops;
  std::vector<NodeIndex> switches;
  for (uint32_t i = 0; i < fabric.node_index_end(); ++i)
    if (fabric.device(NodeIndex(i)) != nullptr && fabric.device(NodeIndex(i))->IsSwitch())
      switches.emplace_back(i);
  Walk walk(fabric);
  for (uint32_t lid = 1; lid <= kMaxUnicastLid.value(); ++lid) {
    bool known = false;
    for (NodeIndex node : switches) {
      const SimDevice& device = *fabric.device(node);
      if (lid > device.switch_info().linear_fdb_top) continue;
      if (!std::exchange(known, true)) walk.Begin(Lid(static_cast<uint16_t>(lid)));
      if (walk.From(node) != Walk::End::kCircle) continue;
      loops.push_back(fmt::format("LID {} at {}", lid, device.description()));
      if (loops.size() >= limit) return loops;
      break;
    }
    if (!known) break;  // Above every LinearFDBTop.
  }
  return loops;
}

std::vector<std::string> LidFaults(const SimFabric& fabric, size_t limit,
                                   const absl::flat_hash_set<PortRef>& beyond) {
  std::vector<std::string> faults;
  std::map<int, PortRef> owner;
  for (const EndPort& port : EndPorts(fabric)) {
    if (faults.size() >= limit) break;
    if (!port.base) {
      if (!beyond.contains(port.ref)) faults.push_back(NameOf(fabric, port.ref) + " has no LID");
      continue;
    }
    for (int path = 0; path < port.lids; ++path)
      if (!owner.emplace(port.base.value() + path, port.ref).second)
        faults.push_back(fmt::format("LID {} of {} is held twice", port.base.value() + path,
                                     NameOf(fabric, port.ref)));
  }
  return faults;
}

std::vector<std::string> TablesUnlikePlan(const SimFabric& fabric,
                                          const fabric::FabricSnapshot& snapshot,
                                          const routing::RoutingPlan& plan, size_t limit) {
  std::vector<std::string> unlike;
  for (uint32_t i = 0; i < fabric.node_index_end(); ++i) {
    const SimDevice* device = fabric.device(NodeIndex(i));
    if (device == nullptr || !device->IsSwitch()) continue;
    const fabric::Node* node = snapshot.FindNode(device->guid());
    if (node == nullptr || !plan.HasRow(node->index)) continue;
    for (uint32_t lid = 1; lid <= plan.lid_top.value() && unlike.size() < limit; ++lid) {
      const uint8_t wanted = plan.EgressPort(node->index, Lid(static_cast<uint16_t>(lid)));
      const uint8_t held = device->LftPort(Lid(static_cast<uint16_t>(lid)));
      if (wanted == held) continue;
      unlike.push_back(fmt::format("{} block {}: LID {} leaves by {}, the plan says {}",
                                   device->description(), lid / 64, lid, held, wanted));
      lid |= 63;  // One finding of each block.
    }
  }
  return unlike;
}

}  // namespace fabricd::sim
