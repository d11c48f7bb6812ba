// SPDX-License-Identifier: Apache-2.0
#include "routing/transition/push_stages.h"

#include <utility>

#include <fmt/format.h>

#include "routing/plan/parallel.h"
#include "routing/transition/channel_dependency_graph.h"
#include "routing/transition/push_steps.h"

namespace fabricd::routing {
namespace {

using Changed = PushView::Changed;

constexpr uint64_t Bit(uint32_t i) { return uint64_t{1} << i; }

// Finds LIDs for which a packet may rise after it fell, in one order, while old and new entries are
// mixed, whatever the sequence in which they are written. What falls to a switch now may be written
// before that switch rises, and what will fall to it after it does not rise any more.
class OrderCheck {
 public:
  // `proved`: the new entries alone are known to follow the order; else the old ones are.
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
    // Where one of them rises, nobody may lead down that stays as it is.
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

// [switch] Null: some switch has no place in the order.
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

// Whether the switches hold this plan and nothing else.
bool Hold(const PushInput& input, const RoutingPlan& plan) {
  if (!input.applied.unsure.empty()) return false;
  for (uint32_t s = 0; s < input.links.size(); ++s) {
    const NodeIndex node = input.links.node(s);
    if (!input.links.IsAlive(s) || (!plan.HasRow(node) && !input.desired.HasRow(node))) continue;
    if (!plan.HasRow(node) || node.value() >= input.applied.rows.size()) return false;
    if (!(input.applied.rows[node.value()] == *plan.rows[node.value()])) return false;
  }
  return true;
}

class Stager {
 public:
  Stager(const PushInput& input, const PushView& view)
      : input_(input),
        view_(view),
        lanes_(std::max(input.desired.lanes, input.before ? input.before->lanes : uint8_t{1})),
        parallel_(input.threads),
        groups_(ChangesByBlock(view)) {}

  PushStages Run() {
    stages_.position = PositionsOf(input_.links, input_.desired);
    if (input_.before && input_.before->lanes > 1) stages_.position = nullptr;
    FindClosed();
    const std::vector<uint64_t> turning = Turning(stages_.position, closed_.empty());
    if (stages_.position && IsEmpty(turning)) return InOne(stages_.position.get());
    if (stages_.position && OnlyEndsTurn(turning)) return MoveEndsApart(turning);
    if (input_.before && stages_.position && Hold(input_, *input_.before))
      stages_.old_position = PositionsOf(input_.links, *input_.before);
    if (stages_.old_position) MoveByOldOrder();
    if (IsTooMuch() && stages_.position) return LeaveByOrder(turning);
    std::vector<Unit> left = Left();
    if (left.empty()) return Finish(0);
    const ChannelDependencyGraph before = Base();
    ChannelDependencyGraph all = before;
    for (const Unit& unit : left) all.AddMoving(groups_[unit.group], unit.lids);
    // What is wrong already cannot be kept right; it is best left as soon as possible.
    if (all.IsFreeOfCycles() || !before.IsFreeOfCycles()) {
      for (const Unit& unit : left) Move(unit, nullptr);
      return Finish(0);
    }
    return Search(std::move(left));
  }

 private:
  using Part = PushStages::Part;
  struct Unit {
    size_t group;
    uint64_t lids;
  };
  // Entries of a fabric for which nothing is searched.
  static constexpr uint64_t kMostEntries = 2'000'000;
  // Entries and channels looked at, after which no finer cut is searched for.
  static constexpr uint64_t kMostSteps = 2'000'000;
  // The same for writing entry by entry: about a tenth of a second.
  static constexpr uint64_t kMostEntryWork = 20'000'000;

  PushStages Search(std::vector<Unit> left) {
    uint32_t withdrawn = 0;
    // What is large is not cut finely: all that is dead goes at once.
    if (IsTooMuch() && ClearDead(left)) ++stage_;
    for (uint32_t most = 1; !left.empty(); ++stage_) {
      std::vector<Unit> moved = FindMovable(left);
      for (const Unit& unit : moved) Move(unit, nullptr);
      if (moved.empty() && !ClearDead(left) && !MoveBySteps(left)) {
        const bool given_up = steps_ >= kMostSteps;
        withdrawn += Withdraw(given_up ? ~0u : most);
        if (given_up) return MoveWithdrawn(withdrawn);
        most *= 2;
      }
      left = Left();
    }
    return Finish(withdrawn);
  }

  // What is left has been taken away: with the rest it makes the plan, which is proved.
  PushStages MoveWithdrawn(uint32_t withdrawn) {
    ++stage_;
    for (const Unit& unit : Left()) Move(unit, nullptr);
    return Finish(withdrawn);
  }

  // [group] LIDs that do not follow the order. `proved`: see OrderCheck.
  std::vector<uint64_t> Turning(const std::shared_ptr<const std::vector<uint32_t>>& position,
                                bool proved) {
    std::vector<uint64_t> turning(groups_.size(), ~uint64_t{0});
    if (!position) return turning;
    const std::vector<uint64_t> found = OrderCheck(view_, *position, proved).Find(parallel_);
    for (size_t g = 0; g < groups_.size(); ++g) {
      turning[g] = 0;
      for (const Changed* one = groups_[g].begin; one != groups_[g].end; ++one)
        turning[g] |= found[static_cast<size_t>(one - view_.changed().data())];
    }
    return turning;
  }
  static bool IsEmpty(const std::vector<uint64_t>& masks) {
    return std::all_of(masks.begin(), masks.end(), [](uint64_t mask) { return mask == 0; });
  }
  // Switches that routes may not go through, by one of the two plans: its own LIDs end there, on
  // ways that need not follow the order of what goes on.
  void FindClosed() {
    const LinkMap& links = input_.links;
    std::vector<uint8_t> closed(links.size(), 0);
    bool any = false;
    for (uint32_t s = 0; s < links.size(); ++s) {
      const bool now = links.IsAlive(s) && !input_.desired.HasRow(links.node(s));
      const bool before =
          input_.before && links.IsAlive(s) && !input_.before->HasRow(links.node(s));
      if (now || before) any = true, closed[s] = now ? kClosed : kOpened;
    }
    if (any) closed_ = std::move(closed);
  }
  // LIDs of the switches that are closed or opened, of those that change.
  uint64_t EndsOf(const BlockChange& group, uint8_t kind) const {
    uint64_t ends = 0;
    ForEachBit(group.lids, [&](uint32_t i) {
      const LidPlace place = input_.links.place(group.block * Row::kBlock + i);
      if (place.IsSwitch() && !place.IsNowhere() && closed_[place.at] == kind) ends |= Bit(i);
    });
    return ends;
  }
  // Whether nothing turns but what ends at such switches, and that not where they stand lowest.
  bool OnlyEndsTurn(const std::vector<uint64_t>& turning) {
    if (closed_.empty()) return false;
    auto sunk = std::make_shared<std::vector<uint32_t>>(*stages_.position);
    for (uint32_t s = 0; s < sunk->size(); ++s) (*sunk)[s] = closed_[s] ? 0 : (*sunk)[s] + 1;
    stages_.sunk_position = std::move(sunk);
    const std::vector<uint64_t> still = Turning(stages_.sunk_position, false);
    for (size_t g = 0; g < groups_.size(); ++g) {
      const uint64_t ends = EndsOf(groups_[g], kClosed) | EndsOf(groups_[g], kOpened);
      if (turning[g] & (~ends | still[g])) return false;
    }
    return true;
  }
  // As long as nothing goes through them: before all else is written, or after.
  PushStages MoveEndsApart(const std::vector<uint64_t>& turning) {
    const auto move = [&](uint8_t kind) {
      bool any = false;
      for (size_t g = 0; g < groups_.size(); ++g)
        if (const uint64_t lids = EndsOf(groups_[g], kind) & turning[g]) {
          Move({g, lids}, stages_.sunk_position.get());
          any = true;
        }
      return any;
    };
    stage_ += move(kOpened);
    for (size_t g = 0; g < groups_.size(); ++g)
      if (const uint64_t lids = groups_[g].lids & ~turning[g])
        Move({g, lids}, stages_.position.get());
    ++stage_;
    move(kClosed);
    return Finish(0);
  }
  PushStages InOne(const std::vector<uint32_t>* position) {
    for (const Unit& unit : Left()) Move(unit, position);
    return Finish(0);
  }
  // All that follows the order of the plan before: what stays follows it too.
  void MoveByOldOrder() {
    const std::vector<uint64_t> turning = Turning(stages_.old_position, false);
    bool moved = false;
    for (size_t g = 0; g < groups_.size(); ++g)
      if (const uint64_t lids = groups_[g].lids & ~turning[g]) {
        Move({g, lids}, stages_.old_position.get());
        moved = true;
      }
    stage_ += moved;
  }
  // To look at every entry again and again.
  bool IsTooMuch() const { return Entries() > kMostEntries; }
  uint64_t Entries() const { return BlocksOf(view_) * Row::kBlock * view_.links().size(); }
  // What does not follow the plan's order is taken away, then everything does.
  PushStages LeaveByOrder(const std::vector<uint64_t>& turning) {
    uint32_t withdrawn = 0;
    const std::vector<Unit> left = Left();
    for (const Unit& unit : left) {
      const uint64_t lids = unit.lids & turning[unit.group];
      if (lids) stages_.parts.push_back({groups_[unit.group].block, stage_, true, lids});
      withdrawn += static_cast<uint32_t>(__builtin_popcountll(lids));
    }
    stage_ += withdrawn > 0;
    for (const Unit& unit : left) Move(unit, stages_.position.get());
    return Finish(withdrawn);
  }
  std::vector<Unit> Left() const {
    std::vector<Unit> left;
    for (size_t g = 0; g < groups_.size(); ++g)
      if (const uint64_t rest = groups_[g].lids & ~groups_[g].fresh) left.push_back({g, rest});
    return left;
  }
  PushStages Finish(uint32_t withdrawn) {
    std::sort(stages_.parts.begin(), stages_.parts.end(), [](const Part& a, const Part& b) {
      return std::tie(a.block, a.stage) < std::tie(b.block, b.stage);
    });
    if (withdrawn)
      stages_.why_not = fmt::format(
          "{} destinations are taken away first: while old and new entries are mixed, packets "
          "could wait for each other in a circle",
          withdrawn);
    return std::move(stages_);
  }

  // Everything as far as it is.
  ChannelDependencyGraph Base() const {
    return ChannelDependencyGraph::Of(input_, view_, groups_, parallel_);
  }

  // As many as go together, by halves: of the block numbers, then of the LIDs of one.
  std::vector<Unit> FindMovable(const std::vector<Unit>& left) {
    std::vector<Unit> moved;
    ChannelDependencyGraph base = Base();
    steps_ += Entries();
    Try(left, base, moved);
    return moved;
  }
  void Try(const std::vector<Unit>& units, ChannelDependencyGraph& base, std::vector<Unit>& moved) {
    if (steps_ > kMostSteps) return;
    ChannelDependencyGraph with = base;
    for (const Unit& unit : units) {
      with.AddMoving(groups_[unit.group], unit.lids);
      steps_ += static_cast<uint64_t>(__builtin_popcountll(unit.lids)) * view_.links().size();
    }
    steps_ += with.size();
    if (with.IsFreeOfCycles()) {
      base = std::move(with);
      moved.insert(moved.end(), units.begin(), units.end());
    } else if (units.size() > 1) {
      const auto middle = units.begin() + static_cast<long>(units.size() / 2);
      Try({units.begin(), middle}, base, moved);
      Try({middle, units.end()}, base, moved);
    } else if (const uint64_t lids = units[0].lids; lids & (lids - 1) && steps_ < kMostSteps) {
      const uint64_t half = LowerHalf(lids);
      Try({{units[0].group, half}}, base, moved);
      Try({{units[0].group, lids & ~half}}, base, moved);
    }
  }
  static uint64_t LowerHalf(uint64_t lids) {
    uint64_t rest = lids;
    for (int i = __builtin_popcountll(lids) / 2; i > 0; --i) rest &= rest - 1;
    return lids & ~rest;
  }

  void Move(const Unit& unit, const std::vector<uint32_t>* position) {
    BlockChange& group = groups_[unit.group];
    group.fresh |= unit.lids;
    if (!stages_.parts.empty() && stages_.parts.back().block == group.block &&
        stages_.parts.back().stage == stage_)
      stages_.parts.back().lids |= unit.lids;
    else
      stages_.parts.push_back({group.block, stage_, false, unit.lids, position});
  }

  // What can be written in several stages; the last of them is stage_. Whether there is anything.
  bool MoveBySteps(const std::vector<Unit>& left) {
    return lanes_ == 1 ? MoveEntries() : MoveOneLid(left);
  }
  // All that is left, or nothing.
  bool MoveEntries() {
    if (entry_work_ > kMostEntryWork) return false;
    PushSteps found = FindPushSteps(input_, view_, groups_, Base(), kMostEntryWork, entry_work_);
    stuck_.assign(groups_.size(), 0);
    auto its = groups_.begin();
    for (const Changed& one : found.stuck) {
      while (its->block < one.block) ++its;
      stuck_[static_cast<size_t>(its - groups_.begin())] |= one.lids;
    }
    if (stages_.stuck.empty()) stages_.stuck = std::move(found.stuck);
    for (const std::vector<Changed>& step : found.steps) {
      for (auto begin = step.begin(), end = begin; begin != step.end(); begin = end) {
        uint64_t lids = 0;
        for (; end != step.end() && end->block == begin->block; ++end) lids |= end->lids;
        stages_.parts.push_back({begin->block, stage_, false, lids, nullptr, false, {begin, end}});
      }
      ++stage_;
    }
    if (found.steps.empty()) return false;
    --stage_;
    for (BlockChange& group : groups_) group.fresh |= group.lids & ~group.withdrawn;
    return true;
  }
  // The first LID for which it goes.
  bool MoveOneLid(const std::vector<Unit>& left) {
    for (const Unit& unit : left) {
      BlockChange& group = groups_[unit.group];
      for (uint64_t lids = unit.lids; lids; lids &= lids - 1) {
        if (steps_ > kMostSteps) return false;
        const auto i = static_cast<uint32_t>(__builtin_ctzll(lids));
        const uint64_t bit = Bit(i);
        if (group.withdrawn & bit) continue;
        group.withdrawn |= bit;
        const ChannelDependencyGraph others = Base();
        group.withdrawn &= ~bit;
        steps_ += Entries();
        const auto steps = FindSteps(group, i, others);
        if (steps.empty()) continue;
        for (const std::vector<uint32_t>& at : steps) {
          stages_.parts.push_back({group.block, stage_++, false, bit, nullptr, false});
          for (uint32_t s : at) stages_.parts.back().only.push_back({group.block, s, bit});
        }
        --stage_;
        group.fresh |= bit;
        return true;
      }
    }
    return false;
  }
  // The switches of each stage; none: it does not go that way.
  std::vector<std::vector<uint32_t>> FindSteps(const BlockChange& group, uint32_t i,
                                               const ChannelDependencyGraph& others) {
    std::vector<std::vector<uint32_t>> steps;
    std::vector<uint32_t> open;
    for (const Changed* one = group.begin; one != group.end; ++one)
      if (one->lids & Bit(i)) open.push_back(one->at);
    std::vector<uint8_t> step(view_.links().size(), 2);
    for (uint32_t s : open) step[s] = 0;
    while (!open.empty() && steps_ < kMostSteps) {
      std::vector<uint32_t> moving;
      for (uint32_t s : open)
        if (IsNext(s, group.block, i, step)) moving.push_back(s);
      std::vector<uint32_t> taken;
      for (uint32_t s : moving) {
        step[s] = 1;
        ChannelDependencyGraph with = others;
        with.AddStep(group, i, step);
        steps_ += with.size() + view_.links().size();
        if (with.IsFreeOfCycles())
          taken.push_back(s);
        else
          step[s] = 0;
      }
      if (taken.empty()) return {};
      for (uint32_t s : taken) step[s] = 2;
      open.erase(std::remove_if(open.begin(), open.end(), [&](uint32_t s) { return step[s] == 2; }),
                 open.end());
      steps.push_back(std::move(taken));
    }
    if (!open.empty()) steps.clear();
    return steps;
  }
  // Whether all are written that change on its new way.
  bool IsNext(uint32_t s, uint32_t block, uint32_t i, const std::vector<uint8_t>& step) const {
    FarEnd far = view_.links().far(s, view_.Desired(s, block)[i]);
    for (uint32_t hops = 0; far.IsSwitch() && hops <= view_.links().size(); ++hops) {
      if (step[far.head] != 2) return false;
      far = view_.links().far(far.head, view_.Desired(far.head, block)[i]);
    }
    return true;
  }

  // Takes away what brings nothing home. Whether there was anything; asked once.
  bool ClearDead(const std::vector<Unit>& left) {
    if (!stages_.dead.empty()) return false;
    FindDead(left);
    bool cleared = false;
    for (const Unit& unit : left) {
      BlockChange& group = groups_[unit.group];
      uint64_t dead = 0;
      for (const Changed* one = group.begin; one != group.end; ++one)
        dead |= group.dead[one - group.begin];
      group.cleared = dead & unit.lids;
      if (!group.cleared) continue;
      cleared = true;
      stages_.parts.push_back({group.block, stage_, true, group.cleared, nullptr, true});
    }
    return cleared;
  }
  void FindDead(const std::vector<Unit>& left) {
    stages_.dead.assign(view_.changed().size(), 0);
    for (BlockChange& group : groups_)
      group.dead = stages_.dead.data() + (group.begin - view_.changed().data());
    std::vector<uint8_t> arrives;
    for (const Unit& unit : left) {
      const BlockChange& group = groups_[unit.group];
      uint64_t* dead = stages_.dead.data() + (group.begin - view_.changed().data());
      ForEachBit(unit.lids, [&](uint32_t i) {
        view_.FindArriving(group.block, i, false, arrives);
        for (const Changed* one = group.begin; one != group.end; ++one)
          if (one->lids & Bit(i) && !arrives[one->at] && !IsEmpty(one->at, group.block, i))
            dead[one - group.begin] |= Bit(i);
      });
    }
  }
  bool IsEmpty(uint32_t s, uint32_t block, uint32_t i) const {
    bool empty = true;
    view_.ForEachOld(s, block, i, [&](uint8_t out) { empty &= out == kNoRoute; });
    return empty;
  }

  // Some of those that stand in the way, switches' own first: nothing that hosts send to each other
  // goes there. How many.
  uint32_t Withdraw(uint32_t most) {
    const uint32_t count = WithdrawOf(most, true);
    return count > 0 ? count : WithdrawOf(most, false);
  }
  uint32_t WithdrawOf(uint32_t most, bool of_switches) {
    uint32_t count = 0;
    for (size_t g = 0; g < groups_.size(); ++g) {
      BlockChange& group = groups_[g];
      const uint64_t wanted = stuck_.empty() ? group.lids : stuck_[g];
      uint64_t lids = 0;
      ForEachBit(wanted & ~group.fresh & ~group.withdrawn, [&](uint32_t i) {
        const LidPlace place = view_.links().place(size_t{group.block} * Row::kBlock + i);
        if (count >= most || (of_switches && !(place.IsSwitch() && !place.IsNowhere()))) return;
        lids |= Bit(i);
        ++count;
      });
      if (!lids) continue;
      group.withdrawn |= lids;
      stages_.parts.push_back({group.block, stage_, true, lids});
    }
    return count;
  }

  const PushInput& input_;
  const PushView& view_;
  const int lanes_;
  mutable Parallel parallel_;
  std::vector<BlockChange> groups_;
  static constexpr uint8_t kClosed = 1, kOpened = 2;
  std::vector<uint8_t> closed_;  // [switch] Empty: none is.
  uint64_t steps_ = 0, entry_work_ = 0;
  std::vector<uint64_t> stuck_;  // [group] LIDs that stood in the way last; empty: not known.
  uint16_t stage_ = 0;
  PushStages stages_;
};

}  // namespace

PushStages FindStages(const PushInput& input, const PushView& view) {
  return Stager(input, view).Run();
}

}  // namespace fabricd::routing
