// SPDX-License-Identifier: Apache-2.0
#include "routing/graph/channel_order.h"

#include <functional>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "routing/graph/order.h"
#include "tests/unit/routing/run.h"

namespace fabricd::routing {
namespace {

using namespace fabricd::testing;  // NOLINT: the test's own helpers.

SwitchGraph GraphOf(const FabricMaker& maker) {
  const TestFabric fabric = maker.Build();
  return BuildGraphs(*fabric.snapshot, fabric.lids).at(0);
}

// What a lane has, looked through from scratch each time.
class PlainLane {
 public:
  explicit PlainLane(uint32_t channels) : next_(channels) {}
  void Add(uint32_t a, uint32_t b) { next_[a].insert(b); }
  bool Reaches(uint32_t from, uint32_t to) const {
    std::set<uint32_t> seen;
    const std::function<bool(uint32_t)> visit = [&](uint32_t c) {
      if (c == to) return true;
      if (!seen.insert(c).second) return false;
      for (uint32_t n : next_[c])
        if (visit(n)) return true;
      return false;
    };
    return visit(from);
  }

 private:
  std::vector<std::set<uint32_t>> next_;
};

TEST(ChannelOrder, AcceptsExactlyDependenciesThatCloseNoCycle) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const FabricMaker maker = seed % 2 ? MakeTorus({4, 4}, 1) : MakeRandom(8, 24, 4, seed);
    const SwitchGraph graph = GraphOf(maker);
    const ChannelGraph channels(graph);
    ChannelOrder order(channels, UpDownPlaces(channels, RootOrder(graph, 0)));
    PlainLane plain(channels.size());
    Rng rng(seed);
    size_t accepted = 0, refused = 0;
    for (int i = 0; i < 400 && channels.size() > 0; ++i) {
      const auto c = static_cast<uint32_t>(rng.Below(channels.size()));
      const auto out = static_cast<uint8_t>(rng.Below(channels.out_count(channels.head[c])));
      const uint32_t next = channels.Of(channels.head[c], out);
      const bool closes = plain.Reaches(next, c);
      ASSERT_EQ(order.Add(c, out), !closes) << "seed " << seed << " step " << i;
      ASSERT_EQ(order.Has(c, out), !closes);
      ASSERT_EQ(order.Refuses(c, out), closes);
      if (!closes) {
        plain.Add(c, next);
        ASSERT_TRUE(order.Agrees(c, out));
      }
      (closes ? refused : accepted)++;
    }
    EXPECT_TRUE(channels.size() < 8 || (accepted > 0 && refused > 0)) << "seed " << seed;
  }
}

TEST(ChannelOrder, WithdrawsTentativeDependencies) {
  const SwitchGraph graph = GraphOf(MakeRing(5, 1));
  const ChannelGraph channels(graph);
  ChannelOrder order(channels, UpDownPlaces(channels, RootOrder(graph, 0)));
  // Once round the ring in one direction: the last dependency would close it.
  std::vector<std::pair<uint32_t, uint8_t>> round;
  uint32_t c = channels.begin[0];
  do {
    const uint32_t head = channels.head[c];
    const uint8_t out = channels.Of(head, 0) == channels.reverse[c] ? 1 : 0;
    round.emplace_back(c, out);
    c = channels.Of(head, out);
  } while (c != channels.begin[0]);
  ASSERT_EQ(round.size(), 5u);
  for (size_t i = 0; i + 1 < round.size(); ++i)
    ASSERT_TRUE(order.AddForNow(round[i].first, round[i].second));
  EXPECT_FALSE(order.AddForNow(round.back().first, round.back().second));
  EXPECT_FALSE(order.Refuses(round.back().first, round.back().second));
  order.Remove(round[2].first, round[2].second);
  EXPECT_TRUE(order.Add(round.back().first, round.back().second));
  EXPECT_FALSE(order.Add(round[2].first, round[2].second));
}

TEST(ChannelOrder, NeedsNoSearchForUpDownPaths) {
  const SwitchGraph graph = GraphOf(MakeFatTree(8, 3));
  const ChannelGraph channels(graph);
  const Order position = RootOrder(graph, 0);
  ChannelOrder order(channels, UpDownPlaces(channels, position));
  const auto rises = [&](uint32_t c) {
    return position[channels.head[c]] > position[channels.tail[c]];
  };
  for (uint32_t c = 0; c < channels.size(); ++c)
    for (uint32_t out = 0; out < channels.out_count(channels.head[c]); ++out) {
      const uint32_t next = channels.Of(channels.head[c], static_cast<uint8_t>(out));
      if (next == channels.reverse[c] || (!rises(c) && rises(next))) continue;
      EXPECT_TRUE(order.Add(c, static_cast<uint8_t>(out)));
    }
  EXPECT_EQ(order.searches(), 0u);
  EXPECT_FALSE(order.HasMoved());
}

// Out-ports beyond the first 64 have bits of their own.
TEST(ChannelOrder, KeepsWideSwitchesApart) {
  FabricMaker maker;
  const size_t hub = maker.AddSwitch(200);
  for (int i = 0; i < 150; ++i) maker.Cable(hub, maker.AddSwitch(2));
  const SwitchGraph graph = GraphOf(maker);
  const ChannelGraph channels(graph);
  ChannelOrder order(channels, UpDownPlaces(channels, RootOrder(graph, 0)));
  const uint32_t into_hub = channels.reverse[channels.Of(0, 3)];
  for (int out : {5, 69, 133}) {
    EXPECT_FALSE(order.Has(into_hub, static_cast<uint8_t>(out)));
    EXPECT_TRUE(order.Add(into_hub, static_cast<uint8_t>(out)));
    EXPECT_TRUE(order.Has(into_hub, static_cast<uint8_t>(out)));
  }
}

}  // namespace
}  // namespace fabricd::routing
