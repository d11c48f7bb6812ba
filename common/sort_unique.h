// SPDX-License-Identifier: Apache-2.0
// Sorts a list and removes duplicates.
#pragma once

#include <algorithm>

namespace fabricd {

template <typename List>
void SortUnique(List& list) {
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

}  // namespace fabricd
