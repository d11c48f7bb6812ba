// SPDX-License-Identifier: Apache-2.0
#include "routing/graph/fitted_order.h"

#include <algorithm>
#include <functional>
#include <queue>

#include "routing/plan/no_index.h"

namespace fabricd::routing {
namespace {

constexpr uint32_t kMostTrees = 1'000;

class Fitter {
 public:
  Fitter(const LinkMap& links, const std::vector<uint8_t>& held, const SwitchTurns& turns,
         const std::vector<uint32_t>& position, uint32_t top)
      : links_(links),
        turns_(turns),
        position_(position),
        top_(top),
        left_(links.size(), 0),
        between_(links.size(), 0),
        ends_at_(links.size()),
        parent_(links.size(), kNone),
        children_(links.size(), 0) {
    for (uint32_t s = 0; s < links_.size(); ++s) {
      left_[s] = links_.IsAlive(s) || held[s];
      if (left_[s]) by_position_.push_back(s);
      between_[s] = turns_[s].size();
      for (uint32_t turn = 0; turn < turns_[s].size(); ++turn) {
        ends_at_[turns_[s][turn].first].emplace_back(s, turn);
        ends_at_[turns_[s][turn].second].emplace_back(s, turn);
      }
    }
    std::sort(by_position_.begin(), by_position_.end(),
              [&](uint32_t a, uint32_t b) { return position_[a] < position_[b]; });
  }

  std::optional<FittedOrder> Run() {
    while (placed_.size() < by_position_.size()) {
      if (trees_ >= kMostTrees) return std::nullopt;
      const size_t before = placed_.size();
      Connect(kNone);
      PlaceLeaves();
      if (placed_.size() == before && !PlaceOther() && !PlaceAgainstTurns()) return std::nullopt;
    }
    FittedOrder fitted{position_, forbidden_};
    std::vector<uint32_t> places;
    for (uint32_t s : by_position_) places.push_back(position_[s]);
    for (size_t i = 0; i < placed_.size(); ++i) fitted.position[placed_[i]] = places[i];
    return fitted;
  }

 private:
  template <typename Visit>
  void ForNeighbors(uint32_t s, Visit&& visit) const {
    for (uint32_t port = 1; port < links_.ports(s); ++port) {
      const FarEnd far = links_.Ports(s)[port];
      if (far.IsSwitch() && far.head != s && left_[far.head])
        visit(static_cast<uint32_t>(far.head));
    }
  }

  // A tree that joins what is left of each component, from its highest switch, which `leaf` is a
  // leaf of. Whether `leaf` can be one: without it the others are still connected.
  bool Connect(uint32_t leaf) {
    ++trees_;
    std::fill(parent_.begin(), parent_.end(), kNone);
    std::fill(children_.begin(), children_.end(), 0);
    if (top_ != kNone && left_[top_]) Grow(top_, leaf);
    for (auto root = by_position_.rbegin(); root != by_position_.rend(); ++root)
      if (left_[*root] && parent_[*root] == kNone && *root != leaf) Grow(*root, leaf);
    if (leaf == kNone) return true;
    uint32_t top = kNone;
    bool joined = true;
    ForNeighbors(leaf, [&](uint32_t head) {
      joined &= top == kNone || TopOf(head) == top;
      top = TopOf(head);
    });
    return joined;
  }
  void Grow(uint32_t root, uint32_t leaf) {
    parent_[root] = root;
    open_.assign(1, root);
    for (size_t next = 0; next < open_.size(); ++next)
      ForNeighbors(open_[next], [&](uint32_t head) {
        if (head == leaf || parent_[head] != kNone) return;
        parent_[head] = open_[next];
        ++children_[open_[next]];
        open_.push_back(head);
      });
  }
  uint32_t TopOf(uint32_t s) const {
    while (parent_[s] != s) s = parent_[s];
    return s;
  }

  bool MayPlace(uint32_t s) const { return left_[s] && children_[s] == 0 && between_[s] == 0; }
  void PlaceLeaves() {
    using Next = std::pair<uint32_t, uint32_t>;  // Position, switch.
    std::priority_queue<Next, std::vector<Next>, std::greater<>> next;
    const auto offer = [&](uint32_t s) {
      if (MayPlace(s)) next.emplace(position_[s], s);
    };
    for (uint32_t s : by_position_) offer(s);
    while (!next.empty()) {
      const uint32_t s = next.top().second;
      next.pop();
      if (!left_[s]) continue;
      Place(s, offer);
      if (parent_[s] == s || parent_[s] == kNone) continue;
      --children_[parent_[s]];
      offer(parent_[s]);
    }
  }
  template <typename Freed>
  void Place(uint32_t s, Freed&& freed) {
    left_[s] = 0;
    placed_.push_back(s);
    for (const auto& [at, turn] : ends_at_[s]) {
      const auto [a, b] = turns_[at][turn];
      // Whichever end went first has counted.
      if (!left_[a] && !left_[b]) continue;
      if (--between_[at] == 0) freed(at);
    }
  }
  // One that the tree joins others by, although they could be joined without it.
  bool PlaceOther() {
    for (uint32_t s : by_position_) {
      if (trees_ == kMostTrees) return false;
      if (!left_[s] || between_[s] > 0 || s == top_ || !Connect(s)) continue;
      Place(s, [](uint32_t) {});
      return true;
    }
    return false;
  }
  // The one at which that forbids least.
  bool PlaceAgainstTurns() {
    std::vector<uint32_t> left;
    for (uint32_t s : by_position_)
      if (left_[s] && s != top_) left.push_back(s);
    std::stable_sort(left.begin(), left.end(),
                     [&](uint32_t a, uint32_t b) { return between_[a] < between_[b]; });
    for (uint32_t s : left) {
      if (trees_ == kMostTrees) return false;
      if (!Connect(s)) continue;
      forbidden_ += between_[s];
      Place(s, [](uint32_t) {});
      return true;
    }
    return false;
  }

  const LinkMap& links_;
  const SwitchTurns& turns_;
  const std::vector<uint32_t>& position_;
  const uint32_t top_;
  std::vector<uint32_t> by_position_;
  std::vector<uint8_t> left_;    // [switch] Not placed yet.
  std::vector<size_t> between_;  // [switch] Turns there between two that are left.
  // [switch] Turns that it is an end of: where, and which of them.
  std::vector<std::vector<std::pair<uint32_t, uint32_t>>> ends_at_;
  std::vector<uint32_t> parent_;    // [switch] In the tree; itself: a root.
  std::vector<uint32_t> children_;  // [switch] In the tree, not placed yet.
  std::vector<uint32_t> placed_, open_;
  uint32_t trees_ = 0;
  uint64_t forbidden_ = 0;
};

}  // namespace

std::optional<FittedOrder> FitOrder(const LinkMap& links, const std::vector<uint8_t>& held,
                                    const SwitchTurns& turns, const std::vector<uint32_t>& position,
                                    uint32_t top) {
  return Fitter(links, held, turns, position, top).Run();
}

}  // namespace fabricd::routing
