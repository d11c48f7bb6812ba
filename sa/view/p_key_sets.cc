// SPDX-License-Identifier: Apache-2.0
#include "sa/view/p_key_sets.h"

#include <algorithm>

namespace fabricd::sa {
namespace {

bool FormPair(PKey a, PKey b) { return IsFullMember(a) || IsFullMember(b); }

}  // namespace

PKeySets::Set PKeySets::Add(const std::vector<PKey>& keys) {
  std::map<uint16_t, PKey> best;  // By partition.
  for (PKey key : keys) {
    if (PartitionOf(key) == 0) continue;
    PKey& found = best[PartitionOf(key)];
    found = std::max(found, key);
  }
  std::vector<PKey> sorted;
  for (const auto& [partition, key] : best) sorted.push_back(key);
  const auto [place, is_new] = numbers_.try_emplace(sorted, static_cast<Set>(sets_.size()));
  if (is_new) {
    const auto full = std::find_if(sorted.begin(), sorted.end(), IsFullMember);
    sets_.push_back({sorted, full == sorted.end() ? PKey() : *full});
  }
  return place->second;
}

PKey PKeySets::Find(Set a, Set b) const {
  const auto &mine = sets_[a].by_partition, &other = sets_[b].by_partition;
  for (size_t i = 0, j = 0; i < mine.size() && j < other.size();) {
    if (PartitionOf(mine[i]) < PartitionOf(other[j])) {
      ++i;
    } else if (PartitionOf(mine[i]) > PartitionOf(other[j])) {
      ++j;
    } else {
      if (FormPair(mine[i], other[j])) return mine[i];
      ++i, ++j;
    }
  }
  return {};
}

PKey PKeySets::KeyFor(Set set, PKey partition) const {
  const auto& keys = sets_[set].by_partition;
  const auto found =
      std::lower_bound(keys.begin(), keys.end(), PartitionOf(partition),
                       [](PKey key, uint16_t wanted) { return PartitionOf(key) < wanted; });
  return found != keys.end() && PartitionOf(*found) == PartitionOf(partition) ? *found : PKey();
}

bool PKeySets::MayTalk(Set a, Set b, PKey partition) const {
  const PKey mine = KeyFor(a, partition), other = KeyFor(b, partition);
  return mine && other && FormPair(mine, other);
}

}  // namespace fabricd::sa
