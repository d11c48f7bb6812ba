// SPDX-License-Identifier: Apache-2.0
#include "routing/graph/turned_order.h"

#include <algorithm>
#include <utility>

#include "routing/plan/no_index.h"

namespace fabricd::routing {
namespace {

constexpr uint32_t kMostTurned = 64;

class Turner {
 public:
  Turner(const LinkMap& links, std::vector<uint32_t>& position)
      : links_(links), position_(position) {}

  bool Run() {
    bool any = false;
    for (uint32_t round = 0; round < kMostTurned && TurnOne(); ++round) any = true;
    return any;
  }

 private:
  bool IsUp(uint32_t from, uint32_t to) const { return position_[to] > position_[from]; }
  template <typename Found>
  void ForNeighbors(uint32_t s, Found&& found) const {
    for (uint32_t port = 1; port < links_.ports(s); ++port) {
      const FarEnd far = links_.Ports(s)[port];
      if (far.IsSwitch() && far.head != s) found(static_cast<uint32_t>(far.head));
    }
  }

  bool TurnOne() {
    for (uint32_t s = 0; s < links_.size(); ++s) {
      if (!links_.IsAlive(s) || !IsSummit(s)) continue;
      FindBelow(s);
      const uint32_t above = OtherWayUp(s);
      if (above == kNone) continue;
      Turn(s, above);
      return true;
    }
    return false;
  }
  bool IsSummit(uint32_t s) const {
    bool highest = true;
    ForNeighbors(s, [&](uint32_t head) { highest &= !IsUp(s, head); });
    return highest;
  }
  // Switches with a way up to `summit`, itself included.
  void FindBelow(uint32_t summit) {
    below_.assign(links_.size(), 0);
    std::vector<uint32_t> stack{summit};
    below_[summit] = 1;
    while (!stack.empty()) {
      const uint32_t s = stack.back();
      stack.pop_back();
      ForNeighbors(s, [&](uint32_t head) {
        if (IsUp(s, head) || below_[head]) return;
        below_[head] = 1;
        stack.push_back(head);
      });
    }
  }
  // The highest neighbour that may stand above the summit: it has a way up to somewhere else, and
  // none to the summit but the cables between them. kNone: there is none, as for the highest
  // switch of a component that has no other summit.
  uint32_t OtherWayUp(uint32_t summit) const {
    uint32_t best = kNone;
    ForNeighbors(summit, [&](uint32_t neighbor) {
      if (best != kNone && !IsUp(best, neighbor)) return;
      bool elsewhere = false, again = false;
      ForNeighbors(neighbor, [&](uint32_t up) {
        if (up != summit && IsUp(neighbor, up)) (below_[up] ? again : elsewhere) = true;
      });
      if (elsewhere && !again) best = neighbor;
    });
    return best;
  }
  // Between the two, what has a way up to the summit comes before all else.
  void Turn(uint32_t summit, uint32_t above) {
    using Key = std::pair<bool, uint32_t>;  // Not below, old position.
    std::vector<std::pair<Key, uint32_t>> between;
    std::vector<uint32_t> places;
    for (uint32_t s = 0; s < links_.size(); ++s) {
      if (!links_.IsAlive(s) || IsUp(s, above) || IsUp(summit, s)) continue;
      between.push_back({{s == above || !below_[s], position_[s]}, s});
      places.push_back(position_[s]);
    }
    std::sort(between.begin(), between.end());
    std::sort(places.begin(), places.end());
    for (size_t i = 0; i < between.size(); ++i) position_[between[i].second] = places[i];
  }

  const LinkMap& links_;
  std::vector<uint32_t>& position_;  // [switch]
  std::vector<uint8_t> below_;       // [switch]
};

}  // namespace

bool TurnOrder(const LinkMap& links, std::vector<uint32_t>& position) {
  return Turner(links, position).Run();
}

}  // namespace fabricd::routing
