// SPDX-License-Identifier: Apache-2.0
#include "sa/view/path_table.h"

#include <algorithm>
#include <array>
#include <utility>

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
    if (!links.IsAlive(s)) continue;
    const fabric::Node& node = *snapshot.node(node_[s]);
    for (uint32_t port = 1; port < links.ports(s); ++port) {
      Hop& hop = hops_[size_t{s} * stride_ + port];
      hop.far = links.far(s, static_cast<uint8_t>(port));
      if (hop.far.head == routing::FarEnd::kDead) continue;
      const fabric::Port& end = node.ports[port];
      // The far end of a cable between switches is looked at in its turn, not once more here.
      hop.carriage = hop.far.IsSwitch() ? CarriageOfEnd(end) : CarriageOf(snapshot, end);
    }
    if (plan_ == nullptr || !plan_->HasRow(node_[s])) continue;
    const routing::Row& row = *plan_->rows[node_[s].value()];
    row_sizes_[s] = static_cast<uint32_t>(row.size());
    least_row_ = least_row_ == 0 ? row_sizes_[s] : std::min(least_row_, row_sizes_[s]);
    for (size_t page = 0; page < row.pages(); ++page)
      pages_[size_t{s} * kPages + page] = row.page(page);
  }
  TakeLesserEnds();
}

// Each cable carries what both of its ends do.
void PathTable::TakeLesserEnds() {
  for (size_t near = 0; near < hops_.size(); ++near) {
    if (!hops_[near].far.IsSwitch()) continue;
    const size_t far = size_t{hops_[near].far.head} * stride_ + hops_[near].far.port;
    const Carriage least = Least(hops_[near].carriage, hops_[far].carriage);
    hops_[near].carriage = hops_[far].carriage = least;
  }
}

Carriage PathTable::Walk(const EndPort& from, const Target& target) const {
  Carriage carried;
  WalkEach(from, {&target, 1}, {&carried, 1});
  return carried;
}

void PathTable::WalkEach(const EndPort& from, std::span<const Target> targets,
                         std::span<Carriage> carried) const {
  // Of those under way.
  struct Walker {
    uint32_t at;
    uint32_t hops;
    size_t target;
    Carriage least;
  };
  constexpr size_t kAtOnce = 16;
  std::array<Walker, kAtOnce> walkers;
  size_t under_way = 0, next = 0;
  const auto start = [&] {
    const EndPort& to = *targets[next].to;
    carried[next] = {};
    if (from.ref == to.ref || (from.place.IsNowhere() && from.peer == to.ref)) {
      carried[next] = from.link;
    } else if (!from.place.IsNowhere() && !to.place.IsNowhere()) {
      walkers[under_way++] = {from.place.at, 0, next, Least(from.link, to.link)};
    }
    ++next;
  };
  while (under_way > 0 || next < targets.size()) {
    while (under_way < kAtOnce && next < targets.size()) start();
    for (size_t i = 0; i < under_way;) {
      Walker& walker = walkers[i];
      const Step step = Advance(walker.at, targets[walker.target]);
      if (step.hop != nullptr) walker.least = Least(walker.least, step.hop->carriage);
      if (step.progress == Progress::kOnward && ++walker.hops <= kMostHops) {
        walker.at = step.hop->far.head;
        ++i;
        continue;
      }
      if (step.progress == Progress::kArrived) carried[walker.target] = walker.least;
      walker = walkers[--under_way];
    }
  }
}

void PathTable::WalkAll(const Target& target, std::vector<Carriage>& from) const {
  // A mark that no way carries: not looked at yet.
  constexpr Carriage kOpen{0, 1};
  from.assign(switches(), target.to->place.IsNowhere() ? Carriage{} : kOpen);
  std::vector<std::pair<uint32_t, Carriage>> way;  // Switches, and the links by which they go on.
  for (uint32_t start = 0; start < switches(); ++start) {
    way.clear();
    uint32_t at = start;
    while (from[at] == kOpen) {
      from[at] = {};  // Come back to, it is a loop: nothing gets through.
      const Step step = Advance(at, target);
      if (step.progress == Progress::kArrived)
        from[at] = step.hop ? Least(step.hop->carriage, target.to->link) : target.to->link;
      if (step.progress != Progress::kOnward) break;
      way.emplace_back(at, step.hop->carriage);
      at = step.hop->far.head;
    }
    Carriage least = from[at];
    for (; !way.empty() && least; way.pop_back())
      from[way.back().first] = least = Least(least, way.back().second);
  }
}

}  // namespace fabricd::sa
