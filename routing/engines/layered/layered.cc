// SPDX-License-Identifier: Apache-2.0
#include "routing/engines/layered/layered.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/status.h"
#include "routing/engines/core/balance.h"
#include "routing/engines/core/plan_builder.h"
#include "routing/engines/layered/escape_paths.h"
#include "routing/engines/layered/lane_paths.h"
#include "routing/engines/layered/lane_use.h"
#include "routing/graph/channel_order.h"
#include "routing/graph/grid_classes.h"
#include "routing/graph/levels.h"
#include "routing/graph/order.h"
#include "routing/plan/node_name.h"
#include "routing/plan/work_budget.h"
#include "routing/transition/trees_fit.h"

namespace fabricd::routing {
namespace {

constexpr uint64_t kMillion = 1'000'000;
constexpr uint8_t kMostLanes = 15;         // VL15 is for management.
constexpr uint32_t kSwitchesPerTask = 64;  // A cache line of LaneWays.
constexpr uint64_t kLeafShare = 4;         // Hosts on leaves of a tree for each host above them.
constexpr double kTreeStretch = 1.05;      // Hops of all ways on a tree, of the fewest possible.
constexpr double kFarWorse = 4;            // Load at which too few lanes are no service.
constexpr double kLaneCost = 0.05;         // A lane more must lower the highest load by as much.

// The fewest data VLs that a link between switches has, and where.
struct FabricLanes {
  uint8_t lanes = kMostLanes;
  PortRef at;
};
FabricLanes FindFabricLanes(const fabric::FabricSnapshot& snapshot, const SwitchGraph& graph) {
  FabricLanes fewest;
  for (uint32_t s = 0; s < graph.size(); ++s)
    for (uint32_t n = graph.neighbor_begin[s]; n < graph.neighbor_begin[s + 1]; ++n)
      for (uint32_t i = 0; i < graph.neighbors[n].cable_count; ++i) {
        const PortRef port{graph.node[s],
                           PortNum(graph.cables[graph.neighbors[n].first_cable + i].port)};
        // Both ends are looked at in turn. A cap of 0 was not read: nothing is known against it.
        const uint8_t cap = snapshot.port(port)->info.vl_cap;
        if (cap == 0) continue;
        const int lanes = std::max(1, wire::DataVls(cap));
        if (lanes < fewest.lanes) fewest = {static_cast<uint8_t>(lanes), port};
      }
  return fewest;
}

struct Variant {
  LaneSettings settings;
  bool shortest;
  const TargetList* targets;
  LaneWays ways;
  const char* name;
};

// One graph's turn.
class GraphRouter {
 public:
  // `beside_tree`: on one lane, only ways beside which a spanning tree has room.
  GraphRouter(const RoutingInput& input, PlanBuilder& builder, const SwitchGraph& graph,
              bool beside_tree, WorkBudget& budget)
      : budget_(budget),
        beside_tree_(beside_tree),
        input_(input),
        builder_(builder),
        graph_(graph),
        channels_(graph),
        levels_(builder.FindLevels(graph)),
        chosen_(builder.ChooseOrder(graph, levels_)) {}

  absl::Status Run() {
    const FabricLanes fabric = FindFabricLanes(input_.snapshot, graph_);
    limit_ = std::clamp<uint8_t>(std::min(fabric.lanes, input_.options.lanes_max), 1, kMostLanes);
    if (IsTree()) {
      WriteTree();
      return absl::OkStatus();
    }
    std::vector<Variant> variants = Variants();
    if (budget_.exceeded())
      return absl::ResourceExhaustedError(
          fmt::format("budget: paths through {} switches take more than {} million steps of work",
                      graph_.size(), budget_.limit() / kMillion));
    Variant* best = &variants[0];
    const Variant* least = nullptr;  // Of the shortest ones: fewest lanes.
    for (Variant& variant : variants) {
      if (variant.ways.out.empty()) continue;
      if (variant.shortest && (!least || variant.ways.lanes < least->ways.lanes)) least = &variant;
      if (!IsOut(variant) && Cost(variant) < Cost(*best)) best = &variant;
    }
    const uint8_t needed = least ? least->ways.lanes : kMostLanes + 1;
    if (fabric.lanes < input_.options.lanes_max && needed <= input_.options.lanes_max &&
        best->ways.MostLoad() > kFarWorse * least->ways.MostLoad())
      return FailedPrecondition("{} switches need {} lanes, but switch {} port {} has {}",
                                graph_.size(), needed, NodeName(input_.snapshot, fabric.at.node),
                                fabric.at.port, fabric.lanes);
    if (graph_.size() > 1) Note(*best, needed, fabric);
    EvenOutLanes(graph_, channels_, *best->targets, best->ways);
    Write(*best);
    return absl::OkStatus();
  }

 private:
  // Grids and hypercubes pass for two levels too, but either as many hosts hang above as below, or
  // ways between hosts that rise and then fall are longer than need be. On a damaged tree few are.
  bool IsTree() const {
    uint64_t below = 0, above = 0;
    for (uint32_t s = 0; s < graph_.size(); ++s)
      (levels_.rank[s] == 0 ? below : above) += graph_.hosts[s];
    if (!levels_.IsStrict() || above * kLeafShare > below) return false;
    const HopCosts shortest = ShortestCosts(graph_, {}, builder_.parallel());
    uint64_t hops = 0, fewest = 0;
    for (uint32_t s = 0; s < graph_.size(); ++s)
      for (uint32_t d = 0; d < graph_.size(); ++d) {
        if (graph_.hosts[s] == 0 || graph_.hosts[d] == 0) continue;
        hops += chosen_.costs.TotalRow(s)[d];
        fewest += shortest.TotalRow(s)[d];
      }
    return static_cast<double>(hops) <= kTreeStretch * static_cast<double>(fewest);
  }
  // One lane, and the closed form that is best on trees, balanced where they are damaged.
  void WriteTree() {
    WrittenTables& tables = builder_.AddTables(graph_, levels_, chosen_.order, chosen_.costs);
    builder_.BalanceTables(tables, levels_, chosen_.order, chosen_.costs);
    if (graph_.size() > 1)
      builder_.AddNote(fmt::format("{} switches on 1 lane: up and down the tree", graph_.size()));
  }

  std::vector<Variant> Variants() {
    by_round_ = MakeTargets(graph_, levels_);
    std::vector<uint32_t> grid = GridClasses(graph_);
    const bool is_grid = std::any_of(grid.begin(), grid.end(), [](uint32_t c) { return c > 0; });
    std::vector<Variant> variants;
    const auto add = [&](LaneSettings settings, bool shortest, const char* name) {
      variants.push_back({std::move(settings), shortest, &by_round_, {}, name});
    };
    add({true, Preference::kLoad, {}, 1}, false, "up and down in one order");
    if (is_grid)
      add({false, Preference::kClass, std::move(grid), kMostLanes}, true, "shortest by dimension");
    else
      add({false, Preference::kLoad, {}, kMostLanes}, true, "shortest by load");
    FindAll(variants, 0);
    if (budget_.exceeded()) return variants;
    const LaneWays& shortest = variants[1].ways;
    const bool fits = !shortest.out.empty() && !IsOut(variants[1]);
    if (limit_ > 1 && !(fits && shortest.lanes <= limit_ / 2)) {
      add({false, Preference::kExisting, {}, limit_}, true, "shortest by dependencies");
      FindAll(variants, 2);
    }
    if (fits || budget_.exceeded()) return variants;
    // More lanes mean more destinations that find their lane's best places taken: fewer may do.
    const size_t first = variants.size();
    for (const uint8_t lanes : std::set<uint8_t>{1, static_cast<uint8_t>((limit_ + 1) / 2), limit_})
      add({false, Preference::kLoad, {}, lanes}, false, "grown within the lanes");
    builder_.parallel().For(variants.size() - first, [&](size_t i) {
      Variant& variant = variants[first + i];
      variant.ways = FindEscapeWays(graph_, channels_, by_round_, variant.settings.lanes, budget_);
    });
    return variants;
  }
  void FindAll(std::vector<Variant>& variants, size_t first) {
    builder_.parallel().For(variants.size() - first, [&](size_t i) { Find(variants[first + i]); });
  }
  // What keeps to an order, or is grown beside a tree, has room for one.
  bool IsOut(const Variant& variant) const {
    return variant.ways.lanes > limit_ || (beside_tree_ && limit_ == 1 && variant.shortest);
  }
  static double Cost(const Variant& variant) {
    return variant.ways.MostLoad() * (1 + kLaneCost * (variant.ways.lanes - 1));
  }
  void Note(const Variant& best, uint8_t needed_lanes, const FabricLanes& fabric) {
    builder_.AddNote(fmt::format("{} switches on {} lane{}: {}", graph_.size(), best.ways.lanes,
                                 best.ways.lanes == 1 ? "" : "s", best.name));
    if (best.ways.lanes > 1)
      builder_.AddNote(
          "several lanes: only clients that take their SL from the SA are free of deadlock");
    if (needed_lanes <= limit_) return;
    const std::string needed = needed_lanes > kMostLanes ? fmt::format("more than {}", kMostLanes)
                                                         : std::to_string(needed_lanes);
    if (fabric.lanes < input_.options.lanes_max)
      builder_.AddNote(fmt::format("shortest ways would need {} lanes; switch {} port {} has {}",
                                   needed, NodeName(input_.snapshot, fabric.at.node),
                                   fabric.at.port, fabric.lanes));
    else
      builder_.AddNote(fmt::format("shortest ways would need {} lanes; lanes_max is {}", needed,
                                   input_.options.lanes_max));
  }
  void Find(Variant& variant) const {
    variant.ways =
        FindLaneWays(graph_, channels_, chosen_.order, *variant.targets, variant.settings, budget_);
  }

  void Write(const Variant& variant) {
    const std::vector<Target>& targets = variant.targets->targets;
    std::vector<uint32_t> by_lid(targets.size());
    std::iota(by_lid.begin(), by_lid.end(), 0u);
    std::sort(by_lid.begin(), by_lid.end(),
              [&](uint32_t a, uint32_t b) { return targets[a].lid < targets[b].lid; });
    const bool has_vls = variant.ways.lanes > 1;
    std::vector<std::shared_ptr<Row>> rows(graph_.size()), levels(has_vls ? graph_.size() : 0);
    std::vector<std::vector<Lid>> unserved(graph_.size());
    const size_t tasks = (graph_.size() + kSwitchesPerTask - 1) / kSwitchesPerTask;
    builder_.parallel().For(tasks, [&](size_t task) {
      const auto begin = static_cast<uint32_t>(task * kSwitchesPerTask);
      const uint32_t end = std::min(begin + kSwitchesPerTask, graph_.size());
      WriteRows(variant, by_lid, begin, end, rows, unserved);
      if (has_vls) WriteLevels(variant, by_lid, begin, end, levels);
    });
    if (variant.settings.up_down)
      Balance(graph_, levels_, chosen_.order, chosen_.costs, input_.options.balance, rows,
              builder_.parallel());
    builder_.AddRows(graph_, variant.ways.ordered ? chosen_.order : Order{}, std::move(rows),
                     unserved);
    if (has_vls) builder_.AddServiceLevels(graph_, variant.ways.lanes, std::move(levels));
  }
  // Switches are written together because their bytes of one target are neighbours.
  void WriteRows(const Variant& variant, const std::vector<uint32_t>& by_lid, uint32_t begin,
                 uint32_t end, std::vector<std::shared_ptr<Row>>& rows,
                 std::vector<std::vector<Lid>>& unserved) const {
    std::vector<std::array<uint8_t, 256>> ports(end - begin);
    for (uint32_t s = begin; s < end; ++s) {
      rows[s] = std::make_shared<Row>(builder_.row_size(), kNoRoute);
      ports[s - begin].fill(kNoRoute);
      for (uint32_t i = 0; i < channels_.out_count(s); ++i)
        ports[s - begin][i] = graph_.cables[channels_.begin[s] + i].port;
    }
    Scatter(by_lid, variant, begin, end, rows, [&](uint32_t s, uint32_t t) {
      const uint8_t out = variant.ways.Out(t, s);
      if (out == LaneWays::kNone) unserved[s].push_back(Lid(variant.targets->targets[t].lid));
      return out == LaneWays::kDeliver ? variant.targets->targets[t].port : ports[s - begin][out];
    });
  }
  void WriteLevels(const Variant& variant, const std::vector<uint32_t>& by_lid, uint32_t begin,
                   uint32_t end, std::vector<std::shared_ptr<Row>>& rows) const {
    for (uint32_t s = begin; s < end; ++s) rows[s] = std::make_shared<Row>(builder_.row_size(), 0);
    Scatter(by_lid, variant, begin, end, rows,
            [&](uint32_t s, uint32_t t) { return variant.ways.Lane(t, s); });
  }
  template <typename ValueOf>
  static void Scatter(const std::vector<uint32_t>& by_lid, const Variant& variant, uint32_t begin,
                      uint32_t end, std::vector<std::shared_ptr<Row>>& rows, ValueOf&& value_of) {
    std::vector<uint8_t*> page(end - begin);
    size_t open = SIZE_MAX;
    for (uint32_t t : by_lid) {
      const size_t lid = variant.targets->targets[t].lid;
      if (open != lid / Row::kPage) {
        open = lid / Row::kPage;
        for (uint32_t s = begin; s < end; ++s) page[s - begin] = rows[s]->WritablePage(open);
      }
      for (uint32_t s = begin; s < end; ++s) page[s - begin][lid % Row::kPage] = value_of(s, t);
    }
  }

  WorkBudget& budget_;
  const bool beside_tree_;
  const RoutingInput& input_;
  PlanBuilder& builder_;
  const SwitchGraph& graph_;
  const ChannelGraph channels_;
  const Levels levels_;
  const ChosenOrder chosen_;
  TargetList by_round_;
  uint8_t limit_ = 1;  // Lanes that may be used.
};

}  // namespace

absl::StatusOr<RoutingPlan> Layered::Compute(const RoutingInput& input) const {
  WorkBudget unlimited;
  WorkBudget& budget = input.budget != nullptr ? *input.budget : unlimited;
  const auto compute = [&](bool beside_tree) -> absl::StatusOr<RoutingPlan> {
    PlanBuilder builder(input, name());
    for (const SwitchGraph& graph : builder.graphs())
      FABRICD_RETURN_IF_ERROR(GraphRouter(input, builder, graph, beside_tree, budget).Run());
    return builder.Finish();
  };
  // Shortest ways that need but one lane, as on a mesh, may leave no room for multicast.
  auto plan = compute(false);
  if (!plan.ok() || plan->lanes > 1 || HasRoomForTrees(input.snapshot, input.lids, *plan))
    return plan;
  return compute(true);
}

}  // namespace fabricd::routing
