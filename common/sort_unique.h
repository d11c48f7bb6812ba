// SPDX-License-Identifier: Apache-2.0
// Makes a list a sorted one in which nothing stands twice.
#pragma once

#include <algorithm>

namespace fabricd {

template <typename List>
void SortUnique(List& list) {
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

}  // namespace fabricd
