// SPDX-License-Identifier: Apache-2.0
// PathTable: the plan's tables laid over the links, so that the way of a packet costs a few loads
// per switch. Immutable once built; keeps the plan alive.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "routing/link_map.h"
#include "routing/plan.h"
#include "sa/end_ports.h"

namespace fabricd::sa {

class PathTable {
 public:
  // Also bounds the walk through tables that loop, which a verified plan has none of.
  static constexpr uint32_t kMostHops = 256;

  PathTable() = default;
  // `plan` may be null: nothing leads anywhere.
  PathTable(const routing::LinkMap& links, std::shared_ptr<const routing::RoutingPlan> plan);

  // What the way from one end port to a LID of another carries; empty: there is none.
  Carriage Walk(const EndPort& from, const EndPort& to, Lid lid) const;
  // The same from every switch ([number of the LinkMap]), without the first link of a host. Cheaper
  // than single walks when many sources ask for one destination.
  void WalkAll(const EndPort& to, Lid lid, std::vector<Carriage>& from) const;
  // Calls visit(switch, egress port, entry port of what is behind it) from the source's switch on,
  // for a source on a switch. False: the tables do not lead there.
  template <typename Visit>
  bool Follow(uint32_t at, const EndPort& to, Lid lid, Visit&& visit) const {
    for (uint32_t hops = 0; hops <= kMostHops; ++hops) {
      if (at == to.place.at && to.place.IsSwitch()) return true;
      const uint8_t port = Egress(at, lid);
      if (port >= stride_) return false;
      const Hop& hop = hops_[size_t{at} * stride_ + port];
      visit(at, port, hop);
      if (at == to.place.at && port == to.place.port) return static_cast<bool>(hop.carriage);
      if (!hop.far.IsSwitch()) return false;
      at = hop.far.head;
    }
    return false;
  }
  struct Hop {
    routing::FarEnd far;
    Carriage carriage;
  };

  uint8_t ServiceLevel(const EndPort& from, Lid lid) const {
    return plan_ == nullptr || from.place.IsNowhere()
               ? 0
               : plan_->ServiceLevel(node_[from.place.at], lid);
  }
  // 1: every service level is safe.
  uint8_t lanes() const { return plan_ == nullptr ? 1 : plan_->lanes; }
  // No pair of end ports that a way joins lacks one back, by the plan's own account.
  bool AlwaysLeadsBack() const {
    return plan_ != nullptr && plan_->exempt.empty() && plan_->stale.empty() &&
           plan_->pending.empty();
  }
  uint32_t switches() const { return static_cast<uint32_t>(node_.size()); }
  NodeIndex node(uint32_t s) const { return node_[s]; }

 private:
  static constexpr size_t kPages = (size_t{1} << 16) / routing::Row::kPage;

  uint8_t Egress(uint32_t at, Lid lid) const {
    const uint8_t* page = pages_[size_t{at} * kPages + lid.value() / routing::Row::kPage];
    const bool has_it =
        page != nullptr && (lid.value() < least_row_ || lid.value() < row_sizes_[at]);
    return has_it ? page[lid.value() % routing::Row::kPage] : routing::kNoRoute;
  }

  std::shared_ptr<const routing::RoutingPlan> plan_;
  uint32_t stride_ = 1;
  std::vector<NodeIndex> node_;        // [switch]
  std::vector<Hop> hops_;              // [switch * stride + port]
  std::vector<const uint8_t*> pages_;  // [switch * kPages + page of its row]; null: no table.
  std::vector<uint32_t> row_sizes_;    // [switch]
  uint32_t least_row_ = 0;             // The least of those.
};

}  // namespace fabricd::sa
