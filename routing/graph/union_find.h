// SPDX-License-Identifier: Apache-2.0
// UnionFind: disjoint sets whose representative is the lowest member, so that it can be a sort key.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

namespace fabricd::routing {

class UnionFind {
 public:
  explicit UnionFind(uint32_t count) : parent_(count) {
    std::iota(parent_.begin(), parent_.end(), 0u);
  }
  uint32_t Find(uint32_t s) {
    while (parent_[s] != s) s = parent_[s] = parent_[parent_[s]];
    return s;
  }
  void Join(uint32_t a, uint32_t b) {
    a = Find(a), b = Find(b);
    if (a < b)
      parent_[b] = a;
    else
      parent_[a] = b;
  }

 private:
  std::vector<uint32_t> parent_;
};

}  // namespace fabricd::routing
