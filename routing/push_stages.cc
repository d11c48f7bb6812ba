// SPDX-License-Identifier: Apache-2.0
#include "routing/push_stages.h"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "routing/parallel.h"

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

// How far a LID is.
enum class Phase : uint8_t { kOld, kMixed, kNew, kWithdrawn };

// What changes of one block number, and its LIDs that are done or taken away.
struct Group {
  uint16_t block;
  const Changed *begin, *end;
  uint64_t lids = 0, fresh = 0, withdrawn = 0;

  Phase PhaseOf(uint32_t i) const {
    return fresh >> i & 1 ? Phase::kNew : withdrawn >> i & 1 ? Phase::kWithdrawn : Phase::kOld;
  }
  // As it is while it is written.
  Phase Moving(uint32_t i) const { return withdrawn >> i & 1 ? Phase::kNew : Phase::kMixed; }
};

// What waits for what, on each lane. A channel is named by its receiving end.
class Waiting {
 public:
  Waiting(const PushInput& input, const PushView& view)
      : input_(&input), view_(&view), links_(&view.links()) {
    for (uint32_t s = 0; s < links_->size(); ++s) ports_ = std::max(ports_, links_->ports(s));
    words_ = (ports_ + 63) / 64;
    lanes_ = input.desired.lanes;
    if (input.before) lanes_ = std::max(lanes_, input.before->lanes);
    bits_.assign(size_t{lanes_} * links_->size() * ports_ * words_, 0);
    changed_.assign(links_->size(), 0);
    on_.resize(links_->size());
  }

  // LIDs of a block in which nothing changes.
  void Add(uint32_t block) {
    for (uint32_t i = 0; i < Row::kBlock; ++i) AddLid(block, i, Phase::kNew);
  }
  void Add(const Group& group) {
    Add(group, ~uint64_t{0}, [&](uint32_t i) { return group.PhaseOf(i); });
  }
  void AddMoving(const Group& group, uint64_t lids) {
    Add(group, lids, [&](uint32_t i) { return group.Moving(i); });
  }
  void Merge(const Waiting& other) {
    for (size_t i = 0; i < bits_.size(); ++i) bits_[i] |= other.bits_[i];
  }

  size_t size() const { return bits_.size(); }
  bool IsFreeOfCycles() const {
    const size_t channels = bits_.size() / words_;
    std::vector<uint32_t> waiting(channels, 0);
    for (size_t c = 0; c < channels; ++c) ForEachNext(c, [&](size_t next) { ++waiting[next]; });
    std::vector<size_t> free;
    for (size_t c = 0; c < channels; ++c)
      if (waiting[c] == 0) free.push_back(c);
    for (size_t done = 0; done < free.size(); ++done)
      ForEachNext(free[done], [&](size_t next) {
        if (--waiting[next] == 0) free.push_back(next);
      });
    return free.size() == channels;
  }

 private:
  template <typename Visit>
  void ForEachValue(uint32_t s, uint32_t block, uint32_t i, Phase phase, Visit&& visit) const {
    const bool changes = changed_[s] & Bit(i);
    if (changes && phase == Phase::kWithdrawn) return;
    if (changes && phase != Phase::kNew) view_->ForEachOld(s, block, i, visit);
    if (!changes || phase != Phase::kOld) visit(view_->Desired(s, block)[i]);
  }

  template <typename PhaseOf>
  void Add(const Group& group, uint64_t lids, PhaseOf&& phase_of) {
    for (const Changed* one = group.begin; one != group.end; ++one) changed_[one->at] = one->lids;
    ForEachBit(lids, [&](uint32_t i) { AddLid(group.block, i, phase_of(i)); });
    for (const Changed* one = group.begin; one != group.end; ++one) changed_[one->at] = 0;
  }

  bool IsOld(uint32_t s, uint32_t block, uint32_t i, uint8_t out) const {
    bool is_old = false;
    view_->ForEachOld(s, block, i, [&](uint8_t old) { is_old |= old == out; });
    return is_old;
  }

  void AddLid(uint32_t block, uint32_t i, Phase phase) {
    FindLanes(block, i, phase);
    for (uint32_t s = 0; s < links_->size(); ++s) {
      if (!links_->IsAlive(s)) continue;
      ForEachValue(s, block, i, phase, [&](uint8_t out) {
        const FarEnd far = links_->far(s, out);
        if (!far.IsSwitch()) return;
        // Who is new leads to nobody who is still old: it was written after them.
        const bool is_new =
            phase == Phase::kMixed && (changed_[s] & Bit(i)) && !IsOld(s, block, i, out);
        ForEachValue(far.head, block, i, is_new ? Phase::kNew : phase, [&](uint8_t next) {
          if (!links_->far(far.head, next).IsSwitch()) return;
          ForEachBit(on_[s], [&](uint32_t lane) {
            const size_t channel = (size_t{lane} * links_->size() + far.head) * ports_ + far.port;
            bits_[channel * words_ + next / 64] |= Bit(next % 64);
          });
        });
      });
    }
  }

  // On which lanes packets to this LID may pass each switch.
  void FindLanes(uint32_t block, uint32_t i, Phase phase) {
    if (lanes_ == 1) return std::fill(on_.begin(), on_.end(), 1);
    const Lid lid(static_cast<uint16_t>(block * Row::kBlock + i));
    std::vector<uint32_t> open;
    for (uint32_t s = 0; s < links_->size(); ++s) {
      on_[s] = uint64_t{1} << input_->desired.ServiceLevel(links_->node(s), lid) % lanes_;
      if (input_->before)
        on_[s] |= uint64_t{1} << input_->before->ServiceLevel(links_->node(s), lid) % lanes_;
      open.push_back(s);
    }
    while (!open.empty()) {
      const uint32_t s = open.back();
      open.pop_back();
      ForEachValue(s, block, i, phase, [&](uint8_t out) {
        const FarEnd far = links_->far(s, out);
        if (!far.IsSwitch() || (on_[s] & ~on_[far.head]) == 0) return;
        on_[far.head] |= on_[s];
        open.push_back(far.head);
      });
    }
  }

  template <typename Visit>
  void ForEachNext(size_t channel, Visit&& visit) const {
    const size_t lane = channel / (size_t{links_->size()} * ports_);
    const auto s = static_cast<uint32_t>(channel / ports_ % links_->size());
    for (size_t word = 0; word < words_; ++word)
      ForEachBit(bits_[channel * words_ + word], [&](uint32_t bit) {
        const FarEnd far = links_->far(s, static_cast<uint8_t>(word * 64 + bit));
        visit((lane * links_->size() + far.head) * ports_ + far.port);
      });
  }

  const PushInput* input_;
  const PushView* view_;
  const LinkMap* links_;
  uint32_t ports_ = 1;
  size_t words_ = 1;
  uint8_t lanes_ = 1;
  std::vector<uint64_t> bits_;     // [(lane * switches + switch) * ports + port] * words
  std::vector<uint64_t> changed_;  // [switch] Of the block that is being added.
  std::vector<uint64_t> on_;       // [switch] Lanes.
};

class Stager {
 public:
  Stager(const PushInput& input, const PushView& view)
      : input_(input), view_(view), parallel_(input.threads) {
    const std::vector<Changed>& changed = view.changed();
    for (size_t begin = 0, end; begin < changed.size(); begin = end) {
      Group& group = groups_.emplace_back();
      group.block = changed[begin].block;
      for (end = begin; end < changed.size() && changed[end].block == group.block; ++end)
        group.lids |= changed[end].lids;
      group.begin = changed.data() + begin;
      group.end = changed.data() + end;
    }
    blocks_ = view.links().lid_end() / Row::kBlock + 1;
    if (!changed.empty()) blocks_ = std::max<size_t>(blocks_, changed.back().block + size_t{1});
  }

  PushStages Run() {
    stages_.position = PositionsOf(input_.links, input_.desired);
    if (input_.before && input_.before->lanes > 1) stages_.position = nullptr;
    const std::vector<uint64_t> turning = Turning(stages_.position, true);
    if (stages_.position && IsEmpty(turning)) return InOne(stages_.position.get());
    if (input_.before && stages_.position && Hold(input_, *input_.before))
      stages_.old_position = PositionsOf(input_.links, *input_.before);
    if (stages_.old_position) MoveByOldOrder();
    if (IsTooMuch() && stages_.position) return LeaveByOrder(turning);
    std::vector<Unit> left = Left();
    if (left.empty()) return Finish(0);
    const Waiting before = Base();
    Waiting all = before;
    for (const Unit& unit : left) all.AddMoving(groups_[unit.group], unit.lids);
    // What is wrong already cannot be kept right; it is best left as soon as possible.
    if (all.IsFreeOfCycles() || !before.IsFreeOfCycles()) {
      for (const Unit& unit : left) Move(unit, nullptr);
      return Finish(0);
    }
    uint32_t withdrawn = 0;
    for (uint32_t most = 1; !left.empty(); ++stage_) {
      std::vector<Unit> moved = FindMovable(left);
      for (const Unit& unit : moved) Move(unit, nullptr);
      if (moved.empty()) {
        withdrawn += Withdraw(steps_ < kMostSteps ? most : ~0u);
        most *= 2;
      }
      left = Left();
    }
    return Finish(withdrawn);
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
  static constexpr uint64_t kMostSteps = 40'000'000;

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
  uint64_t Entries() const { return blocks_ * Row::kBlock * view_.links().size(); }
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
  Waiting Base() const {
    const size_t parts = 2 * static_cast<size_t>(std::max(parallel_.concurrency(), 1));
    std::vector<Waiting> found(parts, Waiting(input_, view_));
    std::vector<const Group*> group_of(blocks_, nullptr);
    for (const Group& group : groups_) group_of[group.block] = &group;
    parallel_.For(parts, [&](size_t part) {
      for (size_t block = part; block < blocks_; block += parts)
        group_of[block] ? found[part].Add(*group_of[block])
                        : found[part].Add(static_cast<uint32_t>(block));
    });
    for (size_t part = 1; part < parts; ++part) found[0].Merge(found[part]);
    return std::move(found[0]);
  }

  // As many as go together, by halves: of the block numbers, then of the LIDs of one.
  std::vector<Unit> FindMovable(const std::vector<Unit>& left) {
    std::vector<Unit> moved;
    Waiting base = Base();
    steps_ += Entries();
    Try(left, base, moved);
    return moved;
  }
  void Try(const std::vector<Unit>& units, Waiting& base, std::vector<Unit>& moved) {
    if (steps_ > kMostSteps) return;
    Waiting with = base;
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
    Group& group = groups_[unit.group];
    group.fresh |= unit.lids;
    if (!stages_.parts.empty() && stages_.parts.back().block == group.block &&
        stages_.parts.back().stage == stage_)
      stages_.parts.back().lids |= unit.lids;
    else
      stages_.parts.push_back({group.block, stage_, false, unit.lids, position});
  }

  // Some of those that stand in the way. How many.
  uint32_t Withdraw(uint32_t most) {
    uint32_t count = 0;
    for (Group& group : groups_) {
      uint64_t lids = 0;
      ForEachBit(group.lids & ~group.fresh & ~group.withdrawn, [&](uint32_t i) {
        if (count >= most) return;
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
  mutable Parallel parallel_;
  std::vector<Group> groups_;
  size_t blocks_ = 0;
  uint64_t steps_ = 0;
  uint16_t stage_ = 0;
  PushStages stages_;
};

}  // namespace

PushStages FindStages(const PushInput& input, const PushView& view) {
  return Stager(input, view).Run();
}

}  // namespace fabricd::routing
