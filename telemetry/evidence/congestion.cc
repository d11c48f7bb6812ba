// SPDX-License-Identifier: Apache-2.0
#include "telemetry/evidence/congestion.h"

#include <algorithm>
#include <bitset>
#include <map>
#include <optional>
#include <tuple>

#include <absl/container/flat_hash_map.h>

#include "fabric/aggregation_node.h"
#include "routing/plan/block_mask.h"

namespace fabricd::telemetry {
namespace {

using fabric::FabricSnapshot;
using fabric::Node;
using policy::WaitWindow;
using routing::RoutingPlan;
using Ports = std::bitset<256>;
constexpr size_t kBlock = routing::Row::kBlock;

// What comes after a port on the path to the root.
struct Step {
  PortRef next;  // None: the port itself is the root.
  CongestionKind kind = CongestionKind::kNone;
};

class Search {
 public:
  Search(const TelemetryView& view, const FabricSnapshot& snapshot, const RoutingPlan& plan,
         const CongestionLimits& limits)
      : view_(view), snapshot_(snapshot), plan_(plan), limits_(limits) {
    snapshot.ForEachNode([&](const Node& node) {
      if (!node.IsSwitch() || node.ports.empty()) return;
      const size_t lid = node.ports[0].info.lid.value();
      if (lid / kBlock >= not_switches_.size())
        not_switches_.resize(lid / kBlock + 1, ~uint64_t{0});
      not_switches_[lid / kBlock] &= ~(uint64_t{1} << lid % kBlock);
    });
  }

  Congestion Run() {
    std::vector<PortRef> waiting = FindWaiting();
    std::ranges::sort(waiting, {}, [&](PortRef port) { return NameOf(port); });
    for (PortRef port : waiting) Place(port);
    Congestion found;
    for (auto& [name, root] : roots_) {
      std::ranges::stable_sort(root.victims, {}, &WaitingPort::hops);
      found.roots.push_back(std::move(root));
    }
    found.without_root = std::move(without_root_);
    return found;
  }

 private:
  using Name = std::pair<Guid, PortNum>;

  Name NameOf(PortRef port) const { return {snapshot_.node(port.node)->guid(), port.port}; }

  std::optional<WaitWindow> WaitOf(PortRef port) const {
    const PortRecord* record = view_.Find(port);
    if (record == nullptr || view_.FreshnessOf(*record) != Freshness::kFresh) return std::nullopt;
    return record->wait_windows.Read(view_.at, 1);
  }

  std::vector<PortRef> FindWaiting() const {
    std::vector<PortRef> waiting;
    snapshot_.ForEachNode([&](const Node& node) {
      for (const auto& [port, state] : node.LinkPorts()) {
        const auto wait = WaitOf(port);
        if (wait && wait->share >= limits_.wait) waiting.push_back(port);
      }
    });
    return waiting;
  }

  // The egresses at `peer`'s switch of what leaves through `port`. To switches goes management
  // only, and by links that no job uses in this way.
  Ports EgressesBehind(const Node& node, PortRef port, PortRef peer) const {
    Ports used;
    const routing::Row& there = *plan_.rows[peer.node.value()];
    const routing::Row* here =
        plan_.HasRow(port.node) ? plan_.rows[port.node.value()].get() : nullptr;
    if (node.IsSwitch() && here == nullptr) return used;
    const size_t blocks =
        node.IsSwitch() ? std::min(here->blocks(), there.blocks()) : there.blocks();
    for (size_t b = 0; b < blocks; ++b) {
      uint64_t lids = b < not_switches_.size() ? not_switches_[b] : ~uint64_t{0};
      if (node.IsSwitch()) lids &= routing::EqualMask(here->block(b), port.port.value());
      if (lids == 0) continue;
      const uint8_t* egresses = there.block(b);
      routing::ForEachBit(lids, [&](uint32_t i) { used.set(egresses[i]); });
    }
    used.reset(0);
    used.reset(routing::kNoRoute);
    used.reset(peer.port.value());
    return used;
  }

  CongestionKind KindAtEnd(const Node& end, const WaitWindow& wait) const {
    if (end.info.node_type != wire::NodeType::kChannelAdapter || fabric::IsAggregationNode(end)) {
      return CongestionKind::kNone;
    }
    if (wait.utilisation >= limits_.saturated) return CongestionKind::kIncast;
    return wait.utilisation < limits_.idle ? CongestionKind::kSlowReceiver : CongestionKind::kNone;
  }

  // REQUIRES: what `port` did is known.
  Step StepFrom(PortRef port) const {
    const Node& node = *snapshot_.node(port.node);
    const PortRef peer = node.port(port.port).peer;
    const Node* far = peer.IsNone() ? nullptr : snapshot_.node(peer.node);
    const WaitWindow own = *WaitOf(port);
    if (far == nullptr) return {};
    if (!far->IsSwitch()) return {{}, KindAtEnd(*far, own)};
    const CongestionKind between =
        node.IsSwitch() ? CongestionKind::kHotLink : CongestionKind::kNone;
    const bool is_saturated = own.share < limits_.wait;
    if (!plan_.HasRow(peer.node)) return {{}, is_saturated ? between : CongestionKind::kNone};
    const Ports egresses = EgressesBehind(node, port, peer);
    if (is_saturated) return {OnlyOutlet(port, *far, egresses), between};
    return Busiest(*far, egresses, between);
  }

  double RateOf(PortRef port, const WaitWindow& of) const {
    return of.utilisation * static_cast<double>(view_.Find(port)->facts.bytes_per_second);
  }

  // The saturated egress that takes what the saturated `port` sends, as the others send too little
  // to be where that goes. None: there is none, so queues begin at `port`.
  PortRef OnlyOutlet(PortRef port, const Node& far, const Ports& egresses) const {
    PortRef outlet;
    double others = 0;
    for (const auto& [egress, state] : far.LinkPorts()) {
      if (!egresses[egress.port.value()] || !state.IsUp()) continue;
      const auto wait = WaitOf(egress);
      if (!wait) return {};
      if (outlet.IsNone() && wait->utilisation >= limits_.saturated) {
        outlet = egress;
      } else {
        others += RateOf(egress, *wait);
      }
    }
    const double few = (1 - limits_.saturated) * RateOf(port, *WaitOf(port));
    return others <= few ? outlet : PortRef();
  }

  // The one that waits most; else one that is saturated.
  Step Busiest(const Node& node, const Ports& egresses, CongestionKind otherwise) const {
    PortRef best;
    std::tuple<bool, double, double> most;
    bool all_known = egresses.any();
    for (const auto& [port, state] : node.LinkPorts()) {
      if (!egresses[port.port.value()] || !state.IsUp()) continue;
      const auto wait = WaitOf(port);
      all_known = all_known && wait;
      if (!wait) continue;
      const bool waits = wait->share >= limits_.wait;
      if (!waits && wait->utilisation < limits_.saturated) continue;
      const std::tuple rank(waits, waits ? wait->share : 0.0, wait->utilisation);
      if (!best.IsNone() && rank <= most) continue;
      best = port;
      most = rank;
    }
    if (!best.IsNone()) return {best, CongestionKind::kNone};
    return {{}, all_known ? otherwise : CongestionKind::kNone};
  }

  const Step& StepOf(PortRef port) {
    const auto [at, is_new] = steps_.try_emplace(port);
    if (is_new) at->second = StepFrom(port);
    return at->second;
  }

  void Place(PortRef port) {
    std::vector<PortRef> path{port};
    while (true) {
      const Step& step = StepOf(path.back());
      if (step.next.IsNone()) {
        PlaceAt(path, path.size() - 1, step.kind, false);
        return;
      }
      const auto seen = std::ranges::find(path, step.next);
      if (seen != path.end()) {
        const auto root = MostWaiting(seen, path.end());
        const auto hops = static_cast<size_t>(root - path.begin());
        PlaceAt(path, hops, CongestionKind::kNone, true);
        return;
      }
      if (path.size() >= limits_.max_depth) {
        without_root_.push_back(port);
        return;
      }
      path.push_back(step.next);
    }
  }

  template <typename Iterator>
  Iterator MostWaiting(Iterator begin, Iterator end) const {
    return std::min_element(begin, end, [&](PortRef a, PortRef b) {
      const double a_share = WaitOf(a)->share, b_share = WaitOf(b)->share;
      return a_share != b_share ? a_share > b_share : NameOf(a) < NameOf(b);
    });
  }

  void PlaceAt(const std::vector<PortRef>& path, size_t hops, CongestionKind kind, bool is_cycle) {
    const PortRef at = path[hops];
    CongestionRoot& root = roots_[NameOf(at)];
    root.port = at;
    root.kind = kind;
    root.wait = *WaitOf(at);
    root.is_cycle = is_cycle;
    if (hops == 0) return;
    root.victims.push_back({path[0], *WaitOf(path[0]), path[1], static_cast<uint32_t>(hops)});
  }

  const TelemetryView& view_;
  const FabricSnapshot& snapshot_;
  const RoutingPlan& plan_;
  const CongestionLimits& limits_;
  std::vector<uint64_t> not_switches_;  // By block of 64 LIDs: a bit for each that is no switch's.
  absl::flat_hash_map<PortRef, Step> steps_;
  std::map<Name, CongestionRoot> roots_;
  std::vector<PortRef> without_root_;
};

}  // namespace

Congestion FindCongestion(const TelemetryView& view, const FabricSnapshot& snapshot,
                          const RoutingPlan& plan, const CongestionLimits& limits) {
  return Search(view, snapshot, plan, limits).Run();
}

std::string_view CongestionKindName(CongestionKind kind) {
  switch (kind) {
    case CongestionKind::kNone: return "UNDECIDED";
    case CongestionKind::kSlowReceiver: return "SLOW_RECEIVER";
    case CongestionKind::kIncast: return "INCAST";
    case CongestionKind::kHotLink: return "HOT_LINK";
  }
  return "?";
}

std::vector<policy::CongestionTree> TreesOf(const Congestion& congestion,
                                            const FabricSnapshot& snapshot) {
  using Kind = policy::CongestionTree::Kind;
  const auto egress = [&](PortRef port) {
    return policy::CongestionTree::Egress{snapshot.node(port.node)->guid(), port.port};
  };
  std::vector<policy::CongestionTree> trees;
  for (const CongestionRoot& root : congestion.roots) {
    policy::CongestionTree& tree = trees.emplace_back();
    tree.root = egress(root.port);
    switch (root.kind) {
      case CongestionKind::kNone: break;
      case CongestionKind::kSlowReceiver: tree.kind = Kind::kSlowReceiver; break;
      case CongestionKind::kIncast: tree.kind = Kind::kIncast; break;
      case CongestionKind::kHotLink: tree.kind = Kind::kHotLink; break;
    }
    for (const WaitingPort& victim : root.victims) tree.victims.push_back(egress(victim.port));
  }
  return trees;
}

}  // namespace fabricd::telemetry
