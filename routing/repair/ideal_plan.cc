// SPDX-License-Identifier: Apache-2.0
#include "routing/repair/ideal_plan.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "fabric/snapshot_builder.h"
#include "routing/transition/trees_fit.h"

namespace fabricd::routing {
namespace {

using fabric::FabricSnapshot;
using fabric::Intent;

// `port` may be linked to `peer` again.
bool MayLink(const FabricSnapshot& snapshot, PortRef port, PortRef peer) {
  const fabric::Port* found = snapshot.port(port);
  return found && (found->peer.IsNone() || found->peer == peer);
}

// The fabric with all links up that flap.
FabricSnapshot WithFlapping(const FabricSnapshot& snapshot, const Intent& intent) {
  fabric::SnapshotBuilder builder(snapshot);
  for (const Intent::Link& link : intent.flapping_links) {
    if (!MayLink(snapshot, link.a, link.b) || !MayLink(snapshot, link.b, link.a)) continue;
    for (PortRef port : {link.a, link.b}) {
      wire::PortInfo info = snapshot.port(port)->info;
      if (!snapshot.port(port)->IsUp()) info.port_state = wire::PortState::kActive;
      builder.SetPortInfo(port, info);
    }
    builder.Link(link.a, link.b);
  }
  return *builder.Build();
}

// What is wanted for longer.
Intent WithoutFlapping(Intent intent) {
  std::erase_if(intent.avoided_links, [&](PortRef port) {
    return std::any_of(intent.flapping_links.begin(), intent.flapping_links.end(),
                       [&](const auto& link) { return link.a == port || link.b == port; });
  });
  intent.flapping_links.clear();
  return intent;
}

bool ClosesSome(const Intent& intent) {
  return !intent.closed_links.empty() || !intent.avoided_links.empty() ||
         !intent.closed_switches.empty() || !intent.avoided_switches.empty() ||
         !intent.isolated.empty() || !intent.disabled.empty();
}

// How many times the highest load of a plan without memory may be borne for the sake of a memory.
constexpr double kFarMore = 1.25;

using SharedState = std::shared_ptr<const RouteState>;

class Finder {
 public:
  Finder(const ReplanInput& input, const UsableFabric& usable,
         std::shared_ptr<const RoutingPlan> previous)
      : input_(input),
        usable_(usable),
        flaps_(!input.intent.flapping_links.empty()),
        standing_(WithoutFlapping(input.intent)),
        snapshot_(flaps_ ? WithFlapping(input.snapshot, input.intent) : input.snapshot),
        previous_(std::move(previous)) {}

  // Of what is found (RoutingPlan); where it is led round links that flap, perhaps from before.
  std::optional<double> load_times_bound() const { return load_times_bound_; }

  IdealPlan Run() {
    IdealPlan ideal;
    if (ClosesSome(standing_)) {
      ideal.whole = RunOn(snapshot_, input_.lids).first;
      if (ideal.whole) NumberAs(*ideal.whole->plan);
    }
    const UsableFabric standing =
        flaps_ ? MakeUsable(snapshot_, input_.lids, standing_) : UsableFabric(usable_);
    std::tie(ideal.wanted, ideal.steps) = RunOn(*standing.snapshot, *standing.lids);
    if (!ideal.whole) ideal.whole = ideal.wanted;
    if (ideal.wanted && flaps_) LeadRound(ideal);
    if (ideal.wanted) load_times_bound_ = ideal.wanted->plan->load_times_bound;
    return ideal;
  }

 private:
  std::pair<SharedState, std::vector<ChainStep>> RunOn(const FabricSnapshot& snapshot,
                                                       const fabric::LidTable& lids) const {
    ChainResult chain = RunChain({snapshot, lids, input_.options, previous_.get()});
    SharedState state;
    if (chain.plan)
      state =
          std::make_shared<const RouteState>(MakeRouteState(snapshot, lids, std::move(chain.plan)));
    return {std::move(state), std::move(chain.steps)};
  }
  // The next plan numbers the tree as this one, and shares rows with the one before.
  void NumberAs(const RoutingPlan& whole) {
    auto previous = std::make_shared<RoutingPlan>(previous_ ? *previous_ : whole);
    previous->layout = whole.layout;
    previous_ = std::move(previous);
  }
  void LeadRound(IdealPlan& ideal) const {
    auto repair = RepairPlan(*ideal.wanted, *usable_.snapshot, *usable_.lids,
                             RepairOptionsFor(input_, usable_));
    if (repair.ok() && repair->after.plan->pending.empty() && LeavesRoom(*repair->after.plan))
      ideal.wanted = std::make_shared<const RouteState>(std::move(repair->after));
    else
      std::tie(ideal.wanted, ideal.steps) = RunOn(*usable_.snapshot, *usable_.lids);
  }

  // What an engine makes does.
  bool LeavesRoom(const RoutingPlan& plan) const {
    return !input_.trees || HasRoomForTrees(*usable_.snapshot, *usable_.lids, plan);
  }

  const ReplanInput& input_;
  const UsableFabric& usable_;
  const bool flaps_;
  const Intent standing_;
  const FabricSnapshot snapshot_;
  std::shared_ptr<const RoutingPlan> previous_;  // Null: none.
  std::optional<double> load_times_bound_;
};

std::shared_ptr<const RoutingPlan> WithoutLayout(const RoutingPlan& plan) {
  auto without = std::make_shared<RoutingPlan>(plan);
  without->layout = nullptr;
  return without;
}

}  // namespace

IdealPlan FindIdealPlan(const ReplanInput& input, const UsableFabric& usable) {
  Finder finder(input, usable, input.before ? input.before->plan : nullptr);
  IdealPlan ideal = finder.Run();
  if (!input.before || !input.before->plan->layout || finder.load_times_bound() <= kFarMore)
    return ideal;
  // A memory of what has been is worth something, but not that much.
  Finder forgetful(input, usable, WithoutLayout(*input.before->plan));
  IdealPlan fresh = forgetful.Run();
  if (!fresh.wanted || !forgetful.load_times_bound()) return ideal;
  return *finder.load_times_bound() > kFarMore * *forgetful.load_times_bound() ? fresh : ideal;
}

bool HasAllLinks(const LinkMap& whole, const LinkMap& part) {
  for (uint32_t s = 0; s < part.size(); ++s) {
    if (!part.IsAlive(s)) continue;
    const uint32_t same = whole.number(part.node(s));
    if (same == LinkMap::kNone || !whole.IsAlive(same)) return false;
    for (uint32_t port = 1; port < part.ports(s); ++port) {
      const FarEnd far = part.Ports(s)[port];
      if (!far.IsSwitch()) continue;
      const FarEnd now = whole.far(same, static_cast<uint8_t>(port));
      if (!now.IsSwitch() || now.port != far.port || whole.node(now.head) != part.node(far.head))
        return false;
    }
  }
  return true;
}

}  // namespace fabricd::routing
