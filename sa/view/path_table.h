// SPDX-License-Identifier: Apache-2.0
// PathTable: the plan's tables laid over the links, so that the way of a packet costs a few loads
// per switch. Immutable once built; keeps the plan alive.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "routing/plan/link_map.h"
#include "routing/plan/plan.h"
#include "sa/view/end_ports.h"

namespace fabricd::sa {

class PathTable {
 public:
  // Also bounds the walk through tables that loop, which a verified plan has none of.
  static constexpr uint32_t kMostHops = 256;

  PathTable() = default;
  // `plan` may be null: nothing leads anywhere.
  PathTable(const routing::LinkMap& links, std::shared_ptr<const routing::RoutingPlan> plan);

  struct Hop {
    routing::FarEnd far;
    Carriage carriage;
  };
  struct Target {
    const EndPort* to;
    Lid lid;  // One of its own.
  };

  // What the way from one end port to a LID of another carries; empty: there is none.
  Carriage Walk(const EndPort& from, const Target& target) const;
  // The same to each target. Several walks go on at once, as each waits for memory most of the
  // time.
  void WalkEach(const EndPort& from, std::span<const Target> targets,
                std::span<Carriage> carried) const;
  // The same from every switch ([number of the LinkMap]), without the first link of a host. Cheaper
  // than single walks when many sources ask for one destination.
  void WalkAll(const Target& target, std::vector<Carriage>& from) const;
  // Calls visit(switch, egress port, hop) from switch `at` on. False: the tables do not lead there.
  template <typename Visit>
  bool Follow(uint32_t at, const Target& target, Visit&& visit) const {
    for (uint32_t hops = 0; hops <= kMostHops; ++hops) {
      const Step step = Advance(at, target);
      if (step.hop != nullptr) visit(at, step.port, *step.hop);
      if (step.progress != Progress::kOnward) return step.progress == Progress::kArrived;
      at = step.hop->far.head;
    }
    return false;
  }

  uint8_t ServiceLevel(const EndPort& from, Lid lid) const {
    return plan_ == nullptr || from.place.IsNowhere()
               ? 0
               : plan_->ServiceLevel(node_[from.place.at], lid);
  }
  // 1: every service level is safe.
  uint8_t lanes() const { return plan_ == nullptr ? 1 : plan_->lanes; }
  // Whether packets of this end port find a table where they start.
  bool HasTable(const EndPort& from) const {
    return from.place.IsNowhere() || row_sizes_[from.place.at] != 0;
  }
  // No pair of end ports that a way joins lacks one back, by the plan's own account, where
  // both HasTable().
  bool AlwaysLeadsBack() const {
    return plan_ != nullptr && plan_->exempt.empty() && plan_->stale.empty() &&
           plan_->pending.empty();
  }
  uint32_t switches() const { return static_cast<uint32_t>(node_.size()); }
  NodeIndex node(uint32_t s) const { return node_[s]; }

 private:
  static constexpr size_t kPages = (size_t{1} << 16) / routing::Row::kPage;

  enum class Progress : uint8_t { kOnward, kArrived, kLost };
  struct Step {
    Progress progress;
    uint8_t port = 0;
    const Hop* hop = nullptr;  // That is crossed; null: none.
  };

  // What a packet does at this switch.
  Step Advance(uint32_t at, const Target& target) const {
    const routing::LidPlace place = target.to->place;
    if (at == place.at && place.IsSwitch()) return {Progress::kArrived};
    const uint8_t port = Egress(at, target.lid);
    if (port >= stride_) return {Progress::kLost};
    const Hop& hop = hops_[size_t{at} * stride_ + port];
    if (!hop.carriage) return {Progress::kLost};
    if (at == place.at && port == place.port) return {Progress::kArrived, port, &hop};
    if (!hop.far.IsSwitch()) return {Progress::kLost};
    return {Progress::kOnward, port, &hop};
  }

  void TakeLesserEnds();
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
