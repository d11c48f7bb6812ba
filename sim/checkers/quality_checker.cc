// SPDX-License-Identifier: Apache-2.0
#include "sim/checkers/quality_checker.h"

#include <algorithm>

#include <fmt/format.h>

#include "policy/intent_maker.h"
#include "routing/graph/graph.h"
#include "routing/quality/link_load.h"
#include "routing/repair/replan.h"

namespace fabricd::sim {
namespace {

using fabric::FabricSnapshot;

// How many times the fresh plan's highest load is borne on a fabric that lacks something.
constexpr double kFarMore = 1.25;

fabric::Intent IntentOf(const sweep::FabricView& view) {
  std::vector<policy::Hold> holds;
  uint64_t highest = 0;
  for (const policy::HoldStatus& status : view.policy->holds) {
    holds.push_back(status.hold);
    highest = std::max(highest, status.hold.id);
  }
  std::vector<PortRef> suppressed;
  std::vector<fabric::Intent::Link> flapping;
  for (const policy::DampedLink& link : view.policy->damped) {
    if (!link.suppressed) continue;
    suppressed.push_back(link.a);
    flapping.push_back({link.a, link.b});
  }
  fabric::Intent intent = policy::MakeIntent(policy::HoldBook(std::move(holds), highest),
                                             *view.snapshot, suppressed, view.sm.port);
  intent.flapping_links = std::move(flapping);
  return intent;
}

// Whether all nodes and cables of the topology are seen.
bool HasAll(const FabricSnapshot& seen, const FabricSnapshot& topology) {
  bool all = true;
  topology.ForEachNode([&](const fabric::Node& node) {
    for (const auto& [ref, port] : node.LinkPorts()) {
      const PortRef peer = port.peer;
      if (!all || peer.IsNone()) continue;
      const fabric::Node* found = seen.FindNode(node.guid());
      const fabric::Node* far = seen.FindNode(topology.node(peer.node)->guid());
      all = found && far && found->port(ref.port).IsUp() &&
            found->port(ref.port).peer == PortRef{far->index, peer.port};
    }
  });
  return all;
}

// What the devices hold, by the node indices of `snapshot`.
routing::AppliedTables TablesOf(const SimFabric& fabric, const FabricSnapshot& snapshot, Lid top) {
  routing::AppliedTables tables;
  tables.rows.resize(snapshot.node_index_end());
  const size_t size = (top.value() / routing::Row::kBlock + size_t{1}) * routing::Row::kBlock;
  for (uint32_t i = 0; i < fabric.node_index_end(); ++i) {
    const SimDevice* device = fabric.device(NodeIndex(i));
    if (device == nullptr || !device->IsSwitch()) continue;
    const NodeIndex index = snapshot.FindIndex(device->guid());
    if (index.IsNone()) continue;
    routing::Row row(size, routing::kNoRoute);
    for (uint32_t lid = 1; lid < size; ++lid)
      row.Set(lid, device->LftPort(Lid(static_cast<uint16_t>(lid))));
    tables.rows[index.value()] = std::move(row);
  }
  return tables;
}

class Comparison {
 public:
  Comparison(const Manager& master, const routing::AppliedTables& held,
             const routing::RouteState& fresh)
      : view_(*master.view), held_(held), fresh_(fresh) {}

  // Of LIDs that hang somewhere; empty: there is none.
  std::string FirstDifference() const {
    for (uint32_t node = 0; node < fresh_.plan->rows.size(); ++node)
      for (uint16_t lid = 1; fresh_.plan->HasRow(NodeIndex(node)) && lid <= Top(); ++lid) {
        const uint8_t wanted = fresh_.plan->EgressPort(NodeIndex(node), Lid(lid));
        const uint8_t holds = held_.rows[node].size() > lid ? held_.rows[node][lid] : 255;
        if (wanted != holds && !fresh_.links.place(lid).IsNowhere())
          return fmt::format("LID {} leaves {} by {}, after a fresh start by {}", lid,
                             view_.snapshot->node(NodeIndex(node))->description, holds, wanted);
      }
    return "";
  }
  std::string HigherLoad() const {
    routing::Parallel parallel(1);
    for (const auto& graph : routing::BuildGraphs(fresh_.links.snapshot(), *view_.lids)) {
      std::vector<const routing::Row*> rows;
      for (NodeIndex node : graph.node) rows.push_back(&held_.rows[node.value()]);
      const uint32_t now = routing::AllToAllLoad(graph, rows, {}, parallel).max;
      const uint32_t after = routing::AllToAllLoad(graph, *fresh_.plan, parallel).max;
      if (now > kFarMore * after)
        return fmt::format("the most loaded cable carries {} pairs, after a fresh start {}", now,
                           after);
    }
    return "";
  }
  bool IsHitless() const {
    const routing::LinkMap links(*view_.snapshot, *view_.lids);
    return routing::OrderPush({links, held_, view_.plan.get(), *fresh_.plan, 1}).hitless;
  }

 private:
  uint16_t Top() const { return fresh_.plan->lid_top.value(); }

  const sweep::FabricView& view_;
  const routing::AppliedTables& held_;
  const routing::RouteState& fresh_;
};

}  // namespace

std::vector<std::string> QualityFaults(const SimFabric& fabric, const Manager& master,
                                       const FabricSnapshot& topology) {
  const sweep::FabricView& view = *master.view;
  if (view.plan == nullptr || view.policy == nullptr) return {};
  const fabric::Intent intent = IntentOf(view);
  // Whoever leads routes round a link that flaps leaves room for the trees that stand.
  routing::ReplanInput input{*view.snapshot, *view.lids, intent, master.options.routing, nullptr};
  if (view.multicast && !view.multicast->empty()) input.trees = view.multicast.get();
  const routing::ReplanResult fresh = routing::Replan(input);
  if (fresh.after == nullptr || !fresh.after->plan->NeedsOneVl()) return {};
  const routing::AppliedTables held = TablesOf(fabric, *view.snapshot, fresh.after->plan->lid_top);
  const Comparison comparison(master, held, *fresh.after);
  const bool whole = intent.empty() && HasAll(*view.snapshot, topology);
  std::string found = whole ? comparison.FirstDifference() : comparison.HigherLoad();
  if (found.empty() || !comparison.IsHitless()) return {};
  return {std::move(found)};
}

}  // namespace fabricd::sim
