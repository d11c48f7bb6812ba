// SPDX-License-Identifier: Apache-2.0
#include "sim/traffic/patterns.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fabricd::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr TrafficPattern kPatterns[] = {TrafficPattern::kRing, TrafficPattern::kRecursiveDoubling,
                                        TrafficPattern::kAllToAll, TrafficPattern::kIncast};

TEST(TrafficPatternTest, NamesReadBack) {
  for (TrafficPattern pattern : kPatterns) {
    EXPECT_EQ(ParseTrafficPattern(TrafficPatternName(pattern)), pattern);
    EXPECT_NE(TrafficPatternNames().find(TrafficPatternName(pattern)), std::string::npos);
  }
  EXPECT_FALSE(ParseTrafficPattern("ringlet"));
}

TEST(TrafficPatternTest, ARingCloses) {
  EXPECT_THAT(FlowsOf(TrafficPattern::kRing, 3), ElementsAre(Pair(0, 1), Pair(1, 2), Pair(2, 0)));
}

TEST(TrafficPatternTest, RecursiveDoublingPairsNumbersThatDifferInOneBit) {
  EXPECT_THAT(FlowsOf(TrafficPattern::kRecursiveDoubling, 4),
              ElementsAre(Pair(0, 1), Pair(0, 2), Pair(1, 0), Pair(1, 3), Pair(2, 3), Pair(2, 0),
                          Pair(3, 2), Pair(3, 1)));
  EXPECT_THAT(FlowsOf(TrafficPattern::kRecursiveDoubling, 3),
              ElementsAre(Pair(0, 1), Pair(0, 2), Pair(1, 0), Pair(2, 0)));
}

TEST(TrafficPatternTest, AnIncastHasOneReceiver) {
  EXPECT_THAT(FlowsOf(TrafficPattern::kIncast, 4), ElementsAre(Pair(1, 0), Pair(2, 0), Pair(3, 0)));
}

TEST(TrafficPatternTest, EachPairIsThereOnceAndCounted) {
  for (TrafficPattern pattern : kPatterns) {
    for (size_t ranks = 0; ranks < 40; ++ranks) {
      const auto flows = FlowsOf(pattern, ranks);
      EXPECT_EQ(flows.size(), FlowCount(pattern, ranks)) << ranks;
      EXPECT_EQ(std::set(flows.begin(), flows.end()).size(), flows.size());
      for (const auto& [from, to] : flows) {
        EXPECT_NE(from, to);
        EXPECT_LT(to, ranks);
      }
    }
    EXPECT_THAT(FlowsOf(pattern, 1), IsEmpty());
  }
}

}  // namespace
}  // namespace fabricd::sim
