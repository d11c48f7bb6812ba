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

bool HasOrder(const RoutingPlan& plan) { return !plan.order.empty() && plan.lanes <= 1; }

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

void KeepHeldLids(const AppliedTables& held, const LinkMap& observed,
                  const std::vector<PortRef>& cut, const std::vector<Lid>& isolated,
                  RouteState& after) {
  RoutingPlan before;
  before.order = after.plan->order;
  before.lid_top = after.plan->lid_top;
  std::vector<bool> leads(before.lid_top.value() + size_t{1});
  for (size_t i = 0; i < held.rows.size(); ++i) {
    const Row& row = held.rows[i];
    const NodeIndex index(static_cast<uint32_t>(i));
    const fabric::Node* node = observed.snapshot().node(index);
    before.rows.push_back(row.size() == 0 ? nullptr : std::make_shared<const Row>(row));
    for (uint32_t lid = 1; node != nullptr && lid < std::min(row.size(), leads.size()); ++lid)
      if (row[lid] > 0 && row[lid] < node->ports.size() && node->ports[row[lid]].LeadsToUnknown())
        leads[lid] = true;
  }
  std::vector<Lid> left_out = isolated;
  for (uint32_t lid = 1; lid < leads.size(); ++lid)
    if (!leads[lid]) left_out.push_back(Lid(static_cast<uint16_t>(lid)));
  SortUnique(left_out);
  KeepStaleLids(before, observed, cut, left_out, after);
}

}  // namespace fabricd::routing
