// SPDX-License-Identifier: Apache-2.0
#include "routing/repair/consequences.h"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "routing/graph/graph.h"
#include "routing/plan/block_mask.h"
#include "routing/plan/parallel.h"
#include "routing/quality/link_load.h"
#include "routing/repair/hitless_repair.h"

namespace fabricd::routing {
namespace {

// Which LIDs can reach each other by some way. Plans are proved, so a way is a route.
class Reach {
 public:
  explicit Reach(const LinkMap& links) : links_(links), components_(links.Components()) {}

  // LinkMap::kNone: nowhere.
  uint32_t ComponentOf(size_t lid) const {
    const LidPlace place = links_.place(lid);
    return place.IsNowhere() ? LinkMap::kNone : components_[place.at];
  }

 private:
  const LinkMap& links_;
  const std::vector<uint32_t> components_;  // [switch]
};

class Comparison {
 public:
  Comparison(const JudgeInput& input, const ReplanResult& result)
      : input_(input),
        before_(input.now->links),
        after_(result.after->links),
        old_(*input.now),
        new_(*result.after) {}

  void Run(Consequences& out) const {
    CountPairs(out);
    FindCutOff(out);
    CountEntries(out);
    Parallel parallel(input_.options.threads);
    out.busiest_before = out.busiest_after = BusiestOf(old_, parallel);
    if (old_.plan != new_.plan) out.busiest_after = BusiestOf(new_, parallel);
  }

 private:
  void CountPairs(Consequences& out) const {
    std::map<uint32_t, uint64_t> was;
    std::map<std::pair<uint32_t, uint32_t>, uint64_t> kept;
    ForEachLid([&](size_t lid, PortRef) {
      const uint32_t from = before_.ComponentOf(lid), to = after_.ComponentOf(lid);
      if (from == LinkMap::kNone) return;
      ++was[from];
      if (to != LinkMap::kNone) ++kept[{from, to}];
    });
    for (const auto& [component, count] : was) out.pairs_lost += count * (count - 1);
    for (const auto& [components, count] : kept) out.pairs_lost -= count * (count - 1);
  }

  // Those of nodes that are to be there: what a node loses by its own end is not counted.
  template <typename Visit>
  void ForEachLid(Visit&& visit) const {
    for (size_t lid = 1; lid <= input_.lids.top().value(); ++lid) {
      const PortRef owner = input_.lids.Owner(Lid(static_cast<uint16_t>(lid)));
      if (!owner.IsNone() && input_.snapshot.node(owner.node) != nullptr) visit(lid, owner);
    }
  }

  // An end port that is no switch and could be reached from another node.
  struct Reached {
    PortRef owner;
    uint32_t was, is;
  };
  struct Company {
    NodeIndex first;
    bool several = false;  // Nodes.
  };
  std::vector<Reached> FindReached() const {
    std::vector<Reached> reached;
    std::map<uint32_t, Company> company;  // By component.
    ForEachLid([&](size_t lid, PortRef owner) {
      const uint32_t component = before_.ComponentOf(lid);
      if (component == LinkMap::kNone || owner.port.value() == 0) return;
      if (lid != input_.lids.Of(owner).base.value()) return;
      const auto [known, added] = company.try_emplace(component, Company{owner.node});
      known->second.several |= known->second.first != owner.node;
      reached.push_back({owner, component, after_.ComponentOf(lid)});
    });
    std::erase_if(reached, [&](const Reached& one) { return !company.at(one.was).several; });
    return reached;
  }

  // What comes apart is cut off from its largest part; of equal ones, from that of the lowest LID.
  void FindCutOff(Consequences& out) const {
    const std::vector<Reached> reached = FindReached();
    std::map<std::pair<uint32_t, uint32_t>, size_t> parts;
    for (const Reached& one : reached)
      if (one.is != LinkMap::kNone) ++parts[{one.was, one.is}];
    std::map<uint32_t, uint32_t> largest;
    for (const Reached& one : reached) {
      if (one.is == LinkMap::kNone) continue;
      const auto [known, first] = largest.try_emplace(one.was, one.is);
      if (!first && parts[{one.was, one.is}] > parts[{one.was, known->second}])
        known->second = one.is;
    }
    const auto& isolated = input_.intent.isolated;
    for (const Reached& one : reached) {
      const bool stays = one.is != LinkMap::kNone && largest.at(one.was) == one.is;
      if (!stays && !std::binary_search(isolated.begin(), isolated.end(), one.owner))
        out.cut_off.push_back(one.owner);
    }
    std::sort(out.cut_off.begin(), out.cut_off.end());
  }

  void CountEntries(Consequences& out) const {
    const RoutingPlan& old = *old_.plan;
    const PlanDiff diff = DiffPlans(old, *new_.plan);
    out.destinations_moved = diff.destinations;
    out.switches_written = diff.switches;
    out.blocks_written = static_cast<uint32_t>(diff.blocks.size());
    for (const ChangedBlock& changed : diff.blocks) {
      if (!old.HasRow(changed.node)) continue;
      const Row& row = *old.rows[changed.node.value()];
      if (changed.block >= row.blocks()) continue;
      out.paths_moved += static_cast<uint64_t>(
          std::popcount(changed.lids & ~EqualMask(row.block(changed.block), kNoRoute)));
    }
  }

  // Of what the plan was made for.
  BusiestLink BusiestOf(const RouteState& state, Parallel& parallel) const {
    BusiestLink busiest;
    for (const SwitchGraph& graph : BuildGraphs(state.links.snapshot(), input_.lids)) {
      const LinkLoad load = AllToAllLoad(graph, *state.plan, parallel);
      const auto first = std::find(load.cable.begin(), load.cable.end(), load.max);
      if (load.max <= busiest.load || first == load.cable.end()) continue;
      busiest = {load.max, SendingEnd(graph, static_cast<size_t>(first - load.cable.begin()))};
    }
    return busiest;
  }

  const JudgeInput& input_;
  const Reach before_, after_;
  const RouteState &old_, &new_;
};

bool Has(const std::vector<PortRef>& sorted, PortRef port) {
  return std::binary_search(sorted.begin(), sorted.end(), port);
}

bool IsSmCutOff(const JudgeInput& input, const Consequences& found) {
  const fabric::Intent& intent = input.intent;
  if (Has(found.cut_off, input.sm_port) || Has(intent.isolated, input.sm_port)) return true;
  std::vector<PortRef> ends{input.sm_port};
  const fabric::Port* port = input.snapshot.port(input.sm_port);
  if (port && !port->peer.IsNone()) ends.push_back(port->peer);
  return std::any_of(ends.begin(), ends.end(), [&](PortRef end) {
    return Has(intent.closed_links, end) || Has(intent.disabled, end);
  });
}

}  // namespace

Consequences Judge(const JudgeInput& input) {
  Consequences found;
  const ReplanInput asked{input.snapshot, input.lids, input.intent,
                          input.options,  input.now,  input.goal};
  const ReplanResult result = Replan(asked);
  found.steps = result.steps;
  found.needed_links = result.needed_links;
  found.needed_switches = result.needed_switches;
  if (!result.after) {
    found.plan_found = false;
    for (const ChainStep& step : result.steps)
      found.why_not +=
          fmt::format("{}{}: {}", found.why_not.empty() ? "" : "; ", step.engine, step.reason);
    found.sm_cut_off = IsSmCutOff(input, found);
    return found;
  }
  found.engine = result.after->plan->engine;
  if (input.now) {
    Comparison(input, result).Run(found);
    const PushPlan push = OrderOver(asked, *result.after);
    found.destinations_interrupted = push.destinations_interrupted;
    found.paths_interrupted = push.paths_interrupted;
  }
  found.sm_cut_off = IsSmCutOff(input, found);
  return found;
}

}  // namespace fabricd::routing
