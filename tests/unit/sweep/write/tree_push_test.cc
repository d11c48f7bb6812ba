// SPDX-License-Identifier: Apache-2.0
// In which order multicast tables are written: no MLID that moves holds old and new entries at
// once.
#include "sweep/write/tree_push.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "common/rng.h"
#include "fabric/multicast_groups.h"
#include "routing/multicast/multicast_rows.h"
#include "tests/unit/sweep/small_fabric.h"

namespace fabricd::sweep {
namespace {

using routing::MulticastPlan;
using routing::MulticastTree;
using Write = TreePush::Write;

constexpr uint16_t kFirst = fabric::kFirstMulticastLid.value();

// Two switches (SmallFabric) whose multicast tables this test holds.
class TreePushTest : public ::testing::Test {
 protected:
  TreePushTest() : fabric_(0) {
    wire::SwitchInfo info;
    info.multicast_fdb_cap = 1024;
    for (NodeIndex node : fabric_.switches) {
      fabric_.builder.SetSwitchInfo(node, info);
      devices_.SetPath(node, {});
    }
    snapshot_ = fabric_.builder.Build();
    for (NodeIndex node : fabric_.switches)
      for (uint16_t block = 0; block < 2; ++block)
        for (uint8_t position = 0; position < 3; ++position)
          devices_.applied().Mft(node).Confirm({block, position}, {});
  }

  PortRef Port(int at, int port) const {
    return {fabric_.switches[at], PortNum(static_cast<uint8_t>(port))};
  }
  // By MLID - kFirst.
  using Trees = std::map<uint16_t, std::vector<PortRef>>;
  static std::shared_ptr<const MulticastPlan> Plan(const Trees& trees) {
    std::vector<std::shared_ptr<const MulticastTree>> made;
    for (const auto& [number, ports] : trees) {
      auto tree = std::make_shared<MulticastTree>();
      tree->mlid = Lid(static_cast<uint16_t>(kFirst + number));
      tree->ports = ports;
      std::sort(tree->ports.begin(), tree->ports.end());
      made.push_back(std::move(tree));
    }
    return std::make_shared<const MulticastPlan>(routing::PlanOfTrees(std::move(made), nullptr));
  }
  TreePush Push(const Trees& trees, bool together = true) {
    return TreePush(Plan(trees), *snapshot_, devices_, together);
  }

  std::vector<Write> TakeAll(TreePush& push) {
    std::vector<Write> writes;
    while (auto write = push.Next(devices_)) {
      devices_.applied().Mft(write->node).MarkSent(write->place, write->bytes);
      writes.push_back(*write);
    }
    return writes;
  }
  void Answer(TreePush& push, const Write& write, bool ok = true) {
    if (ok)
      devices_.applied().Mft(write.node).Confirm(write.place, write.bytes);
    else
      devices_.applied().Mft(write.node).Complete(write.place);
    push.OnAnswer(write.node, write.place, ok);
  }
  // Everything, at once answered. The number of writes.
  size_t Carry(TreePush& push) {
    size_t count = 0;
    while (auto write = push.Next(devices_)) {
      devices_.applied().Mft(write->node).MarkSent(write->place, write->bytes);
      Answer(push, *write);
      ++count;
    }
    EXPECT_TRUE(push.done());
    return count;
  }
  std::vector<PortNum> Held(int at, uint16_t number) const {
    const auto row = devices_.applied().FindMft(fabric_.switches[at])->Row();
    return row ? row->PortsOf(Lid(static_cast<uint16_t>(kFirst + number))) : std::vector<PortNum>{};
  }

  const SmOptions options_;
  SmallFabric fabric_;
  std::shared_ptr<const fabric::FabricSnapshot> snapshot_;
  DeviceTable devices_{options_};
};

using Ports = std::vector<PortNum>;

TEST_F(TreePushTest, WritesEachDifferingBlockOnce) {
  TreePush push = Push({{0, {Port(0, 1), Port(0, 36), Port(1, 36), Port(1, 2)}}});
  EXPECT_EQ(push.size(), 4u) << "positions 0 and 2 of both switches";
  EXPECT_EQ(Carry(push), 4u);
  EXPECT_EQ(Held(0, 0), (Ports{PortNum(1), PortNum(36)}));
  TreePush again = Push({{0, {Port(0, 1), Port(0, 36), Port(1, 36), Port(1, 2)}}});
  EXPECT_TRUE(again.done());
  EXPECT_EQ(Carry(again), 0u);
}

TEST_F(TreePushTest, IndependentGainsAndLossesShareOneWrite) {
  TreePush first = Push({{0, {Port(0, 1), Port(0, 2)}}, {1, {Port(0, 3), Port(0, 4)}}});
  Carry(first);
  // One group grows, another in the same block shrinks.
  TreePush push = Push({{0, {Port(0, 1), Port(0, 2), Port(0, 5)}}, {1, {Port(0, 3)}}});
  const std::vector<Write> writes = TakeAll(push);
  ASSERT_EQ(writes.size(), 1u);
  EXPECT_EQ(writes[0].bytes[0], 0b100110);
  EXPECT_EQ(writes[0].bytes[1], 0b1000);
}

TEST_F(TreePushTest, AMovedTreeLosesEntriesEverywhereBeforeItGains) {
  TreePush first = Push({{0, {Port(0, 1), Port(0, 2)}}});
  Carry(first);
  // It loses on one switch and gains on the other.
  TreePush push = Push({{0, {Port(1, 1), Port(1, 2)}}});
  EXPECT_EQ(push.size(), 2u);
  std::vector<Write> writes = TakeAll(push);
  ASSERT_EQ(writes.size(), 1u);
  EXPECT_EQ(writes[0].node, fabric_.switches[0]);
  EXPECT_EQ(writes[0].bytes, TreePush::Block{});
  EXPECT_FALSE(push.done());
  Answer(push, writes[0]);
  writes = TakeAll(push);
  ASSERT_EQ(writes.size(), 1u);
  EXPECT_EQ(writes[0].node, fabric_.switches[1]);
  EXPECT_EQ(writes[0].bytes[0], 0b110);
  Answer(push, writes[0]);
  EXPECT_TRUE(push.done());
  EXPECT_EQ(push.failures(), 0u);
}

TEST_F(TreePushTest, NothingIsGainedWhereALossIsNotConfirmed) {
  TreePush first = Push({{0, {Port(0, 1), Port(0, 2)}}, {1, {Port(1, 3), Port(1, 4)}}});
  Carry(first);
  // Group 0 moves away from switch 0 but still uses it; group 1 only gains, on switch 1.
  TreePush push = Push({{0, {Port(0, 1), Port(0, 36), Port(1, 36), Port(1, 1)}},
                        {1, {Port(1, 3), Port(1, 4), Port(1, 5)}}});
  std::vector<Write> writes = TakeAll(push);
  size_t losses = 0;
  for (const Write& write : writes) {
    const bool loses = write.node == fabric_.switches[0];
    losses += loses;
    Answer(push, write, !loses);
  }
  EXPECT_EQ(losses, 1u);
  writes = TakeAll(push);
  EXPECT_TRUE(writes.empty()) << "its new tree passes the switch that may hold old entries";
  EXPECT_TRUE(push.done());
  EXPECT_TRUE(push.IsUnsafe(fabric_.switches[0]));
  EXPECT_FALSE(push.IsUnsafe(fabric_.switches[1]));
  EXPECT_GT(push.failures(), 1u);
  EXPECT_TRUE(Held(1, 0).empty());
  EXPECT_EQ(Held(1, 1), (Ports{PortNum(3), PortNum(4), PortNum(5)})) << "the other goes on";
  // The next run looks at what is there, and gets it done.
  TreePush next = Push({{0, {Port(0, 1), Port(0, 36), Port(1, 36), Port(1, 1)}},
                        {1, {Port(1, 3), Port(1, 4), Port(1, 5)}}});
  Carry(next);
  EXPECT_EQ(Held(0, 0), (Ports{PortNum(1), PortNum(36)}));
  EXPECT_EQ(Held(1, 0), (Ports{PortNum(1), PortNum(36)}));
}

TEST_F(TreePushTest, TreesThatMustNotCoexistLoseAllBeforeAnyGains) {
  TreePush first = Push({{0, {Port(0, 1), Port(0, 2)}}, {40, {Port(1, 3), Port(1, 4)}}});
  Carry(first);
  // One group shrinks, one of another block grows.
  const Trees wanted = {{0, {Port(0, 1)}}, {40, {Port(1, 3), Port(1, 4), Port(1, 5)}}};
  TreePush push = Push(wanted, /*together=*/false);
  EXPECT_EQ(push.size(), 2u);
  std::vector<Write> writes = TakeAll(push);
  ASSERT_EQ(writes.size(), 1u);
  EXPECT_EQ(writes[0].bytes[0], 0b10);
  Answer(push, writes[0], false);
  EXPECT_TRUE(TakeAll(push).empty()) << "who knows what the first switch holds";
  EXPECT_TRUE(push.done());
  EXPECT_EQ(push.failures(), 2u);
  TreePush next = Push(wanted, /*together=*/false);
  EXPECT_EQ(Carry(next), 2u);
  EXPECT_EQ(Held(1, 40), (Ports{PortNum(3), PortNum(4), PortNum(5)}));
}

TEST_F(TreePushTest, WaitsForBlocksInFlightOfAnEarlierRun) {
  devices_.applied().Mft(fabric_.switches[0]).MarkSent({0, 0}, {});
  TreePush push = Push({{0, {Port(0, 1), Port(0, 2)}}});
  EXPECT_FALSE(push.Next(devices_).has_value());
  EXPECT_FALSE(push.done());
  devices_.applied().Mft(fabric_.switches[0]).Complete({0, 0});
  EXPECT_EQ(Carry(push), 1u);
}

// In every transient state the switches hold, for each MLID, a subset of the old or of the new
// entries.
TEST_F(TreePushTest, NeverMixesTwoTreesOfAnMlid) {
  Rng rng(7);
  Trees before;
  size_t staged = 0;
  for (int round = 0; round < 300; ++round) {
    Trees after;
    for (uint16_t number = 0; number < 40;
         number = static_cast<uint16_t>(number + 1 + rng.Below(9))) {
      std::vector<PortRef>& ports = after[number];
      for (int at : {0, 1})
        for (int port : {0, 1, 17, 35})
          if (rng.Chance(0.5)) ports.push_back(Port(at, port));
    }
    const bool together = round % 2 == 0;
    TreePush push = Push(after, together);
    std::vector<Write> out;
    const auto check = [&] {
      bool old = false, fresh = false;  // Of any MLID: held, and not of the other plan's tree.
      for (const auto* trees : {&before, &after})
        for (const auto& entry : *trees) {
          std::vector<PortRef> held;
          for (int at : {0, 1})
            for (PortNum port : Held(at, entry.first)) held.push_back({fabric_.switches[at], port});
          const auto is_part = [&](const Trees& of) {
            const auto it = of.find(entry.first);
            return std::all_of(held.begin(), held.end(), [&](PortRef port) {
              return it != of.end() &&
                     std::find(it->second.begin(), it->second.end(), port) != it->second.end();
            });
          };
          ASSERT_TRUE(is_part(before) || is_part(after)) << "MLID " << entry.first;
          old = old || !is_part(after);
          fresh = fresh || !is_part(before);
        }
      ASSERT_TRUE(together || !old || !fresh);
    };
    while (!push.done()) {
      if (auto write = push.Next(devices_)) {
        devices_.applied().Mft(write->node).MarkSent(write->place, write->bytes);
        out.push_back(*write);
        if (rng.Chance(0.5)) continue;
      }
      if (push.done()) break;
      ASSERT_FALSE(out.empty());
      const size_t which = rng.Below(out.size());
      Answer(push, out[which]);
      out.erase(out.begin() + static_cast<std::ptrdiff_t>(which));
      check();
    }
    staged += push.sent() > 0;
    EXPECT_EQ(push.sent(), push.size());
    for (const auto& [number, ports] : after) {
      std::vector<PortRef> held;
      for (int at : {0, 1})
        for (PortNum port : Held(at, number)) held.push_back({fabric_.switches[at], port});
      ASSERT_EQ(held, ports);
    }
    before = std::move(after);
  }
  EXPECT_GT(staged, 290u);
}

}  // namespace
}  // namespace fabricd::sweep
