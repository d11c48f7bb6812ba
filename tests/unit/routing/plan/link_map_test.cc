// SPDX-License-Identifier: Apache-2.0
// A map that is carried through faults shows what the judges of a plan read anew.
#include "routing/plan/link_map.h"

#include <gtest/gtest.h>

#include "routing/proof/wiring.h"
#include "tests/unit/routing/faults.h"
#include "tests/unit/routing/run.h"

namespace fabricd::routing {
namespace {

using namespace fabricd::testing;  // NOLINT: the test's own helpers.

void ExpectShowsTheSame(const LinkMap& map, const TestFabric& fabric) {
  const Wiring wiring(*fabric.snapshot, fabric.lids);
  uint32_t alive = 0;
  for (uint32_t s = 0; s < map.size(); ++s) {
    const uint32_t other = wiring.number(map.node(s));
    ASSERT_EQ(map.IsAlive(s), other != Wiring::kNone);
    if (!map.IsAlive(s)) continue;
    ++alive;
    uint32_t ends = 0;
    for (uint32_t port = 0; port < 256; ++port) {
      const FarEnd far = map.far(s, static_cast<uint8_t>(port));
      const Far& wanted = wiring.far(other, static_cast<uint8_t>(port));
      ASSERT_EQ(far.IsSwitch(), wanted.IsSwitch());
      if (!far.IsSwitch()) {
        ASSERT_EQ(far.head == FarEnd::kEndPort, wanted.node == Far::kEndPort);
      } else {
        ASSERT_EQ(map.node(far.head), wiring.node(wanted.node));
        ASSERT_EQ(wanted.node * wiring.last_port() + far.port - 1, wanted.channel);
      }
      ends += far.head == FarEnd::kEndPort;
    }
    EXPECT_EQ(map.end_ports(s), ends);
  }
  EXPECT_EQ(alive, wiring.size());
  for (uint32_t lid = 0; lid <= fabric.lids.top().value() + 1u; ++lid) {
    const LidPlace place = map.place(lid);
    ASSERT_EQ(place.IsNowhere(), wiring.place(lid).at == Place::kNowhere) << lid;
    if (place.IsNowhere()) continue;
    EXPECT_EQ(map.node(place.at), wiring.node(wiring.place(lid).at));
    EXPECT_EQ(place.port, wiring.place(lid).port);
  }
}

TEST(LinkMap, AgreesWithTheWiringOfTheVerifier) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const TestFabric fabric = MakeRandom(12, 30, 16, seed).Build(static_cast<uint8_t>(seed % 3));
    ExpectShowsTheSame(LinkMap(*fabric.snapshot, fabric.lids), fabric);
  }
}

TEST(LinkMap, FollowsFaultsAndReportsEachChange) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const FabricMaker maker = seed % 2 ? MakeFatTree(6, 3) : MakeRandom(12, 30, 16, seed);
    FaultyFabric faulty(maker.Build(static_cast<uint8_t>(seed % 3)), seed);
    LinkMap map(*faulty.now().snapshot, faulty.now().lids);
    for (int step = 0; step < 20; ++step) {
      faulty.RandomStep();
      LinkChanges changes;
      const LinkMap next = map.Next(*faulty.now().snapshot, faulty.now().lids, changes);
      ExpectShowsTheSame(next, faulty.now());
      size_t ports = 0, lids = 0;
      for (uint32_t s = 0; s < map.size(); ++s)
        for (uint32_t port = 0; port < 256; ++port)
          ports +=
              !(map.far(s, static_cast<uint8_t>(port)) == next.far(s, static_cast<uint8_t>(port)));
      for (size_t lid = 0; lid < map.lid_end(); ++lid) lids += !(map.place(lid) == next.place(lid));
      EXPECT_EQ(changes.ports.size(), ports);
      EXPECT_EQ(changes.lids.size(), lids);
      for (uint32_t s : changes.gone) EXPECT_TRUE(map.IsAlive(s) && !next.IsAlive(s));
      for (uint32_t s : changes.come) EXPECT_TRUE(!map.IsAlive(s) && next.IsAlive(s));
      map = next;
    }
  }
}

TEST(LinkMap, TakesInNewSwitchesHostsAndLids) {
  FabricMaker maker = MakeRandom(6, 10, 5, 1);
  const TestFabric small = maker.Build();
  const LinkMap before(*small.snapshot, small.lids);
  // GUIDs that sort before all others, and more ports than any switch had.
  const size_t leaf = maker.AddSwitch(60, "newcomer");
  maker.SetGuid(leaf, Guid(1));
  maker.Cable(leaf, 0);
  maker.Host(leaf);
  TestFabric grown = maker.Build();
  LinkChanges changes;
  const LinkMap after = before.Next(*grown.snapshot, grown.lids, changes);
  ExpectShowsTheSame(after, grown);
  EXPECT_EQ(changes.come.size(), 1u);
  EXPECT_EQ(changes.lids.size(), 2u);
  EXPECT_EQ(after.node(changes.come[0]), grown.node[leaf]);
}

}  // namespace
}  // namespace fabricd::routing
