// SPDX-License-Identifier: Apache-2.0
#include "routing/repair/stale_lids.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "common/sort_unique.h"

namespace fabricd::routing {
namespace {

class Keeper {
 public:
  Keeper(const RoutingPlan& before, const LinkMap& observed, const std::vector<PortRef>& cut,
         const RouteState& after)
      : before_(before), observed_(observed), cut_(cut), links_(after.links), plan_(*after.plan) {}

  std::vector<Lid> Find() const {
    std::vector<Lid> kept;
    const uint32_t top = std::min(before_.lid_top.value(), plan_.lid_top.value());
    for (uint32_t lid = 1; lid <= top; ++lid)
      if (observed_.place(lid).IsNowhere() && links_.place(lid).IsNowhere() && MayStay(lid))
        kept.push_back(Lid(static_cast<uint16_t>(lid)));
    return kept;
  }
  uint8_t Old(uint32_t s, uint32_t lid) const {
    const NodeIndex node = links_.node(s);
    if (!links_.IsAlive(s) || !before_.HasRow(node) || !plan_.HasRow(node)) return kNoRoute;
    const Row& row = *before_.rows[node.value()];
    return lid < row.size() ? row[lid] : kNoRoute;
  }

 private:
  bool MayStay(uint32_t lid) const {
    bool any = false;
    for (uint32_t s = 0; s < links_.size(); ++s) {
      const uint8_t out = Old(s, lid);
      if (out == kNoRoute) continue;
      any = true;
      const FarEnd far = links_.far(s, out);
      const PortRef port{links_.node(s), PortNum(out)};
      if (out == 0 || far.head == FarEnd::kEndPort ||
          std::find(cut_.begin(), cut_.end(), port) != cut_.end())
        return false;
      if (!far.IsSwitch() || Rises(s, far.head)) continue;
      const FarEnd beyond = links_.far(far.head, Old(far.head, lid));
      if (beyond.IsSwitch() && Rises(far.head, beyond.head)) return false;
    }
    return any;
  }
  bool Rises(uint32_t from, uint32_t to) const { return Position(to) > Position(from); }
  uint32_t Position(uint32_t s) const { return plan_.order[links_.node(s).value()]; }

  const RoutingPlan& before_;
  const LinkMap& observed_;
  const std::vector<PortRef>& cut_;
  const LinkMap& links_;
  const RoutingPlan& plan_;
};

bool HasOrder(const RoutingPlan& plan) { return !plan.order.empty() && plan.NeedsOneVl(); }

}  // namespace

void KeepStaleLids(const RoutingPlan& before, const LinkMap& observed,
                   const std::vector<PortRef>& cut, const std::vector<Lid>& isolated,
                   RouteState& after) {
  if (!HasOrder(before) || !HasOrder(*after.plan)) return;
  const Keeper keeper(before, observed, cut, after);
  std::vector<Lid> kept = keeper.Find();
  std::erase_if(kept,
                [&](Lid lid) { return std::binary_search(isolated.begin(), isolated.end(), lid); });
  if (kept.empty()) return;
  auto plan = std::make_shared<RoutingPlan>(*after.plan);
  for (uint32_t s = 0; s < after.links.size(); ++s) {
    const NodeIndex node = after.links.node(s);
    if (!after.links.IsAlive(s) || !plan->HasRow(node)) continue;
    auto& place = plan->rows[node.value()];
    auto row = std::make_shared<Row>(*place);
    for (Lid lid : kept) row->Set(lid.value(), keeper.Old(s, lid.value()));
    const bool same = before.HasRow(node) && *before.rows[node.value()] == *row;
    place = same ? before.rows[node.value()] : std::move(row);
  }
  std::vector<Lid> stale;
  std::set_union(plan->stale.begin(), plan->stale.end(), kept.begin(), kept.end(),
                 std::back_inserter(stale));
  plan->stale = std::move(stale);
  after.plan = std::move(plan);
}

namespace {

// By switch number. 0: it has none.
std::vector<Lid> LidsOfSwitches(const LinkMap& links) {
  std::vector<Lid> lids(links.size());
  for (size_t lid = links.lid_end(); lid-- > 1;)
    if (const LidPlace place = links.place(lid); !place.IsNowhere() && place.IsSwitch())
      lids[place.at] = Lid(static_cast<uint16_t>(lid));
  return lids;
}

// LIDs that the switches lead to nodes that do not respond.
class HeldLids {
 public:
  HeldLids(const AppliedTables& held, const LinkMap& observed, const std::vector<PortRef>& cut,
           Lid top)
      : held_(held),
        snapshot_(observed.snapshot()),
        cut_(cut),
        exits_(top.value() + size_t{1}, NodeIndex::None()) {
    for (size_t i = held.rows.size(); i-- > 0;)
      for (uint32_t lid = 1; lid < std::min(held.rows[i].size(), exits_.size()); ++lid)
        if (Leaves(NodeIndex(static_cast<uint32_t>(i)), lid))
          exits_[lid] = NodeIndex(static_cast<uint32_t>(i));
  }

  // The first switch at which the LID leaves for such a node. None: there is none.
  NodeIndex Exit(uint32_t lid) const { return exits_[lid]; }
  uint32_t end() const { return static_cast<uint32_t>(exits_.size()); }
  // Whether the entry of this switch leads to such a node.
  bool Leaves(NodeIndex index, uint32_t lid) const {
    const fabric::Node* node = snapshot_.node(index);
    const uint8_t out = Entry(index, lid);
    return node != nullptr && out > 0 && out < node->ports.size() &&
           node->ports[out].LeadsToUnknown() &&
           std::find(cut_.begin(), cut_.end(), PortRef{index, PortNum(out)}) == cut_.end();
  }
  uint8_t Entry(NodeIndex index, uint32_t lid) const {
    if (index.value() >= held_.rows.size()) return kNoRoute;
    const Row& row = held_.rows[index.value()];
    return lid < row.size() ? row[lid] : kNoRoute;
  }

 private:
  const AppliedTables& held_;
  const fabric::FabricSnapshot& snapshot_;
  const std::vector<PortRef>& cut_;
  std::vector<NodeIndex> exits_;  // [LID]
};

struct Likeness {
  Lid lid, exit;  // The latter is the LID of the switch where the former leaves.
};

// Leads each LID wherever the plan leads to `exit`. Routes to that are proved, and these are no
// longer but for a port that leads to no known switch.
void LeadLike(const HeldLids& held, const LinkMap& links, const std::vector<Likeness>& pairs,
              RoutingPlan& plan) {
  for (uint32_t s = 0; s < links.size(); ++s) {
    const NodeIndex node = links.node(s);
    if (!links.IsAlive(s) || !plan.HasRow(node)) continue;
    auto row = std::make_shared<Row>(*plan.rows[node.value()]);
    for (const auto& [lid, exit] : pairs)
      row->Set(lid.value(), held.Leaves(node, lid.value()) ? held.Entry(node, lid.value())
                                                           : plan.EgressPort(node, exit));
    plan.rows[node.value()] = std::move(row);
  }
}

}  // namespace

void KeepHeldLids(const AppliedTables& held, const LinkMap& observed,
                  const std::vector<PortRef>& cut, const std::vector<Lid>& isolated,
                  RouteState& after) {
  RoutingPlan before;
  before.order = after.plan->order;
  before.lid_top = after.plan->lid_top;
  for (const Row& row : held.rows)
    before.rows.push_back(row.size() == 0 ? nullptr : std::make_shared<const Row>(row));
  const HeldLids lids(held, observed, cut, before.lid_top);
  std::vector<Lid> left_out = isolated;
  for (uint32_t lid = 1; lid < lids.end(); ++lid)
    if (lids.Exit(lid).IsNone()) left_out.push_back(Lid(static_cast<uint16_t>(lid)));
  SortUnique(left_out);
  KeepStaleLids(before, observed, cut, left_out, after);
  if (!after.plan->NeedsOneVl()) return;
  const std::vector<Lid> of_switches = LidsOfSwitches(after.links);
  std::vector<Likeness> pairs;
  for (uint32_t number = 1; number < lids.end(); ++number) {
    const Lid lid(static_cast<uint16_t>(number));
    if (std::binary_search(left_out.begin(), left_out.end(), lid) ||
        std::binary_search(after.plan->stale.begin(), after.plan->stale.end(), lid) ||
        !after.links.place(number).IsNowhere() || !observed.place(number).IsNowhere())
      continue;
    const uint32_t at = after.links.number(lids.Exit(number));
    if (at != LinkMap::kNone && of_switches[at]) pairs.push_back({lid, of_switches[at]});
  }
  if (pairs.empty()) return;
  auto plan = std::make_shared<RoutingPlan>(*after.plan);
  LeadLike(lids, after.links, pairs, *plan);
  for (const Likeness& each : pairs) plan->stale.push_back(each.lid);
  SortUnique(plan->stale);
  after.plan = std::move(plan);
}

}  // namespace fabricd::routing
