// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "sim/checkers/checkers.h"
#include "sim/checkers/end_ports.h"

namespace fabricd::sim {
namespace {

// Channel dependencies of packets: (switch, egress port, VL) waits for the next of its kind.
class LaneWalks {
 public:
  using Channel = std::tuple<NodeIndex, uint8_t, uint8_t>;
  explicit LaneWalks(const SimFabric& fabric) : fabric_(fabric) {}

  void Add(NodeIndex start, PortNum in, Lid lid, uint8_t level) {
    std::optional<Channel> before;
    for (size_t hops = 0; hops <= fabric_.node_index_end(); ++hops) {
      const SimDevice& device = *fabric_.device(start);
      const PortNum out(device.LftPort(lid));
      if (!device.IsSwitch() || out == PortNum(0) || !device.HasPort(out)) return;
      const Channel channel{start, out.value(), device.SlToVl(in, out).vl[level]};
      if (before) waits_[*before].insert(channel);
      before = channel;
      const PortRef peer = device.port(out).cable;
      if (peer.IsNone() || !fabric_.device(peer.node)->IsSwitch()) return;
      start = peer.node, in = peer.port;
    }
  }
  // One channel of a circle.
  std::optional<Channel> FindCircle() {
    for (const auto& [channel, next] : waits_)
      if (Visit(channel)) return channel;
    return std::nullopt;
  }

 private:
  bool Visit(const Channel& channel) {
    char& state = state_[channel];
    if (state != 0) return state == 1;
    state = 1;
    for (const Channel& next : waits_[channel])
      if (Visit(next)) return true;
    state_[channel] = 2;
    return false;
  }
  const SimFabric& fabric_;
  std::map<Channel, std::set<Channel>> waits_;
  std::map<Channel, char> state_;
};

}  // namespace

std::vector<std::string> CreditLoops(const SimFabric& fabric,
                                     const fabric::FabricSnapshot& snapshot,
                                     const routing::RoutingPlan& plan) {
  LaneWalks walks(fabric);
  for (const EndPort& from : EndPorts(fabric)) {
    const NodeIndex start = SwitchOf(fabric, from.ref);
    if (start.IsNone()) continue;
    const SimDevice& device = *fabric.device(from.ref.node);
    const NodeIndex source = snapshot.FindIndex(fabric.device(start)->guid());
    const PortNum in = device.IsSwitch() ? PortNum(0) : device.port(from.ref.port).cable.port;
    for (uint32_t lid = 1; !source.IsNone() && lid <= plan.lid_top.value(); ++lid) {
      const Lid to(static_cast<uint16_t>(lid));
      walks.Add(start, in, to, plan.ServiceLevel(source, to));
    }
  }
  const auto circle = walks.FindCircle();
  if (!circle) return {};
  const auto [node, port, lane] = *circle;
  return {fmt::format("VL {} at {} port {}", lane, fabric.device(node)->description(), port)};
}

}  // namespace fabricd::sim
