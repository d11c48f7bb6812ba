// SPDX-License-Identifier: Apache-2.0
#include "routing/repair/unproved_repair.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "routing/proof/verifier.h"
#include "routing/repair/repair.h"

namespace fabricd::routing {
namespace {

// More are served sooner by another plan.
constexpr size_t kMostUnserved = 1'000'000;

bool PairLess(const ExemptPair& a, const ExemptPair& b) {
  return std::tie(a.source_switch, a.destination) < std::tie(b.source_switch, b.destination);
}

enum class Fate : uint8_t { kUnknown, kFollowed, kArrives, kLost };

// Follows the entries for one LID from everywhere.
class Walker {
 public:
  Walker(const LinkMap& links, const RoutingPlan& plan)
      : links_(links), plan_(plan), fate_(links.size()) {}

  void Begin(Lid lid) {
    lid_ = lid;
    std::fill(fate_.begin(), fate_.end(), Fate::kUnknown);
  }
  bool Arrives(uint32_t s) {
    path_.clear();
    Fate end = fate_[s];
    while (end == Fate::kUnknown) {
      fate_[s] = Fate::kFollowed;
      path_.push_back(s);
      end = Hop(s);
      if (end == Fate::kUnknown) end = fate_[s];
    }
    if (end == Fate::kFollowed) end = Fate::kLost;
    for (const uint32_t passed : path_) fate_[passed] = end;
    return end == Fate::kArrives;
  }

 private:
  // Moves `s` on and returns kUnknown, or tells how the walk ends.
  Fate Hop(uint32_t& s) const {
    const NodeIndex node = links_.node(s);
    const uint8_t out = plan_.HasRow(node) ? plan_.EgressPort(node, lid_) : kNoRoute;
    const LidPlace place = links_.place(lid_.value());
    if (s == place.at) return out == place.port ? Fate::kArrives : Fate::kLost;
    const FarEnd far = links_.far(s, out);
    if (!far.IsSwitch()) return Fate::kLost;
    s = far.head;
    return Fate::kUnknown;
  }

  const LinkMap& links_;
  const RoutingPlan& plan_;
  Lid lid_;
  std::vector<Fate> fate_;  // [switch]
  std::vector<uint32_t> path_;
};

// By source, then destination: the pairs that a path could serve and that no entry serves, without
// exempt ones. Looks at each entry once.
std::vector<ExemptPair> UnservedPairs(const LinkMap& links, const RoutingPlan& plan) {
  std::vector<ExemptPair> pairs, exempt = plan.exempt;
  std::sort(exempt.begin(), exempt.end(), PairLess);
  const std::vector<uint32_t> components = links.Components();
  Walker walker(links, plan);
  for (uint32_t number = 1; number < links.lid_end(); ++number) {
    const LidPlace place = links.place(number);
    if (place.IsNowhere()) continue;
    const Lid lid(static_cast<uint16_t>(number));
    walker.Begin(lid);
    for (uint32_t s = 0; s < links.size(); ++s) {
      if (!links.IsAlive(s) || components[s] != components[place.at] || walker.Arrives(s)) continue;
      const ExemptPair pair{links.node(s), lid};
      if (!std::binary_search(exempt.begin(), exempt.end(), pair, PairLess)) pairs.push_back(pair);
    }
  }
  std::sort(pairs.begin(), pairs.end(), PairLess);
  return pairs;
}

}  // namespace

std::optional<RouteState> RepairUnproved(const ReplanInput& input, const UsableFabric& usable,
                                         const LinkMap& links, RoutingPlan plan) {
  plan.pending = UnservedPairs(links, plan);
  if (plan.pending.size() > kMostUnserved) return std::nullopt;
  const AppliedTables tables = TablesOf(plan);
  RepairOptions options = RepairOptionsFor(input, usable);
  options.applied = &tables;
  const RouteState state{links, std::make_shared<const RoutingPlan>(std::move(plan)), nullptr};
  auto repair = RepairPlan(state, *usable.snapshot, *usable.lids, options);
  if (!repair.ok() || !repair->after.plan->pending.empty()) return std::nullopt;
  // What it started from was never proved, so a proof of what it changed says too little.
  if (!Verify(*usable.snapshot, *usable.lids, *repair->after.plan, input.options.threads).ok)
    return std::nullopt;
  return std::move(repair->after);
}

}  // namespace fabricd::routing
