// SPDX-License-Identifier: Apache-2.0
#include "sa/path_table.h"

#include <algorithm>

namespace fabricd::sa {

PathTable::PathTable(const routing::LinkMap& links,
                     std::shared_ptr<const routing::RoutingPlan> plan)
    : plan_(std::move(plan)) {
  for (uint32_t s = 0; s < links.size(); ++s) {
    node_.push_back(links.node(s));
    stride_ = std::max(stride_, links.ports(s));
  }
  hops_.resize(node_.size() * stride_);
  pages_.resize(node_.size() * kPages);
  row_sizes_.resize(node_.size());
  const fabric::FabricSnapshot& snapshot = links.snapshot();
  for (uint32_t s = 0; s < switches(); ++s) {
    for (uint32_t port = 1; port < links.ports(s); ++port) {
      Hop& hop = hops_[size_t{s} * stride_ + port];
      hop.far = links.far(s, static_cast<uint8_t>(port));
      if (hop.far.head == routing::FarEnd::kDead) continue;
      hop.carriage =
          CarriageOf(snapshot, *snapshot.port({node_[s], PortNum(static_cast<uint8_t>(port))}));
    }
    if (plan_ == nullptr || !plan_->HasRow(node_[s])) continue;
    const routing::Row& row = *plan_->rows[node_[s].value()];
    row_sizes_[s] = static_cast<uint32_t>(row.size());
    least_row_ = least_row_ == 0 ? row_sizes_[s] : std::min(least_row_, row_sizes_[s]);
    for (size_t page = 0; page < row.pages(); ++page)
      pages_[size_t{s} * kPages + page] = row.page(page);
  }
}

Carriage PathTable::Walk(const EndPort& from, const EndPort& to, Lid lid) const {
  if (from.ref == to.ref) return from.link;
  if (from.place.IsNowhere() || to.place.IsNowhere())
    return from.peer == to.ref ? from.link : Carriage{};
  Carriage least = Least(from.link, to.link);
  const bool arrives = Follow(from.place.at, to, lid, [&](uint32_t, uint8_t, const Hop& hop) {
    least = Least(least, hop.carriage);
  });
  return arrives ? least : Carriage{};
}

void PathTable::WalkAll(const EndPort& to, Lid lid, std::vector<Carriage>& from) const {
  // A mark that no way carries: not looked at yet.
  constexpr Carriage kOpen{0, 1};
  from.assign(switches(), kOpen);
  if (to.place.IsNowhere()) {
    from.assign(switches(), Carriage{});
    return;
  }
  std::vector<uint32_t> way;  // Switches whose answer is that of the next, bounded by one link.
  for (uint32_t start = 0; start < switches(); ++start) {
    way.clear();
    uint32_t at = start;
    Carriage least;
    for (;;) {
      if (from[at] != kOpen) {
        least = from[at];
        break;
      }
      from[at] = {};  // Come back to, it is a loop: nothing gets through.
      if (at == to.place.at && to.place.IsSwitch()) {
        least = from[at] = to.link;
        break;
      }
      const uint8_t port = Egress(at, lid);
      if (port >= stride_) break;
      const Hop& hop = hops_[size_t{at} * stride_ + port];
      if (at == to.place.at && port == to.place.port) {
        least = from[at] = hop.carriage ? Least(hop.carriage, to.link) : Carriage{};
        break;
      }
      if (!hop.far.IsSwitch()) break;
      way.push_back(at);
      at = hop.far.head;
    }
    while (!way.empty()) {
      at = way.back();
      way.pop_back();
      const Hop& hop = hops_[size_t{at} * stride_ + Egress(at, lid)];
      if (least) least = Least(least, hop.carriage);
      from[at] = least;
    }
  }
}

}  // namespace fabricd::sa
