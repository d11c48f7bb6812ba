// SPDX-License-Identifier: Apache-2.0
#include "routing/graph/grid_classes.h"

#include <algorithm>
#include <map>
#include <utility>

#include "routing/graph/union_find.h"

namespace fabricd::routing {
namespace {

class Finder {
 public:
  explicit Finder(const SwitchGraph& graph)
      : graph_(graph),
        classes_(static_cast<uint32_t>(graph.neighbors.size())),
        sides_(graph.size()) {
    JoinDirections();
  }

  std::vector<uint32_t> Run() {
    for (uint32_t s = 0; s < graph_.size(); ++s) JoinSquares(s);
    JoinStraight();
    std::vector<uint32_t> classes(graph_.neighbors.size());
    std::map<uint32_t, uint32_t> number;
    for (uint32_t n = 0; n < classes.size(); ++n)
      classes[n] =
          number.try_emplace(classes_.Find(n), static_cast<uint32_t>(number.size())).first->second;
    return classes;
  }

 private:
  template <typename Visit>
  void ForEachNeighbor(uint32_t s, Visit&& visit) const {
    for (uint32_t n = graph_.neighbor_begin[s]; n < graph_.neighbor_begin[s + 1]; ++n)
      visit(n, graph_.neighbors[n].head);
  }
  void JoinDirections() {
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> by_ends;
    for (uint32_t s = 0; s < graph_.size(); ++s)
      ForEachNeighbor(s, [&](uint32_t n, uint32_t head) {
        if (const auto other = by_ends.find({head, s}); other != by_ends.end())
          classes_.Join(n, other->second);
        else
          by_ends[{s, head}] = n;
      });
  }

  // A square is two ways of two hops from s to one other switch.
  struct Side {
    uint32_t near, far;  // Neighbours: at s, and at the switch between.
  };
  // Fills sides_ for s; `met_` are those that have any.
  void FindSides(uint32_t s) {
    for (uint32_t w : met_) sides_[w].clear();
    met_.clear();
    ForEachNeighbor(s, [&](uint32_t near, uint32_t between) {
      ForEachNeighbor(between, [&](uint32_t far, uint32_t w) {
        if (w == s) return;
        if (sides_[w].empty()) met_.push_back(w);
        sides_[w].push_back({near, far});
      });
    });
  }
  void JoinSquares(uint32_t s) {
    FindSides(s);
    for (uint32_t w : met_) {
      const std::vector<Side>& sides = sides_[w];
      for (size_t i = 1; i < sides.size(); ++i) {
        classes_.Join(sides[0].near, sides[i].far);
        classes_.Join(sides[i].near, sides[0].far);
        // With a third way each pair is a square, and all sides are opposite in some of them.
        if (i > 1) classes_.Join(sides[0].near, sides[i].near);
      }
    }
  }

  struct Meetings {
    uint32_t all = 0, squares = 0;
  };
  void JoinStraight() {
    std::map<std::pair<uint32_t, uint32_t>, Meetings> meetings;
    for (uint32_t s = 0; s < graph_.size(); ++s) {
      ForEachNeighbor(s, [&](uint32_t a, uint32_t) {
        for (uint32_t b = a + 1; b < graph_.neighbor_begin[s + 1]; ++b)
          if (classes_.Find(a) != classes_.Find(b)) ++meetings[Pair(a, b)].all;
      });
      FindSides(s);
      for (uint32_t w : met_)
        for (size_t i = 1; i < sides_[w].size(); ++i)
          if (classes_.Find(sides_[w][i - 1].near) != classes_.Find(sides_[w][i].near))
            ++meetings[Pair(sides_[w][i - 1].near, sides_[w][i].near)].squares;
    }
    for (const auto& [pair, count] : meetings)
      if (2 * count.squares < count.all) classes_.Join(pair.first, pair.second);
  }
  std::pair<uint32_t, uint32_t> Pair(uint32_t a, uint32_t b) {
    a = classes_.Find(a), b = classes_.Find(b);
    return {std::min(a, b), std::max(a, b)};
  }

  const SwitchGraph& graph_;
  UnionFind classes_;                     // Of neighbours.
  std::vector<std::vector<Side>> sides_;  // [switch]
  std::vector<uint32_t> met_;
};

}  // namespace

std::vector<uint32_t> GridClasses(const SwitchGraph& graph) { return Finder(graph).Run(); }

}  // namespace fabricd::routing
