// SPDX-License-Identifier: Apache-2.0
// Congestion of patterns: how many flows of one pattern share a link by the tables of a plan. The
// words are those of quality.h.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "common/rng.h"
#include "routing/plan/parallel.h"
#include "routing/quality/path_walker.h"

namespace fabricd::routing {

// The congestion of the most congested link of each pattern of a family.
struct Congestion {
  uint32_t max = 0;      // Over the patterns.
  double mean_max = 0;   // Mean over the patterns.
  double bandwidth = 1;  // Mean over the patterns of 1 / (that congestion, at least 1).
  uint32_t worst = 0;    // The first pattern that has the highest: of shifts its k.
  uint32_t patterns = 0;
  bool all = true;  // False: a sample of the family's patterns.
  friend bool operator==(const Congestion&, const Congestion&) = default;
};

struct Flow {
  uint32_t from, to;  // Host ports, as indices into SwitchGraph::ends.
};
using Flows = std::vector<Flow>;

// [link] Flows over it. A way that leads astray counts as far as it goes.
std::vector<uint32_t> CountFlows(const PathWalker& walker, const Flows& flows);

// The patterns make(0) … make(count - 1); `worst` is one of these numbers.
Congestion MeasureFamily(const PathWalker& walker, size_t count,
                         const std::function<Flows(size_t)>& make, Parallel& parallel);

// Random streams of their own: more samples of one family change no other's.
enum class Stream : uint64_t { kShifts = 1, kPermutations, kBisections, kHostSets };
Rng MakeStream(uint64_t seed, Stream stream, uint64_t of);

// `wanted` different numbers from 1 to `last` (all, if there are no more), ascending and spread
// evenly.
std::vector<uint32_t> SampleNumbers(uint32_t last, uint64_t wanted, Rng rng);

template <typename T>
void Shuffle(std::vector<T>& values, Rng& rng) {
  for (size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[rng.Below(i)]);
}

}  // namespace fabricd::routing
