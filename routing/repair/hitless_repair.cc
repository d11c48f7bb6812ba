// SPDX-License-Identifier: Apache-2.0
#include "routing/repair/hitless_repair.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "routing/repair/unproved_repair.h"
#include "routing/transition/other_orders.h"

namespace fabricd::routing {
namespace {

constexpr size_t kMostOrders = 64;
// Entries of the tables, for all orders that are tried; each looks at all of them some times.
constexpr uint64_t kMostEntries = 6'000'000;

class HitlessRepair {
 public:
  HitlessRepair(const ReplanInput& input, const UsableFabric& usable)
      : input_(input), usable_(usable), before_(*input.before) {
    LinkChanges unused;
    links_ = before_.links.Next(*usable.snapshot, *usable.lids, unused);
    observed_ = before_.links.Next(input.snapshot, input.lids, unused);
    held_ = input.applied ? *input.applied : TablesOf(*before_.plan);
    // Nothing is known of switches that have come since.
    held_.rows.resize(std::max<size_t>(held_.rows.size(), input.snapshot.node_index_end()));
  }

  HitlessResult Run() {
    const uint64_t entries = std::max<uint64_t>(uint64_t{links_.size()} * links_.lid_end(), 1);
    const size_t most = std::min<size_t>(kMostOrders, kMostEntries / entries);
    const RoutingPlan& plan = *before_.plan;
    if (most == 0) return {};
    const PushInput tables{observed_, held_, nullptr, plan, input_.options.threads};
    for (const std::vector<uint32_t>& order : OtherOrders(tables, links_, most)) {
      RepairBy(order);
      if (best_.after && best_.paths_interrupted == 0) break;
    }
    return std::move(best_);
  }

 private:
  PushPlan Push(const RouteState& after) const {
    return OrderPush({observed_, held_, before_.plan.get(), *after.plan, input_.options.threads});
  }

  void Offer(RouteState after, const PushPlan& push) {
    if (best_.after && best_.paths_interrupted <= push.paths_interrupted) return;
    after.home = before_.home ? before_.home : input_.before;
    best_ = {std::make_shared<const RouteState>(std::move(after)), push.paths_interrupted};
  }

  void RepairBy(const std::vector<uint32_t>& order) {
    RepairOptions options = RepairOptionsFor(input_, usable_);
    options.order = &order;
    auto repair = RepairPlan(before_, *usable_.snapshot, *usable_.lids, options);
    if (!repair.ok()) return;
    const PushPlan push = Push(repair->after);
    if (!push.hitless && !push.stuck.empty()) RepairAround(repair->after, push);
    Offer(std::move(repair->after), push);
  }

  // With those entries left as they are that stand in the way of `whole`.
  void RepairAround(const RouteState& whole, const PushPlan& push) {
    RoutingPlan part = *whole.plan;
    part.order.clear();
    part.unturned_order.clear();
    for (const PushPlan::Stuck& stuck : push.stuck) KeepOld(stuck, part);
    auto repaired = RepairUnproved(input_, usable_, links_, std::move(part));
    if (!repaired) return;
    const PushPlan around = Push(*repaired);
    Offer(*std::move(repaired), around);
  }
  void KeepOld(const PushPlan::Stuck& stuck, RoutingPlan& part) const {
    auto& place = part.rows[stuck.node.value()];
    auto row = std::make_shared<Row>(*place);
    const Row& old = held_.rows[stuck.node.value()];
    for (uint32_t i = 0; i < Row::kBlock; ++i) {
      const size_t lid = stuck.block * Row::kBlock + i;
      if (stuck.lids >> i & 1) row->Set(lid, lid < old.size() ? old[lid] : kNoRoute);
    }
    place = std::move(row);
  }

  const ReplanInput& input_;
  const UsableFabric& usable_;
  const RouteState& before_;
  LinkMap links_, observed_;  // With the same numbers.
  AppliedTables held_;
  HitlessResult best_;
};

}  // namespace

PushPlan OrderOver(const ReplanInput& input, const RouteState& after) {
  const RoutingPlan* before = input.before ? input.before->plan.get() : nullptr;
  // Old entries are followed wherever they lead, also over links that may not be used.
  LinkChanges unused;
  const LinkMap links =
      input.intent.empty() ? after.links : after.links.Next(input.snapshot, input.lids, unused);
  if (input.applied)
    return OrderPush({links, *input.applied, before, *after.plan, input.options.threads});
  return OrderPush({links, TablesOf(*before), before, *after.plan, input.options.threads});
}

HitlessResult RepairHitlessly(const ReplanInput& input, const UsableFabric& usable) {
  if (!input.before || !input.before->plan->NeedsOneVl()) return {};
  return HitlessRepair(input, usable).Run();
}

}  // namespace fabricd::routing
