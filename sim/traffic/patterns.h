// SPDX-License-Identifier: Apache-2.0
// sim/traffic: what jobs on a simulated fabric would send, and at what rates. Pure: no devices.
//
// The flows of a job by its pattern of communication. Ranks are numbered from 0; each sends as fast
// as the fabric lets it. The rounds of a pattern are not played one after the other: all of its
// flows run at once, as the mean of many repetitions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fabricd::sim {

enum class TrafficPattern : uint8_t {
  kRing,               // To the next rank, and from the last to the first.
  kRecursiveDoubling,  // To each rank whose number differs in one bit.
  kAllToAll,           // To each other rank.
  kIncast,             // All others to the first rank.
};

// "ring", "recursive-doubling", "all-to-all", "incast".
std::string_view TrafficPatternName(TrafficPattern pattern);
std::optional<TrafficPattern> ParseTrafficPattern(std::string_view name);
std::string TrafficPatternNames();  // All of them, "ring, …".

// How many flows FlowsOf returns.
size_t FlowCount(TrafficPattern pattern, size_t ranks);
// Pairs of sender and receiver, each once, by sender. None for less than two ranks.
std::vector<std::pair<size_t, size_t>> FlowsOf(TrafficPattern pattern, size_t ranks);

}  // namespace fabricd::sim
