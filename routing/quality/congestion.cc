// SPDX-License-Identifier: Apache-2.0
#include "routing/quality/congestion.h"

#include <algorithm>

namespace fabricd::routing {

std::vector<uint32_t> CountFlows(const PathWalker& walker, const Flows& flows) {
  const SwitchGraph& graph = walker.graph();
  std::vector<uint32_t> count(walker.link_count(), 0);
  for (const Flow& flow : flows)
    walker.Walk(graph.ends[flow.from].at, graph.ends[flow.to],
                [&count](uint32_t link) { ++count[link]; });
  return count;
}

Congestion MeasureFamily(const PathWalker& walker, size_t count,
                         const std::function<Flows(size_t)>& make, Parallel& parallel) {
  std::vector<uint32_t> max_of(count);
  parallel.For(count, [&](size_t i) {
    const std::vector<uint32_t> flows = CountFlows(walker, make(i));
    max_of[i] = flows.empty() ? 0 : *std::max_element(flows.begin(), flows.end());
  });
  Congestion result;
  result.patterns = static_cast<uint32_t>(count);
  if (count == 0) return result;
  double sum = 0, bandwidth = 0;
  for (size_t i = 0; i < count; ++i) {
    if (max_of[i] > result.max) result.worst = static_cast<uint32_t>(i);
    result.max = std::max(result.max, max_of[i]);
    sum += max_of[i];
    bandwidth += 1.0 / std::max(max_of[i], 1u);
  }
  result.mean_max = sum / static_cast<double>(count);
  result.bandwidth = bandwidth / static_cast<double>(count);
  return result;
}

Rng MakeStream(uint64_t seed, Stream stream, uint64_t of) {
  const uint64_t of_stream = Rng(Rng(seed).Next() ^ static_cast<uint64_t>(stream)).Next();
  return Rng(of_stream ^ of);
}

std::vector<uint32_t> SampleNumbers(uint32_t last, uint64_t wanted, Rng rng) {
  std::vector<uint32_t> numbers;
  for (uint64_t i = 0; i < std::min<uint64_t>(wanted, last); ++i) {
    // One of each of `wanted` equal parts.
    const uint64_t from = i * last / wanted, end = (i + 1) * last / wanted;
    const uint64_t drawn = wanted < last ? from + rng.Below(end - from) : i;
    numbers.push_back(static_cast<uint32_t>(1 + drawn));
  }
  return numbers;
}

}  // namespace fabricd::routing
