// SPDX-License-Identifier: Apache-2.0
#include "routing/repair/held_plan.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "routing/proof/order_proof.h"
#include "routing/proof/verifier.h"
#include "routing/repair/unproved_repair.h"
#include "routing/transition/other_orders.h"

namespace fabricd::routing {
namespace {

// The fabric that the plan is for.
struct Target {
  const fabric::FabricSnapshot& snapshot;
  const fabric::LidTable& lids;
  const LinkMap links;
  const std::vector<PortRef> cut;  // UsableFabric::cut
};

class HeldPlan {
 public:
  HeldPlan(const ReplanInput& input, Target target)
      : input_(input),
        ideal_(*input.ideal->plan),
        target_(std::move(target)),
        links_(target_.links),
        components_(links_.Components()),
        keeps_stale_(fabric::HasUnknownNeighbours(input.snapshot)),
        plan_(ideal_),
        is_stale_(ideal_.lid_top.value() + size_t{1}, 0) {
    plan_.rows.assign(target_.snapshot.node_index_end(), nullptr);
    plan_.order.clear();
    plan_.unturned_order.clear();
    plan_.pending.clear();
    plan_.load_times_bound.reset();
    plan_.notes.clear();
    TakeRows();
    ListStale();
  }

  // Null: something is not served, or deadlocks are possible.
  std::shared_ptr<const RouteState> AsItIs() {
    plan_.order = ideal_.order;
    if (OrderProves(target_.snapshot, target_.lids, plan_, input_.options.threads))
      return Share({links_, Copy(), nullptr});
    FindOrder();
    if (IsProved()) return Share({links_, Copy(), nullptr});
    const bool is_less = !keeps_stale_ && DropStale([](uint32_t) { return true; });
    return is_less && IsProved() ? Share({links_, Copy(), nullptr}) : nullptr;
  }
  // REQUIRES: AsItIs() was not possible.
  std::shared_ptr<const RouteState> Repaired(const UsableFabric& usable) {
    auto repaired = RepairUnproved(input_, usable, links_, plan_);
    if (!repaired && !plan_.order.empty()) {
      plan_.order.clear();
      repaired = RepairUnproved(input_, usable, links_, plan_);
    }
    return repaired ? Share(*std::move(repaired)) : nullptr;
  }

 private:
  std::shared_ptr<const RoutingPlan> Copy() const {
    return std::make_shared<const RoutingPlan>(plan_);
  }
  std::shared_ptr<const RouteState> Share(RouteState state) const {
    state.home = input_.ideal->home ? input_.ideal->home : input_.ideal;
    return std::make_shared<const RouteState>(std::move(state));
  }
  bool IsProved() const {
    return VerifyOrdered(target_.snapshot, target_.lids, plan_, input_.options.threads).ok;
  }

  // As long as the tables of the ideal plan. A switch whose table was not read has lost it, and
  // leads nowhere.
  void TakeRows() {
    const std::vector<Row>& held = input_.applied->rows;
    const size_t size = (ideal_.lid_top.value() / Row::kBlock + size_t{1}) * Row::kBlock;
    for (uint32_t s = 0; s < links_.size(); ++s) {
      if (!links_.IsAlive(s)) continue;
      const NodeIndex node = links_.node(s);
      auto row = std::make_shared<Row>(node.value() < held.size() ? held[node.value()] : Row());
      row->Resize(size, kNoRoute);
      if (ideal_.HasRow(node)) row->ShareEqualPages(*ideal_.rows[node.value()]);
      ClearUnreached(s, *row);
      plan_.rows[node.value()] = std::move(row);
    }
    std::erase_if(plan_.exempt, [&](const ExemptPair& pair) {
      return !plan_.HasRow(pair.source_switch) ||
             plan_.EgressPort(pair.source_switch, pair.destination) != kNoRoute;
    });
  }
  // What would end in the wrong hands, and what leads over ports that no path may use.
  void ClearUnreached(uint32_t s, Row& row) {
    for (const uint32_t lid : UnreachedFrom(components_[s], row.size())) {
      const uint8_t out = row[lid];
      if (out == kNoRoute) continue;
      const bool is_cut = std::find(target_.cut.begin(), target_.cut.end(),
                                    PortRef{links_.node(s), PortNum(out)}) != target_.cut.end();
      if (lid == 0 || lid >= is_stale_.size() || out == 0 || is_cut ||
          links_.far(s, out).head == FarEnd::kEndPort)
        row.Set(lid, kNoRoute);
      else
        is_stale_[lid] = 1;
    }
  }
  const std::vector<uint32_t>& UnreachedFrom(uint32_t component, size_t size) {
    const auto [found, is_new] = unreached_.try_emplace(component);
    for (uint32_t lid = 0; is_new && lid < size; ++lid) {
      const LidPlace place = links_.place(lid);
      if (place.IsNowhere() || components_[place.at] != component) found->second.push_back(lid);
    }
    return found->second;
  }
  bool IsWanted(uint32_t s, uint32_t lid) const {
    const LidPlace place = links_.place(lid);
    return !place.IsNowhere() && components_[place.at] == components_[s];
  }

  void FindOrder() {
    plan_.order.clear();
    if (TakeOrder(ideal_.order)) return;
    RoutingPlan like_ideal = plan_;
    like_ideal.order = ideal_.order;
    const AppliedTables held = TablesOf(plan_);
    const PushInput tables{links_, held, nullptr, like_ideal, input_.options.threads};
    for (const std::vector<uint32_t>& order : OtherOrders(tables, links_, 1))
      if (TakeOrder(order)) return;
  }
  // If all entries follow it. Those that lead to nothing are dropped where they do not.
  bool TakeOrder(const std::vector<uint32_t>& order) {
    if (order.empty()) return false;
    std::vector<uint32_t> position(links_.size());
    std::vector<const Row*> rows(links_.size(), nullptr);
    for (uint32_t s = 0; s < links_.size(); ++s) {
      if (!links_.IsAlive(s)) continue;
      position[s] = order[links_.node(s).value()];
      rows[s] = plan_.rows[links_.node(s).value()].get();
    }
    std::vector<uint8_t> turns(is_stale_.size(), 0);
    for (uint32_t s = 0; s < links_.size(); ++s)
      if (rows[s] != nullptr && !MarkTurning(s, position, rows, turns)) return false;
    if (keeps_stale_ && std::count(turns.begin(), turns.end(), 1) > 0) return false;
    plan_.order = order;
    DropStale([&](uint32_t lid) { return turns[lid] != 0; });
    return true;
  }
  // Stale LIDs that rise after they fell at this switch. False: another one does.
  bool MarkTurning(uint32_t s, const std::vector<uint32_t>& position,
                   const std::vector<const Row*>& rows, std::vector<uint8_t>& turns) const {
    for (uint32_t lid = 1; lid < turns.size(); ++lid) {
      const FarEnd far = links_.far(s, (*rows[s])[lid]);
      if (!far.IsSwitch() || position[far.head] > position[s]) continue;
      const FarEnd then = links_.far(far.head, (*rows[far.head])[lid]);
      if (!then.IsSwitch() || position[then.head] < position[far.head]) continue;
      if (IsWanted(s, lid)) return false;
      turns[lid] = 1;
    }
    return true;
  }

  void ListStale() {
    plan_.stale.clear();
    for (uint32_t lid = 0; lid < is_stale_.size(); ++lid)
      if (is_stale_[lid]) plan_.stale.push_back(Lid(static_cast<uint16_t>(lid)));
  }
  // False: there are none.
  template <typename Which>
  bool DropStale(Which&& which) {
    std::vector<uint32_t> dropped;
    for (uint32_t lid = 0; lid < is_stale_.size(); ++lid)
      if (is_stale_[lid] && which(lid)) dropped.push_back(lid);
    if (dropped.empty()) return false;
    for (const uint32_t lid : dropped) is_stale_[lid] = 0;
    for (uint32_t s = 0; s < links_.size(); ++s) {
      if (!links_.IsAlive(s)) continue;
      auto& place = plan_.rows[links_.node(s).value()];
      auto row = std::make_shared<Row>(*place);
      for (const uint32_t lid : dropped)
        if ((*row)[lid] != kNoRoute && !IsWanted(s, lid)) row->Set(lid, kNoRoute);
      place = std::move(row);
    }
    ListStale();
    return true;
  }

  const ReplanInput& input_;
  const RoutingPlan& ideal_;
  const Target target_;
  const LinkMap& links_;
  const std::vector<uint32_t> components_;  // [switch]
  // Nodes that do not respond may be served by entries towards LIDs that hang nowhere.
  const bool keeps_stale_;
  std::map<uint32_t, std::vector<uint32_t>> unreached_;  // By component: LIDs, from 0 on.
  RoutingPlan plan_;
  std::vector<uint8_t> is_stale_;  // [LID] Some switch has an entry, and cannot reach it.
};

}  // namespace

std::shared_ptr<const RouteState> MakeHeldPlan(const ReplanInput& input,
                                               const UsableFabric& usable) {
  if (!input.ideal->plan->NeedsOneVl() || !input.applied->unsure.empty()) return nullptr;
  const LinkMap& links = input.ideal->links;
  HeldPlan held(input, {*usable.snapshot, *usable.lids, links, usable.cut});
  if (auto state = held.AsItIs()) return state;
  // What the intent closes may not have been left yet.
  if (!input.intent.empty()) {
    LinkChanges unused;
    HeldPlan observed(
        input, {input.snapshot, input.lids, links.Next(input.snapshot, input.lids, unused), {}});
    if (auto state = observed.AsItIs()) return state;
  }
  return held.Repaired(usable);
}

}  // namespace fabricd::routing
