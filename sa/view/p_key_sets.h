// SPDX-License-Identifier: Apache-2.0
// PKeySets: which end ports may talk in which partition (IBA vol 1 §10.9.3: the same partition, and
// one of the two a full member). Ports with the same keys share a set, of which a fabric has few.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "common/ids.h"
#include "common/p_key.h"

namespace fabricd::sa {

class PKeySets {
 public:
  using Set = uint32_t;

  // In any order, with empty and repeated entries. Of a partition held in both ways the full
  // membership counts.
  Set Add(const std::vector<PKey>& keys);
  // The key of `a` for the lowest partition in which the two may talk; 0: there is none.
  PKey Shared(Set a, Set b) const {
    return a == b && sets_[a].shared_with_itself ? sets_[a].shared_with_itself : Find(a, b);
  }
  bool Share(Set a, Set b) const { return static_cast<bool>(Shared(a, b)); }
  // Whether they may talk in this partition (the membership bit does not matter).
  bool MayTalk(Set a, Set b, PKey partition) const;
  // Whether such a port is a member of this partition at all, in whichever way.
  bool Held(Set set, PKey partition) const { return static_cast<bool>(KeyFor(set, partition)); }
  size_t size() const { return sets_.size(); }

 private:
  struct Keys {
    std::vector<PKey> by_partition;
    PKey shared_with_itself;
  };
  PKey Find(Set a, Set b) const;
  PKey KeyFor(Set set, PKey partition) const;

  std::vector<Keys> sets_;
  std::map<std::vector<PKey>, Set> numbers_;
};

}  // namespace fabricd::sa
