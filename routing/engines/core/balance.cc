// SPDX-License-Identifier: Apache-2.0
#include "routing/engines/core/balance.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "routing/plan/no_index.h"
#include "routing/quality/link_load.h"
#include "routing/quality/load_bound.h"

namespace fabricd::routing {
namespace {

constexpr size_t kFlowBytes = 64 << 20;   // Of flows kept by destination.
constexpr uint32_t kMostRounds = 16;      // Over all cables that carry too much.
constexpr uint32_t kTooMuch = kNone - 1;  // Company; below the kNone of no option at all.
// Steps over a switch that cost as much as trying a way does.
constexpr uint64_t kStepsOfTrial = 8;

// A host port that can be moved.
struct Target {
  uint32_t at;
  uint16_t lid;
  uint8_t lmc;
};

// The tables while they change, and what each cable carries.
class Tables {
 public:
  Tables(const SwitchGraph& graph, const Order& order, const HopCosts& costs,
         const std::vector<std::shared_ptr<Row>>& rows)
      : graph_(graph), order_(order), costs_(costs), rows_(rows) {
    cable_at_.assign(size_t{graph.size()} * 256, kNone);
    head_.resize(graph.cables.size());
    tail_.resize(graph.cables.size());
    for (uint32_t s = 0; s < graph.size(); ++s)
      for (uint32_t i = 0; i < graph.degree(s); ++i) {
        const Neighbor& to = graph.neighbor(s, i);
        for (uint32_t c = to.first_cable; c < to.first_cable + to.cable_count; ++c) {
          cable_at_[size_t{s} * 256 + graph.cables[c].port] = c;
          head_[c] = to.head;
          tail_[c] = s;
        }
      }
  }

  uint32_t head(uint32_t cable) const { return head_[cable]; }
  uint32_t tail(uint32_t cable) const { return tail_[cable]; }
  bool IsUp(uint32_t cable) const { return order_[head_[cable]] > order_[tail_[cable]]; }
  // The cable that the switch's entry takes; kNone where the LID leaves the switches.
  uint32_t CableOf(uint32_t s, uint16_t lid) const {
    return cable_at_[size_t{s} * 256 + (*rows_[s])[lid]];
  }
  // Whether the neighbour is on a shortest legal way.
  bool Allows(uint32_t s, const Neighbor& to, uint32_t at) const {
    const bool falls = costs_.DownRow(s)[at] != HopCosts::kNoWay;
    if ((order_[to.head] < order_[s]) != falls) return false;
    const uint8_t* rest = falls ? costs_.DownRow(to.head) : costs_.TotalRow(to.head);
    return rest[at] + 1 == costs_.TotalRow(s)[at];
  }
  // Another LID of the port that takes this cable takes the old one in its place (LMC).
  void Set(uint32_t s, const Target& to, uint32_t cable) {
    const uint8_t port = graph_.cables[cable].port, old = (*rows_[s])[to.lid];
    for (uint32_t i = 1; i < 1u << to.lmc; ++i)
      if ((*rows_[s])[to.lid + i] == port) rows_[s]->Set(to.lid + i, old);
    rows_[s]->Set(to.lid, port);
  }

 private:
  const SwitchGraph& graph_;
  const Order& order_;
  const HopCosts& costs_;
  const std::vector<std::shared_ptr<Row>>& rows_;
  std::vector<uint32_t> cable_at_;     // [switch * 256 + port]
  std::vector<uint32_t> head_, tail_;  // [cable]
};

// How much of each destination's traffic passes each switch, for destinations asked for lately.
class Flows {
 public:
  Flows(const SwitchGraph& graph, const Order& order, const Tables& tables, size_t targets)
      : graph_(graph), tables_(tables), slot_(targets, kNone) {
    by_position_.resize(graph.size());
    for (uint32_t s = 0; s < graph.size(); ++s) by_position_[order[s]] = s;
    room_ = std::max<size_t>(kFlowBytes / (graph.size() * sizeof(uint16_t)), 16);
  }
  // [switch] Host pairs through it; valid until the next call.
  std::vector<uint16_t>& Of(uint32_t target, const Target& to) {
    if (slot_[target] == kNone) {
      work_ += graph_.size() / kStepsOfTrial;
      if (kept_.size() == room_) Forget();
      slot_[target] = static_cast<uint32_t>(kept_.size());
      kept_.emplace_back();
      Measure(to, kept_.back());
      owner_.push_back(target);
    }
    return kept_[slot_[target]];
  }
  // In ways tried.
  uint64_t work() const { return work_; }

 private:
  void Forget() {
    for (uint32_t target : owner_) slot_[target] = kNone;
    owner_.clear();
    kept_.clear();
  }
  void Measure(const Target& to, std::vector<uint16_t>& flow) {
    flow.assign(graph_.hosts.begin(), graph_.hosts.end());
    --flow[to.at];
    cable_.resize(graph_.size());
    for (uint32_t s : by_position_) {
      const uint32_t cable = cable_[s] = s == to.at ? kNone : tables_.CableOf(s, to.lid);
      if (cable == kNone || !tables_.IsUp(cable)) continue;
      flow[tables_.head(cable)] = static_cast<uint16_t>(flow[tables_.head(cable)] + flow[s]);
    }
    for (auto s = by_position_.rbegin(); s != by_position_.rend(); ++s) {
      const uint32_t cable = cable_[*s];
      if (cable == kNone || tables_.IsUp(cable)) continue;
      flow[tables_.head(cable)] = static_cast<uint16_t>(flow[tables_.head(cable)] + flow[*s]);
    }
  }
  const SwitchGraph& graph_;
  const Tables& tables_;
  std::vector<uint32_t> by_position_;
  std::vector<uint32_t> slot_;  // [target] Into kept_.
  std::vector<uint32_t> owner_;
  std::vector<std::vector<uint16_t>> kept_;
  std::vector<uint32_t> cable_;  // [switch]
  size_t room_;
  uint64_t work_ = 0;
};

class Search {
 public:
  Search(const SwitchGraph& graph, const Order& order, const HopCosts& costs,
         const std::vector<Destination>& destinations,
         const std::vector<std::shared_ptr<Row>>& rows, LinkLoad load)
      : graph_(graph),
        tables_(graph, order, costs, rows),
        load_(std::move(load.cable)),
        targets_(FindTargets(graph, destinations)),
        flows_(graph, order, tables_, targets_.size()),
        company_(graph.cables.size(), 0) {}

  // Until no cable carries more than `limit`, or nothing helps, or the trials are used up.
  void Run(uint32_t limit, BalanceReport& report);

 private:
  struct Option {
    uint32_t peak = kNone;     // Highest load on the cables that the new way adds.
    uint32_t company = kNone;  // Highest company on its cables; kTooMuch: the peak is too high.
    uint32_t cable = kNone;
  };

  static std::vector<Target> FindTargets(const SwitchGraph& graph,
                                         const std::vector<Destination>& destinations);
  bool IsSpent() const { return tried_ + flows_.work() > kMostTrials; }
  const std::vector<uint16_t>& FlowOf(uint32_t target) {
    return flows_.Of(target, targets_[target]);
  }
  void FindCarried(uint32_t hot);
  bool Relieve(uint32_t hot, uint32_t limit);
  bool MoveTarget(uint32_t hot, uint32_t target, uint32_t limit, uint32_t most_company);
  void CountCompany(uint32_t s, uint32_t target);
  Option BestOption(uint32_t hot, uint32_t s, uint32_t target, uint16_t amount, uint32_t limit);
  Option Judge(uint32_t hot, uint32_t first, const Target& to, uint32_t amount, uint32_t limit);
  void FindUpstream(uint32_t s, const Target& to, const std::vector<uint16_t>& flow);
  void Follow(uint32_t s, const Target& to, std::vector<uint32_t>& way) const;
  void Apply(uint32_t s, uint32_t target, uint32_t cable);

  const SwitchGraph& graph_;
  Tables tables_;
  std::vector<uint32_t> load_;  // [cable]
  std::vector<Target> targets_;
  Flows flows_;
  std::vector<uint16_t> company_;  // [cable]
  std::vector<uint32_t> counted_;  // Cables whose company is not 0.
  uint64_t tried_ = 0;
  uint32_t moved_ = 0;
  std::vector<uint32_t> old_way_, new_way_, upstream_, carried_, options_;
};

// Those that every table of the graph can hold, as the costs do not know of shorter ones.
std::vector<Target> Search::FindTargets(const SwitchGraph& graph,
                                        const std::vector<Destination>& destinations) {
  const uint32_t limit = *std::min_element(graph.lid_limit.begin(), graph.lid_limit.end());
  uint32_t hosts = 0;
  for (uint32_t n : graph.hosts) hosts += n;
  std::vector<Target> targets;
  for (uint32_t i = 0; i < hosts; ++i) {  // Hosts come first in the order.
    const Destination& to = destinations[i];
    if (to.base_lid + (1u << to.lmc) <= limit) targets.push_back({to.at, to.base_lid, to.lmc});
  }
  return targets;
}

void Search::Follow(uint32_t s, const Target& to, std::vector<uint32_t>& way) const {
  way.clear();
  while (s != to.at) {
    const uint32_t cable = tables_.CableOf(s, to.lid);
    if (cable == kNone) return;
    way.push_back(cable);
    s = tables_.head(cable);
  }
}

// The way over `first`, compared with old_way_ by the cables that it has and the other lacks.
Search::Option Search::Judge(uint32_t hot, uint32_t first, const Target& to, uint32_t amount,
                             uint32_t limit) {
  ++tried_;
  Option option{load_[first] + amount, company_[first], first};
  for (uint32_t s = tables_.head(first); s != to.at;) {
    const uint32_t cable = tables_.CableOf(s, to.lid);
    if (cable == kNone || cable == hot) return {};
    if (std::find(old_way_.begin(), old_way_.end(), cable) == old_way_.end())
      option.peak = std::max(option.peak, load_[cable] + amount);
    option.company = std::max<uint32_t>(option.company, company_[cable]);
    s = tables_.head(cable);
  }
  if (option.peak > limit) option.company = kTooMuch;
  return option;
}

// Counts on each cable the ways from the switch to the other destinations beside this one: what
// meets when each host sends to one other some places further.
void Search::CountCompany(uint32_t s, uint32_t target) {
  for (uint32_t cable : counted_) company_[cable] = 0;
  counted_.clear();
  const uint32_t at = targets_[target].at;
  const auto count = [&](uint32_t i) {
    for (uint32_t q = s; q != at;) {
      const uint32_t cable = tables_.CableOf(q, targets_[i].lid);
      if (cable == kNone) return;
      if (company_[cable]++ == 0) counted_.push_back(cable);
      q = tables_.head(cable);
    }
  };
  for (uint32_t i = target; i-- > 0 && targets_[i].at == at;) count(i);
  for (uint32_t i = target + 1; i < targets_.size() && targets_[i].at == at; ++i) count(i);
}

// The way that stays within `limit` and meets the fewest neighbours, else the one that comes
// nearest to it.
Search::Option Search::BestOption(uint32_t hot, uint32_t s, uint32_t target, uint16_t amount,
                                  uint32_t limit) {
  const Target& to = targets_[target];
  const uint32_t degree = graph_.degree(s);
  Option best;
  CountCompany(s, target);
  // From a place of its own, so that equal choices of many do not meet.
  for (uint32_t step = 0; step < degree; ++step) {
    const Neighbor& next = graph_.neighbor(s, (target + s + step) % degree);
    if (!tables_.Allows(s, next, to.at)) continue;
    for (uint32_t c = next.first_cable; c < next.first_cable + next.cable_count; ++c) {
      if (c == old_way_.front()) continue;
      const Option option = Judge(hot, c, to, amount, limit);
      if (std::tie(option.company, option.peak) < std::tie(best.company, best.peak)) best = option;
    }
  }
  return best;
}

// The switch and all whose packets come through it, nearest first.
void Search::FindUpstream(uint32_t s, const Target& to, const std::vector<uint16_t>& flow) {
  upstream_.assign(1, s);
  uint64_t steps = 0;
  for (size_t next = 0; next < upstream_.size(); ++next) {
    const uint32_t at = upstream_[next];
    steps += graph_.degree(at);
    for (uint32_t i = 0; i < graph_.degree(at); ++i) {
      const uint32_t from = graph_.neighbor(at, i).head;
      if (flow[from] == 0 || from == to.at) continue;
      const uint32_t cable = tables_.CableOf(from, to.lid);
      if (cable != kNone && tables_.head(cable) == at) upstream_.push_back(from);
    }
  }
  tried_ += 1 + steps / kStepsOfTrial;
}

void Search::Apply(uint32_t s, uint32_t target, uint32_t cable) {
  const Target& to = targets_[target];
  std::vector<uint16_t>& flow = flows_.Of(target, to);
  const uint16_t amount = flow[s];
  Follow(s, to, old_way_);
  tables_.Set(s, to, cable);
  Follow(s, to, new_way_);
  for (uint32_t c : old_way_) {
    load_[c] -= amount;
    flow[tables_.head(c)] = static_cast<uint16_t>(flow[tables_.head(c)] - amount);
  }
  for (uint32_t c : new_way_) {
    load_[c] += amount;
    flow[tables_.head(c)] = static_cast<uint16_t>(flow[tables_.head(c)] + amount);
  }
  ++moved_;
}

// Moves what the destination brings to the hot cable, step by step while the cable carries more
// than `limit`; false: no step was possible.
bool Search::MoveTarget(uint32_t hot, uint32_t target, uint32_t limit, uint32_t most_company) {
  const Target& to = targets_[target];
  const std::vector<uint16_t>& flow = FlowOf(target);
  FindUpstream(tables_.tail(hot), to, flow);
  bool any = false;
  for (uint32_t s : upstream_) {
    if (load_[hot] <= limit || IsSpent()) break;
    if (flow[s] == 0) continue;
    Follow(s, to, old_way_);
    // An earlier step may have led it elsewhere.
    if (std::find(old_way_.begin(), old_way_.end(), hot) == old_way_.end()) continue;
    const Option option = BestOption(hot, s, target, flow[s], limit);
    if (option.company > most_company || option.peak >= load_[hot]) continue;
    Apply(s, target, option.cable);
    any = true;
  }
  return any;
}

// The destinations on the cable.
void Search::FindCarried(uint32_t hot) {
  const uint32_t s = tables_.tail(hot);
  carried_.clear();
  for (uint32_t i = 0; i < targets_.size() && !IsSpent(); ++i)
    if (s != targets_[i].at && tables_.CableOf(s, targets_[i].lid) == hot && FlowOf(i)[s] > 0)
      carried_.push_back(i);
}

// Moves destinations off the cable while it carries more than `limit`; false: none moved.
bool Search::Relieve(uint32_t hot, uint32_t limit) {
  FindCarried(hot);
  bool any = false;
  // First where flows hardly meet, then wherever there is room, then wherever it helps at all.
  for (uint32_t most_company : {1u, kTooMuch - 1, kTooMuch})
    for (bool again = true; again && load_[hot] > limit && !IsSpent();) {
      again = false;
      for (uint32_t i : carried_) {
        if (load_[hot] <= limit || IsSpent()) break;
        again |= MoveTarget(hot, i, limit, most_company);
      }
      any |= again;
    }
  return any;
}

void Search::Run(uint32_t limit, BalanceReport& report) {
  std::vector<std::pair<uint32_t, uint32_t>> hot;  // Load, cable.
  for (uint32_t round = 0; round < kMostRounds; ++round) {
    hot.clear();
    for (uint32_t c = 0; c < load_.size(); ++c)
      if (load_[c] > limit) hot.emplace_back(load_[c], c);
    std::sort(hot.begin(), hot.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    bool any = false;
    for (const auto& [load, cable] : hot) any |= Relieve(cable, limit);
    if (!any || IsSpent()) break;
  }
  report.tried = tried_ + flows_.work();
  report.moved = moved_;
  report.after = *std::max_element(load_.begin(), load_.end());
}

// The parents of a switch with their cables, as one number.
uint64_t ParentsOf(const SwitchGraph& graph, const Levels& levels, uint32_t s) {
  uint64_t hash = 0xcbf29ce484222325;
  for (uint32_t i = 0; i < graph.degree(s); ++i) {
    const Neighbor& to = graph.neighbor(s, i);
    if (levels.rank[to.head] < levels.rank[s]) continue;
    hash = (hash ^ to.head) * 0x100000001b3;
    hash = (hash ^ to.cable_count) * 0x100000001b3;
  }
  return hash;
}

}  // namespace

bool ClosedFormSuffices(const SwitchGraph& graph, const Levels& levels) {
  if (!levels.IsStrict()) return false;
  struct Shape {
    uint32_t hosts, up, down;  // Cables.
    bool operator==(const Shape&) const = default;
  };
  std::vector<Shape> shape(levels.top + 1, {kNone, 0, 0});
  std::vector<uint64_t> parents(graph.size());
  for (uint32_t s = 0; s < graph.size(); ++s) parents[s] = ParentsOf(graph, levels, s);
  for (uint32_t s = 0; s < graph.size(); ++s) {
    if (levels.rank[s] > 0 && graph.hosts[s] > 0) return false;
    Shape mine{graph.hosts[s], 0, 0};
    uint32_t child = kNone;
    for (uint32_t i = 0; i < graph.degree(s); ++i) {
      const Neighbor& to = graph.neighbor(s, i);
      const bool down = levels.rank[to.head] < levels.rank[s];
      (down ? mine.down : mine.up) += to.cable_count;
      if (!down) continue;
      if (child != kNone && parents[to.head] != parents[child]) return false;
      child = to.head;
    }
    Shape& all = shape[levels.rank[s]];
    if (all.hosts == kNone) all = mine;
    if (all != mine) return false;
  }
  // Destinations of a component that are neighbours in the index take its cables in turn.
  bool even = true;
  for (uint32_t below = 1; below <= levels.top; ++below)
    ForEachComponent(graph, levels, below, [&](uint64_t hosts, uint64_t cables) {
      even &= hosts <= cables || (cables > 0 && hosts % cables == 0);
    });
  return even;
}

BalanceReport Balance(const SwitchGraph& graph, const Levels& levels, const Order& order,
                      const HopCosts& costs, BalancePolicy policy,
                      const std::vector<std::shared_ptr<Row>>& rows, Parallel& parallel) {
  BalanceReport report;
  report.closed_form = ClosedFormSuffices(graph, levels);
  if (policy == BalancePolicy::kShift || report.closed_form) return report;
  std::vector<const Row*> read;
  for (const auto& row : rows) read.push_back(row.get());
  LinkLoad load = AllToAllLoad(graph, read, order, parallel);
  report.before = report.after = load.max;
  report.bound = CutBound(graph, levels);
  // Each host's own cable carries this much in any case.
  const double hosts = std::accumulate(graph.hosts.begin(), graph.hosts.end(), 0.0);
  const double limit = std::max(kGoodLoad * report.bound, hosts - 1);
  if (load.max <= limit) return report;
  const std::vector<Destination> destinations = TopologicalOrder(graph, levels);
  Search search(graph, order, costs, destinations, rows, std::move(load));
  search.Run(static_cast<uint32_t>(limit), report);
  return report;
}

}  // namespace fabricd::routing
