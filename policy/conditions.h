// SPDX-License-Identifier: Apache-2.0
// Conditions: counts of what devices do wrong, per source and rule, in sliding windows. A count
// that reaches its threshold raises a condition; two windows in which it was not reached again
// clear it. Pure: time comes in.
//
// An event costs a hash look-up and a place in an ordered set of bounded size. Where there is no
// more room, the source that would be forgotten next makes it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "common/ids.h"
#include "common/time.h"
#include "policy/options.h"

namespace fabricd::policy {

enum class Rule : uint8_t { kNoisyTraps, kTrapStorm, kUnresponsive, kSetErrors };
inline constexpr size_t kRules = 4;
std::string_view ConditionTypeOf(Rule rule);  // "NoisyTraps"

// How many came within a window, to a sixteenth of it: never too many are counted as recent.
class SlidingCount {
 public:
  void Add(uint64_t count, Instant now, Duration window);
  uint64_t Total(Instant now, Duration window);

 private:
  static constexpr int64_t kSlices = 16;
  void MoveTo(Instant now, Duration window);
  std::array<uint64_t, kSlices> slices_{};
  int64_t slice_ = 0;  // Of the newest one: time / (window / kSlices).
};

class Conditions {
 public:
  static constexpr size_t kMaxSources = 4096;
  struct Source {
    Rule rule;
    PortRef port;  // Port 0: the node.
    friend auto operator<=>(const Source&, const Source&) = default;
    template <typename H>
    friend H AbslHashValue(H h, const Source& source) {
      return H::combine(std::move(h), source.rule, source.port);
    }
  };
  struct Raised {
    Source source;
    Instant since;
    uint64_t count = 0;  // The highest that any window held.
    uint64_t total = 0;  // Since it was raised, and what raised it.
    std::string last;    // What was said of the last one.
  };

  explicit Conditions(const ConditionOptions& options) : options_(options) {}
  void SetOptions(const ConditionOptions& options) { options_ = options; }
  const RateRule& RuleOf(Rule rule) const;

  // `count` of them came from the source; `what` describes the last. The source's condition if this
  // has raised it, valid until the next call.
  const Raised* Count(Source source, uint64_t count, std::string_view what, Instant now);
  // At NextDeadline(): the sources that are well again.
  std::vector<Source> OnTimer(Instant now);
  Instant NextDeadline() const;
  std::vector<Raised> List() const;  // By source.

 private:
  struct Entry {
    SlidingCount recent;
    std::optional<Raised> raised;
    Instant deadline;
  };
  using Queue = std::set<std::pair<Instant, Source>>;
  Entry& EntryOf(Source source, Instant now);

  ConditionOptions options_;
  absl::flat_hash_map<Source, Entry> sources_;
  Queue raised_;  // By when they are clear.
  Queue quiet_;   // By when they are forgotten.
};

}  // namespace fabricd::policy
