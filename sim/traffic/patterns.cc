// SPDX-License-Identifier: Apache-2.0
#include "sim/traffic/patterns.h"

namespace fabricd::sim {
namespace {

constexpr std::string_view kPatternNames[] = {"ring", "recursive-doubling", "all-to-all", "incast"};

}  // namespace

std::string_view TrafficPatternName(TrafficPattern pattern) {
  return kPatternNames[static_cast<size_t>(pattern)];
}

std::optional<TrafficPattern> ParseTrafficPattern(std::string_view name) {
  for (size_t i = 0; i < std::size(kPatternNames); ++i) {
    if (kPatternNames[i] == name) return static_cast<TrafficPattern>(i);
  }
  return std::nullopt;
}

std::string TrafficPatternNames() {
  std::string all;
  for (std::string_view name : kPatternNames) {
    if (!all.empty()) all += ", ";
    all += name;
  }
  return all;
}

size_t FlowCount(TrafficPattern pattern, size_t ranks) {
  if (ranks < 2) return 0;
  switch (pattern) {
    case TrafficPattern::kRing: return ranks;
    case TrafficPattern::kRecursiveDoubling: {
      size_t count = 0;
      for (size_t bit = 1; bit < ranks; bit *= 2) {
        // Whole groups of 2 * bit ranks are in pairs; of the rest as many as are beyond `bit`.
        const size_t rest = ranks % (2 * bit);
        count += ranks - rest + (rest > bit ? 2 * (rest - bit) : 0);
      }
      return count;
    }
    case TrafficPattern::kAllToAll: return ranks * (ranks - 1);
    case TrafficPattern::kIncast: return ranks - 1;
  }
  return 0;
}

std::vector<std::pair<size_t, size_t>> FlowsOf(TrafficPattern pattern, size_t ranks) {
  std::vector<std::pair<size_t, size_t>> flows;
  if (ranks < 2) return flows;
  flows.reserve(FlowCount(pattern, ranks));
  for (size_t from = 0; from < ranks; ++from) {
    switch (pattern) {
      case TrafficPattern::kRing: flows.emplace_back(from, (from + 1) % ranks); break;
      case TrafficPattern::kRecursiveDoubling:
        for (size_t bit = 1; bit < ranks; bit *= 2) {
          if ((from ^ bit) < ranks) flows.emplace_back(from, from ^ bit);
        }
        break;
      case TrafficPattern::kAllToAll:
        for (size_t to = 0; to < ranks; ++to) {
          if (to != from) flows.emplace_back(from, to);
        }
        break;
      case TrafficPattern::kIncast:
        if (from != 0) flows.emplace_back(from, 0);
        break;
    }
  }
  return flows;
}

}  // namespace fabricd::sim
