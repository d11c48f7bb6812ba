// SPDX-License-Identifier: Apache-2.0
#include "routing/transition/order_check.h"

#include <algorithm>

#include "routing/plan/block_mask.h"

namespace fabricd::routing {
namespace {

// Finds LIDs for which a packet may rise after it fell, in one order, while old and new entries are
// mixed, whatever the sequence in which they are written. What falls to a switch now may be written
// before that switch rises, and what will fall to it after it does not rise any more.
class OrderCheck {
 public:
  using Changed = PushView::Changed;

  OrderCheck(const PushView& view, const std::vector<uint32_t>& position, bool proved)
      : view_(view), links_(view.links()), position_(position), proved_(proved) {}

  // By what changes.
  std::vector<uint64_t> Find(Parallel& parallel) const {
    constexpr size_t kBatch = 64;
    const std::vector<Changed>& changed = view_.changed();
    std::vector<uint64_t> turning(changed.size());
    parallel.For((changed.size() + kBatch - 1) / kBatch, [&](size_t part) {
      for (size_t i = part * kBatch; i < std::min((part + 1) * kBatch, changed.size()); ++i)
        turning[i] = TurnsOf(changed[i]);
    });
    return turning;
  }

 private:
  static constexpr uint64_t Bit(uint32_t i) { return uint64_t{1} << i; }
  bool IsUp(uint32_t from, uint32_t to) const { return position_[to] > position_[from]; }
  bool Rises(uint32_t s, uint8_t out) const {
    const FarEnd far = links_.far(s, out);
    return far.IsSwitch() && IsUp(s, far.head);
  }
  bool OldRises(uint32_t s, uint32_t block, uint32_t i) const {
    bool rises = false;
    view_.ForEachOld(s, block, i, [&](uint8_t out) { rises |= Rises(s, out); });
    return rises;
  }

  uint64_t TurnsOf(const Changed& one) const {
    uint64_t turning = 0, old_rising = 0, new_rising = 0;
    ForEachBit(one.lids, [&](uint32_t i) {
      const uint8_t next = view_.Desired(one.at, one.block)[i];
      const FarEnd to = links_.far(one.at, next);
      const bool falls = to.IsSwitch() && !IsUp(one.at, to.head);
      if (!proved_ && falls && Rises(to.head, view_.Desired(to.head, one.block)[i]))
        turning |= Bit(i);
      if (to.IsSwitch() && !falls) new_rising |= Bit(i);
      view_.ForEachOld(one.at, one.block, i, [&](uint8_t out) {
        const FarEnd far = links_.far(one.at, out);
        if (!far.IsSwitch()) return;
        if (IsUp(one.at, far.head))
          old_rising |= Bit(i);
        else if (OldRises(far.head, one.block, i))
          turning |= Bit(i);
      });
    });
    // If the old or the new entry goes up, no unchanged entry of a switch above may lead down here.
    const uint64_t rising = (old_rising & ~new_rising) | (proved_ ? 0 : new_rising & ~old_rising);
    return turning | (rising ? KeptFalls(one, rising) : 0);
  }
  uint64_t KeptFalls(const Changed& one, uint64_t lids) const {
    uint64_t falls = 0;
    for (uint32_t port = 1; port < links_.ports(one.at); ++port) {
      const FarEnd far = links_.Ports(one.at)[port];
      if (!far.IsSwitch() || IsUp(far.head, one.at)) continue;
      falls |= EqualMask(view_.Desired(far.head, one.block), far.port) &
               EqualMask(view_.Applied(far.head, one.block), far.port) & lids;
    }
    return falls;
  }

  const PushView& view_;
  const LinkMap& links_;
  const std::vector<uint32_t>& position_;
  const bool proved_;
};

}  // namespace

std::shared_ptr<const std::vector<uint32_t>> PositionsOf(const LinkMap& links,
                                                         const RoutingPlan& plan) {
  if (plan.order.empty() || plan.lanes > 1) return nullptr;
  auto position = std::make_shared<std::vector<uint32_t>>(links.size(), 0);
  for (uint32_t s = 0; s < links.size(); ++s) {
    const size_t node = links.node(s).value();
    if (!links.IsAlive(s)) continue;
    if (node >= plan.order.size()) return nullptr;
    (*position)[s] = plan.order[node];
  }
  return position;
}

std::vector<uint64_t> FindTurning(const PushView& view, const std::vector<uint32_t>& position,
                                  bool proved, Parallel& parallel) {
  return OrderCheck(view, position, proved).Find(parallel);
}

}  // namespace fabricd::routing
