// SPDX-License-Identifier: Apache-2.0
#include "routing/engines/core/plan_builder.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "routing/engines/core/balance.h"
#include "routing/engines/core/table_writer.h"
#include "routing/graph/end_places.h"
#include "routing/plan/node_name.h"

namespace fabricd::routing {
namespace {

constexpr uint32_t kRowsPerTask = 16;

// A LID belongs to the band of the switches that cannot hold it. Nearly always there is one band.
std::vector<LidBand> Bands(const SwitchGraph& graph, uint32_t lid_end) {
  std::set<uint32_t> limits;
  for (uint32_t limit : graph.lid_limit)
    if (limit < lid_end) limits.insert(limit);
  std::vector<LidBand> bands;
  uint32_t first = 0;
  for (uint32_t limit : limits) {
    if (limit > first) bands.push_back({first, limit});
    first = limit;
  }
  bands.push_back({first, lid_end});
  return bands;
}

// Switches and end ports of an older layout that are not in `layout`.
void AddForgotten(const TreeLayout& old, TreeLayout& layout) {
  std::set<NodeIndex> grouped;
  for (const TreeGroup& group : layout.groups)
    grouped.insert(group.children.begin(), group.children.end());
  for (const TreeGroup& group : old.groups)
    if (std::none_of(group.children.begin(), group.children.end(),
                     [&](NodeIndex child) { return grouped.count(child) > 0; }))
      layout.groups.push_back(group);
  std::vector<PortRef> cables;
  std::set_union(layout.cables.begin(), layout.cables.end(), old.cables.begin(), old.cables.end(),
                 std::back_inserter(cables));
  layout.cables = std::move(cables);
  layout.rank.resize(std::max(layout.rank.size(), old.rank.size()), TreeLayout::kUnknown);
  for (size_t node = 0; node < old.rank.size(); ++node)
    if (layout.rank[node] == TreeLayout::kUnknown) layout.rank[node] = old.rank[node];
  // An old index means nothing beside new ones.
  std::vector<EndPlace> missing;
  for (const EndPlace& place : old.ends) {
    const EndPlace key{place.at, place.port, 0};
    const auto now = std::lower_bound(layout.ends.begin(), layout.ends.end(), key);
    if (now == layout.ends.end() || now->at != place.at || now->port != place.port)
      missing.push_back(place);
    else if (now->index != place.index)
      return;
  }
  layout.ends.insert(layout.ends.end(), missing.begin(), missing.end());
  std::sort(layout.ends.begin(), layout.ends.end());
}

bool IsLinked(const fabric::FabricSnapshot& snapshot, NodeIndex at, uint8_t number) {
  const fabric::Port* port = snapshot.port({at, PortNum(number)});
  const fabric::Port* peer = port ? snapshot.port(port->peer) : nullptr;
  return number == 0 ? port != nullptr : peer && port->IsUp() && peer->IsUp();
}

std::vector<PortRef> CablesOf(const std::vector<SwitchGraph>& graphs) {
  std::vector<PortRef> ends;
  for (const SwitchGraph& graph : graphs)
    for (uint32_t s = 0; s < graph.size(); ++s)
      for (const Neighbor& neighbor : graph.NeighborsOf(s))
        if (graph.node[s] < graph.node[neighbor.head])
          for (const Cable& cable : graph.CablesOf(neighbor))
            ends.push_back({graph.node[s], PortNum(cable.port)});
  std::sort(ends.begin(), ends.end());
  return ends;
}

// Whether some switch, cable or end port of the layout is not there.
bool MissesSome(const fabric::FabricSnapshot& snapshot, const TreeLayout& layout) {
  for (uint32_t node = 0; node < layout.rank.size(); ++node)
    if (layout.rank[node] != TreeLayout::kUnknown) {
      const fabric::Node* found = snapshot.node(NodeIndex(node));
      if (!found || !found->IsSwitch()) return true;
    }
  if (std::any_of(layout.cables.begin(), layout.cables.end(),
                  [&](PortRef end) { return !IsLinked(snapshot, end.node, end.port.value()); }))
    return true;
  return std::any_of(layout.ends.begin(), layout.ends.end(), [&](const EndPlace& place) {
    return !IsLinked(snapshot, place.at, place.port);
  });
}

}  // namespace

PlanBuilder::PlanBuilder(const RoutingInput& input, std::string_view engine)
    : input_(input),
      parallel_(input.options.threads),
      graphs_(BuildGraphs(input.snapshot, input.lids)),
      row_size_((input.lids.top().value() / 64 + size_t{1}) * 64) {
  plan_.engine = engine;
  plan_.lid_top = input.lids.top();
  plan_.rows.resize(input.snapshot.node_index_end());
  placed_.resize(plan_.rows.size());
  if (input.previous && input.previous->layout &&
      MissesSome(input.snapshot, *input.previous->layout))
    remembered_ = input.previous->layout.get();
  if (!remembered_) return;
  for (const uint32_t position : remembered_->order)
    if (position != TreeLayout::kUnknown) positions_ = std::max(positions_, position + 1);
}

// Empty: some switch has no place in it.
Order PlanBuilder::RememberedOrder(const SwitchGraph& graph) const {
  if (!Remembered()) return {};
  std::vector<std::pair<uint32_t, uint32_t>> sorted;
  for (uint32_t s = 0; s < graph.size(); ++s) {
    const uint32_t position = Remembered()->PositionOf(graph.node[s]);
    if (position == TreeLayout::kUnknown) return {};
    sorted.emplace_back(position, s);
  }
  std::sort(sorted.begin(), sorted.end());
  Order order(graph.size());
  for (uint32_t i = 0; i < sorted.size(); ++i) order[sorted[i].second] = i;
  return order;
}

ChosenOrder PlanBuilder::ChooseOrder(const SwitchGraph& graph, const Levels& levels,
                                     bool ranks_given) {
  return routing::ChooseOrder(graph, levels, ranks_given, RememberedOrder(graph), parallel_);
}

Slots PlanBuilder::FindSlots(const SwitchGraph& graph, const Levels& levels) const {
  return SlotsOf(graph, FindGroups(graph, levels, Remembered()));
}

WrittenTables& PlanBuilder::AddTables(const SwitchGraph& graph, const Levels& levels,
                                      const Order& order, const HopCosts& costs) {
  std::vector<Destination> destinations = TopologicalOrder(graph, levels);
  NumberByPlace(graph, levels, Remembered(), destinations);
  const std::vector<EndPlace> places = PlacesOf(graph, destinations);
  layout_.ends.insert(layout_.ends.end(), places.begin(), places.end());
  return AddTables(graph, levels, destinations, order, costs);
}

WrittenTables& PlanBuilder::AddTables(const SwitchGraph& graph, const Levels& levels,
                                      const std::vector<Destination>& destinations,
                                      const Order& order, const HopCosts& costs) {
  WrittenTables& tables = written_.emplace_back();
  tables.graph = &graph;
  const std::vector<TreeGroup> groups = FindGroups(graph, levels, Remembered());
  tables.slots = SlotsOf(graph, groups);
  layout_.groups.insert(layout_.groups.end(), groups.begin(), groups.end());
  layout_.rank.resize(plan_.rows.size(), TreeLayout::kUnknown);
  for (uint32_t s = 0; s < graph.size(); ++s) layout_.rank[graph.node[s].value()] = levels.rank[s];
  std::deque<HopCosts> around;
  std::deque<TableWriter> bands;
  const uint32_t lid_end = plan_.lid_top.value() + 1u;
  for (const LidBand band : Bands(graph, lid_end)) {
    const std::vector<uint8_t> blocked = SwitchesWithout(graph, band.first);
    if (!blocked.empty())
      around.push_back(order.empty() ? ShortestCosts(graph, blocked, parallel_)
                                     : OrderedCosts(graph, order, blocked, parallel_));
    bands.emplace_back(graph, levels, tables.slots, destinations, order,
                       blocked.empty() ? costs : around.back(), band, lid_end, parallel_);
  }
  WriteRows(bands, tables);
  AddOrder(graph, order);
  AddExempt(graph, tables.unserved);
  return tables;
}

void PlanBuilder::BalanceTables(WrittenTables& tables, const Levels& levels, const Order& order,
                                const HopCosts& costs) {
  const SwitchGraph& graph = *tables.graph;
  const BalanceReport report =
      Balance(graph, levels, order, costs, input_.options.balance, tables.rows, parallel_);
  if (report.closed_form || report.bound > 0)
    worst_load_ = std::max(worst_load_, report.closed_form ? 1.0 : report.after / report.bound);
  else
    load_known_ = false;
  if (report.moved == 0) return;
  const RoutingPlan* previous = input_.previous;
  parallel_.For(graph.size(), [&](size_t s) {
    const NodeIndex node = graph.node[s];
    if (previous && previous->HasRow(node))
      tables.rows[s]->ShareEqualPages(*previous->rows[node.value()]);
  });
  AddNote(
      fmt::format("all-to-all load balanced: {} pairs of hosts on the most loaded cable, not "
                  "{}, by moving {} table entries; the lower bound is {:.0f}",
                  report.after, report.before, report.moved, report.bound));
}

void PlanBuilder::AddRows(const SwitchGraph& graph, const Order& order,
                          std::vector<std::shared_ptr<Row>> rows,
                          const std::vector<std::vector<Lid>>& unserved) {
  const RoutingPlan* previous = input_.previous;
  parallel_.For(graph.size(), [&](size_t s) {
    const NodeIndex node = graph.node[s];
    if (previous && previous->HasRow(node)) rows[s]->ShareEqualPages(*previous->rows[node.value()]);
  });
  KeepRows(graph, rows);
  AddOrder(graph, order);
  AddExempt(graph, unserved);
}

void PlanBuilder::WriteRows(const std::deque<TableWriter>& bands, WrittenTables& tables) {
  const SwitchGraph& graph = *tables.graph;
  tables.rows.resize(graph.size());
  tables.unserved.resize(graph.size());
  tables.moved.resize(graph.size());
  const RoutingPlan* previous = input_.previous;
  parallel_.For((graph.size() + kRowsPerTask - 1) / kRowsPerTask, [&](size_t task) {
    // A row is made in one piece that stays in the cache, and its pages are written once.
    std::vector<uint8_t> entries(row_size_, kNoRoute);
    std::deque<RowWriter> writers(bands.begin(), bands.end());
    const auto begin = static_cast<uint32_t>(task * kRowsPerTask);
    for (uint32_t s = begin; s < std::min(begin + kRowsPerTask, graph.size()); ++s) {
      RowLosses losses;
      for (RowWriter& writer : writers) writer.Write(s, entries.data(), losses);
      tables.unserved[s] = std::move(losses.unserved);
      tables.moved[s] = std::move(losses.moved);
      const NodeIndex node = graph.node[s];
      const Row* old =
          previous && previous->HasRow(node) ? previous->rows[node.value()].get() : nullptr;
      tables.rows[s] = std::make_shared<Row>(Row::Of(entries.data(), row_size_, old));
    }
  });
}

// A row that is as before stays the same object.
void PlanBuilder::KeepRows(const SwitchGraph& graph, std::vector<std::shared_ptr<Row>>& rows) {
  const RoutingPlan* previous = input_.previous;
  parallel_.For(graph.size(), [&](size_t s) {
    const NodeIndex node = graph.node[s];
    const bool same =
        previous && previous->HasRow(node) && *previous->rows[node.value()] == *rows[s];
    plan_.rows[node.value()] = same ? previous->rows[node.value()] : std::move(rows[s]);
  });
}

void PlanBuilder::AddServiceLevels(const SwitchGraph& graph, uint8_t lanes,
                                   std::vector<std::shared_ptr<Row>> rows) {
  const RoutingPlan* previous = input_.previous;
  plan_.lanes = std::max(plan_.lanes, lanes);
  plan_.service_levels.resize(plan_.rows.size());
  for (uint32_t s = 0; s < graph.size(); ++s) {
    const size_t node = graph.node[s].value();
    if (previous && node < previous->service_levels.size() && previous->service_levels[node])
      rows[s]->ShareEqualPages(*previous->service_levels[node]);
    plan_.service_levels[node] = std::move(rows[s]);
  }
}

void PlanBuilder::AddOrder(const SwitchGraph& graph, const Order& order) {
  // A plan that has an order has it for all its switches.
  if (order.empty()) ordered_ = false;
  if (!ordered_) return plan_.order.clear();
  plan_.order.resize(plan_.rows.size(), 0);
  // Switches that are gone keep their places too, for when they come back.
  const bool kept = Remembered() && order == RememberedOrder(graph);
  for (uint32_t s = 0; s < graph.size(); ++s) {
    const NodeIndex node = graph.node[s];
    plan_.order[node.value()] = kept ? Remembered()->PositionOf(node) : positions_ + order[s];
    placed_[node.value()] = 1;
  }
  positions_ += graph.size();
}

void PlanBuilder::AddExempt(const SwitchGraph& graph,
                            const std::vector<std::vector<Lid>>& unserved) {
  for (uint32_t s = 0; s < graph.size(); ++s) {
    for (Lid lid : unserved[s]) plan_.exempt.push_back({graph.node[s], lid});
    if (graph.lid_limit[s] <= plan_.lid_top.value())
      AddNote(fmt::format("the table of switch {} ends at LID {}: higher LIDs are led round it",
                          NodeName(input_.snapshot, graph.node[s]), graph.lid_limit[s] - 1));
  }
}

// Of what is remembered nothing is given up while some of it is gone: what is back has its place.
void PlanBuilder::KeepOrder() {
  if (plan_.order.empty()) return;
  if (const TreeLayout* old = Remembered()) {
    layout_.order = old->order;
    for (size_t node = 0; node < old->order.size() && node < plan_.order.size(); ++node)
      if (!plan_.rows[node] && !placed_[node] && old->order[node] != TreeLayout::kUnknown)
        plan_.order[node] = old->order[node];
  }
  layout_.order.resize(plan_.order.size(), TreeLayout::kUnknown);
  for (size_t node = 0; node < plan_.order.size(); ++node)
    if (placed_[node] && layout_.order[node] == TreeLayout::kUnknown)
      layout_.order[node] = plan_.order[node];
}

// What is gone now is remembered from the previous plan.
void PlanBuilder::KeepLayout() {
  std::sort(layout_.ends.begin(), layout_.ends.end());
  layout_.cables = CablesOf(graphs_);
  KeepOrder();
  if (const TreeLayout* old = Remembered()) AddForgotten(*old, layout_);
  const RoutingPlan* previous = input_.previous;
  const bool same = previous && previous->layout && *previous->layout == layout_;
  plan_.layout =
      same ? input_.previous->layout : std::make_shared<const TreeLayout>(std::move(layout_));
}

RoutingPlan PlanBuilder::Finish() {
  if (load_known_ && worst_load_ > 0) plan_.load_times_bound = worst_load_;
  KeepLayout();
  for (WrittenTables& tables : written_) KeepRows(*tables.graph, tables.rows);
  written_.clear();
  std::sort(plan_.exempt.begin(), plan_.exempt.end(), [](const ExemptPair& a, const ExemptPair& b) {
    return std::tie(a.source_switch, a.destination) < std::tie(b.source_switch, b.destination);
  });
  return std::move(plan_);
}

}  // namespace fabricd::routing
