// SPDX-License-Identifier: Apache-2.0
// DownMemory: link downs that processes before this one have counted. Their row looks back 24 h,
// but counters begin at 0 with each process: a link that goes down once before a takeover and once
// after it has to show two. Other rows look back no further than what OnFailover() waits, or are
// ratios.
//
// Kept in the store with the verdict about the link. By the default limits one down is enough for a
// verdict. Coarse: a down has the time of the assessment that found it. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "common/time.h"
#include "policy/evidence.h"
#include "policy/verdict/verdict_book.h"

namespace fabricd::policy {

class DownMemory {
 public:
  static constexpr size_t kMaxLinks = VerdictBook::kMaxLinks;
  static constexpr size_t kMaxEntries = 8;  // Of a link. Beyond it the two oldest become one.

  // Of the process before. `wall` is `now` on the wall clock.
  void Import(const std::vector<StoredStanding>& stored, Instant now, WallMs wall);
  // What this process has counted. Call with each assessment, or more often.
  void Note(const LinkEvidence& own, Instant now);
  bool HasEarlier(const LinkKey& link) const;
  // Adds what processes before this one have counted.
  void AddEarlier(LinkEvidence& link, Instant now) const;
  // Of all processes within 24 h, the oldest first.
  std::vector<CountedDowns> Export(const LinkKey& link, Instant now, WallMs wall) const;

 private:
  struct Downs {
    Instant at{};
    uint64_t count = 0;
  };
  struct Entry {
    std::vector<Downs> earlier, own;  // The oldest first.
    uint64_t excused = 0;             // Of this process, at the last Note().
  };
  void DropOld(Instant now);

  absl::flat_hash_map<LinkKey, Entry> entries_;
};

}  // namespace fabricd::policy
