// SPDX-License-Identifier: Apache-2.0
// PathRecord (IBA vol 1 §15.2.5.16) against walks over the plan's tables and the snapshot's links.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "common/rng.h"
#include "fabric/rate.h"
#include "tests/unit/sa/paths/walked_paths.h"

namespace fabricd::sa {
namespace {

using testing::FabricMaker;
using testing::Make;
using testing::Reply;
using testing::Send;
using wire::Selector;

TEST(ShortRequests, NameTheEndsOfOnePath) {
  const auto is_short = [](Method method, uint64_t mask) {
    return IsShort(Ask(PathRecord{}, mask, method).Bytes());
  };
  EXPECT_TRUE(is_short(Method::kGet, kGids));
  EXPECT_TRUE(is_short(Method::kGet, Bit(C::kSlid) | Bit(C::kDgid) | Bit(C::kPKey)));
  EXPECT_FALSE(is_short(Method::kGet, Bit(C::kSgid) | Bit(C::kSlid))) << "to anywhere";
  EXPECT_FALSE(is_short(Method::kGet, Bit(C::kDlid))) << "from anywhere";
  EXPECT_FALSE(is_short(Method::kGetTable, kGids));
  EXPECT_FALSE(IsShort(Query{wire::SaAttribute::kNodeRecord, Method::kGet, kGids}.Bytes()));
  EXPECT_FALSE(IsShort({}));
}

// A three-level tree whose links differ in speed and MTU, both ends alike, with two LIDs per port.
SaFabric Uneven(uint64_t seed, uint8_t lmc) {
  SaFabric made = Make(fabricd::testing::MakeTree({{4, 1}, {4, 2}, {4, 2}}), lmc);
  Rng rng(seed);
  fabric::SnapshotBuilder builder(*made.input.snapshot);
  made.input.snapshot->ForEachNode([&](const fabric::Node& node) {
    for (size_t number = 1; number < node.ports.size(); ++number) {
      const fabric::Port& port = node.ports[number];
      if (port.peer.IsNone() || port.peer.node < node.index) continue;
      wire::PortInfo info = testing::RunningPort(static_cast<uint8_t>(1u << rng.Below(4)));
      info.neighbor_mtu = static_cast<uint8_t>(3 + rng.Below(3));
      builder.SetPortInfo({node.index, PortNum(static_cast<uint8_t>(number))}, info);
      builder.SetPortInfo(port.peer, info);
    }
  });
  made.input.snapshot = made.fabric.snapshot = builder.Build();
  return made;
}

TEST(Paths, AllPairsAreAsTheTablesLead) {
  for (uint8_t lmc : {0, 1}) {
    const SaFabric made = Uneven(7 + lmc, lmc);
    const SaView view = made.View();
    ASSERT_GT(view.ends().size(), 64u) << "more than are looked at together";
    const Reply reply = Send(view, Ask(PathRecord{}, 0), made.LidOf(40));
    ASSERT_EQ(reply.status(), wire::kStatusOk);
    std::set<std::pair<Lid, Lid>> seen;
    std::set<std::pair<uint8_t, uint8_t>> kinds;
    const Lid middle = made.LidOf(40);
    std::vector<PathRecord> from_middle;
    for (const PathRecord& path : reply.Records<PathRecord>()) {
      EXPECT_TRUE(seen.insert({path.slid, path.dlid}).second);
      const PortRef from = made.input.lids->Owner(path.slid);
      if (path.slid == middle) from_middle.push_back(path);
      if (from == made.input.lids->Owner(path.dlid)) continue;
      const Walked walked = WalkByHand(made, from, path.dlid);
      ASSERT_EQ(path.mtu, walked.mtu) << path.slid.value() << " " << path.dlid.value();
      ASSERT_EQ(path.rate, walked.rate) << path.slid.value() << " " << path.dlid.value();
      kinds.insert({path.mtu, path.rate});
      EXPECT_EQ(path.mtu_selector, Selector::kExactly);
      EXPECT_EQ(path.p_key, kDefaultFullPKey);
      EXPECT_TRUE(path.reversible);
      EXPECT_EQ(path.packet_life_time, 18);
      // The same when asked for alone.
      const Reply one =
          Send(view, Ask(path, Bit(C::kSlid) | Bit(C::kDlid), Method::kGet), path.slid);
      ASSERT_EQ(one.status(), wire::kStatusOk);
      PathRecord alone = one.Records<PathRecord>()[0];
      alone.preference = path.preference;
      ASSERT_EQ(alone, path);
    }
    size_t lids = 0;
    for (uint32_t i = 0; i < view.ends().size(); ++i) lids += 1u << view.ends()[i].lmc;
    EXPECT_EQ(seen.size(), lids * lids);
    EXPECT_GT(kinds.size(), 4u) << "the fabric is uneven";
    PathRecord half;
    half.slid = middle;
    auto to_all = Send(view, Ask(half, Bit(C::kSlid)), middle).Records<PathRecord>();
    ASSERT_EQ(to_all.size(), lids);
    const auto by_lid = [](const auto& a, const auto& b) { return a.dlid < b.dlid; };
    std::sort(from_middle.begin(), from_middle.end(), by_lid);
    std::sort(to_all.begin(), to_all.end(), by_lid);
    for (size_t i = 0; i < lids; ++i) {
      to_all[i].preference = from_middle[i].preference;
      ASSERT_EQ(to_all[i], from_middle[i]);
    }
  }
}

// A link whose ends differ has the rate and MTU of the lesser end in both directions.
TEST(Paths, LesserEndOfACableCounts) {
  SaFabric made = Make(fabricd::testing::MakeFatTree(4, 2));
  wire::PortInfo narrow = testing::RunningPort(4);
  narrow.neighbor_mtu = 3;
  const size_t leaf = 0, below = 6;
  ASSERT_EQ(made.input.snapshot->port(made.Ref(below, 1))->peer.node, made.fabric.node[leaf]);
  for (int up : {3, 4}) made.SetPort(leaf, up, narrow);
  const SaView view = made.View();
  for (const auto& [from, to] : {std::pair<size_t, size_t>{below, 13}, {13, below}}) {
    const Reply reply = Send(view, GetPath(made, from, to), made.LidOf(from));
    ASSERT_EQ(reply.status(), wire::kStatusOk);
    EXPECT_EQ(reply.Records<PathRecord>()[0].mtu, 3);
    EXPECT_EQ(reply.Records<PathRecord>()[0].rate, 17);
  }
  EXPECT_EQ(Send(view, GetPath(made, below, 7), made.LidOf(below)).Records<PathRecord>()[0].mtu, 5)
      << "on the same leaf";
}

TEST(Paths, GetByGidAndByLid) {
  const SaFabric made = Make(fabricd::testing::MakeFatTree(4, 2));
  const SaView view = made.View();
  const size_t a = 6, b = 13;
  const Reply by_gid = Send(view, GetPath(made, a, b), made.LidOf(a));
  ASSERT_EQ(by_gid.status(), wire::kStatusOk);
  const PathRecord path = by_gid.Records<PathRecord>()[0];
  EXPECT_EQ(path.sgid, made.GidOf(a));
  EXPECT_EQ(path.dgid, made.GidOf(b));
  EXPECT_EQ(path.slid, made.LidOf(a));
  EXPECT_EQ(path.dlid, made.LidOf(b));
  EXPECT_EQ(path.mtu, 5);
  EXPECT_EQ(path.rate, 21);
  EXPECT_EQ(path.hop_limit, 0);
  EXPECT_EQ(path.numb_path, 0);
  PathRecord lids;
  lids.slid = made.LidOf(a);
  lids.dlid = made.LidOf(b);
  lids.service_id = 0x0102030405060708;
  lids.traffic_class = 9;
  lids.flow_label = 0x12345;
  const uint64_t mask = Bit(C::kSlid) | Bit(C::kDlid) | Bit(C::kServiceIdHigh) |
                        Bit(C::kServiceIdLow) | Bit(C::kTrafficClass) | Bit(C::kFlowLabel);
  const Reply by_lid = Send(view, Ask(lids, mask, Method::kGet), made.LidOf(a));
  ASSERT_EQ(by_lid.status(), wire::kStatusOk);
  PathRecord expected = path;
  expected.service_id = lids.service_id;
  expected.traffic_class = 9;
  expected.flow_label = 0x12345;
  EXPECT_EQ(by_lid.Records<PathRecord>()[0], expected);
}

TEST(Paths, ErrorStatuses) {
  const SaFabric made = Make(fabricd::testing::MakeFatTree(4, 2));
  const SaView view = made.View();
  const Lid from = made.LidOf(6);
  const auto status = [&](uint64_t mask, PathRecord record, Method method = Method::kGet) {
    return Send(view, Ask(record, mask, method), from).status();
  };
  PathRecord good;
  good.sgid = made.GidOf(6);
  good.dgid = made.GidOf(7);
  EXPECT_EQ(status(kGids, good), wire::kStatusOk);
  EXPECT_EQ(status(Bit(C::kSgid), good), wire::kSaStatusInsufficientComponents);
  EXPECT_EQ(status(Bit(C::kDgid), good), wire::kSaStatusInsufficientComponents);
  PathRecord bad = good;
  bad.dgid.low ^= 0x5555;
  EXPECT_EQ(status(kGids, bad), wire::kSaStatusRequestInvalidGid);
  EXPECT_EQ(status(kGids, bad, Method::kGetTable), wire::kSaStatusRequestInvalidGid);
  bad = good;
  bad.sgid.prefix = 0x1234;
  EXPECT_EQ(status(kGids, bad), wire::kSaStatusRequestInvalidGid);
  bad = good;
  bad.dlid = Lid(0xBFFF);
  EXPECT_EQ(status(Bit(C::kSgid) | Bit(C::kDlid), bad), wire::kSaStatusNoRecords);
  bad.dlid = made.LidOf(6);  // Of another port than the GID.
  EXPECT_EQ(status(kGids | Bit(C::kDlid), bad), wire::kSaStatusNoRecords);
  bad = good;
  EXPECT_EQ(status(kGids | Bit(C::kNumbPath), bad), wire::kStatusOk)
      << "NumbPath 0, as IPoIB asks again with the record of the last answer";
  bad.raw_traffic = true;
  EXPECT_EQ(status(kGids | Bit(C::kRawTraffic), bad), wire::kSaStatusRequestInvalid);
  bad = good;
  bad.mtu = 9;
  bad.mtu_selector = Selector::kExactly;
  EXPECT_EQ(status(kGids | Bit(C::kMtu) | Bit(C::kMtuSelector), bad),
            wire::kSaStatusRequestInvalid);
  EXPECT_EQ(status(kGids | Bit(C::kMtu), bad), wire::kStatusOk) << "no selector: no bound";
  const Reply none = Send(view, Ask(bad, Bit(C::kDlid)), from);
  EXPECT_EQ(none.status(), wire::kStatusOk) << "an empty table";
  EXPECT_TRUE(none.data.empty());
}

struct SelectorCase {
  Selector selector;
  uint8_t value, expected;  // 0: no path.
};

// A path of 2048 bytes, 200 Gb/s (code 17, between 168 = 14 and 300 = 18), life time 18.
TEST(Paths, Selectors) {
  SaFabric made = Make(fabricd::testing::MakeFatTree(4, 2));
  wire::PortInfo slow = testing::RunningPort(4);
  slow.neighbor_mtu = 4;
  made.SetPort(6, 1, slow);
  const SaView view = made.View();
  const auto get = [&](C selector, C value, PathRecord record) {
    const Reply reply =
        Send(view, GetPath(made, 6, 13, Bit(selector) | Bit(value), record), made.LidOf(6));
    if (reply.status() == wire::kSaStatusNoRecords) return PathRecord{};
    EXPECT_EQ(reply.status(), wire::kStatusOk);
    return reply.Records<PathRecord>()[0];
  };
  for (const SelectorCase& c : {SelectorCase{Selector::kGreater, 3, 4},
                                {Selector::kGreater, 4, 0},
                                {Selector::kLess, 5, 4},
                                {Selector::kLess, 4, 3},
                                {Selector::kLess, 1, 0},
                                {Selector::kExactly, 4, 4},
                                {Selector::kExactly, 2, 2},
                                {Selector::kExactly, 5, 0},
                                {Selector::kLargest, 1, 4}}) {
    PathRecord record;
    record.mtu_selector = c.selector;
    record.mtu = c.value;
    EXPECT_EQ(get(C::kMtuSelector, C::kMtu, record).mtu, c.expected) << int{c.value};
  }
  for (const SelectorCase& c : {SelectorCase{Selector::kGreater, 14, 17},
                                {Selector::kGreater, 17, 0},
                                {Selector::kLess, 18, 17},
                                {Selector::kLess, 17, 14},
                                {Selector::kLess, 2, 0},
                                {Selector::kExactly, 17, 17},
                                {Selector::kExactly, 10, 10},
                                {Selector::kExactly, 18, 0},
                                {Selector::kLargest, 2, 17}}) {
    PathRecord record;
    record.rate_selector = c.selector;
    record.rate = c.value;
    EXPECT_EQ(get(C::kRateSelector, C::kRate, record).rate, c.expected) << int{c.value};
  }
  for (const SelectorCase& c : {SelectorCase{Selector::kGreater, 17, 18},
                                {Selector::kGreater, 18, 19},
                                {Selector::kGreater, 63, 0},
                                {Selector::kLess, 19, 18},
                                {Selector::kLess, 18, 0},
                                {Selector::kExactly, 18, 18},
                                {Selector::kExactly, 20, 20},
                                {Selector::kExactly, 17, 0},
                                {Selector::kLargest, 2, 18}}) {
    PathRecord record;
    record.life_time_selector = c.selector;
    record.packet_life_time = c.value;
    EXPECT_EQ(get(C::kLifeTimeSelector, C::kLifeTime, record).packet_life_time, c.expected)
        << int{c.value};
  }
}

TEST(Rates, RanksFollowGigabits) {
  using namespace fabric;
  for (RateRank rank = 1; rank <= kTopRate; ++rank) EXPECT_EQ(RankOfRate(CodeOfRate(rank)), rank);
  EXPECT_EQ(RankOfRate(0), 0);
  EXPECT_EQ(RankOfRate(1), 0);
  EXPECT_EQ(RankOfRate(63), 0);
  EXPECT_EQ(CodeOfRate(RateOfLink(wire::LinkSpeed::kSdr, 4)), 3);
  EXPECT_EQ(CodeOfRate(RateOfLink(wire::LinkSpeed::kFdr10, 4)), 7);
  EXPECT_EQ(CodeOfRate(RateOfLink(wire::LinkSpeed::kHdr, 2)), 16);
  EXPECT_EQ(CodeOfRate(RateOfLink(wire::LinkSpeed::kNdr, 8)), 23);
  EXPECT_EQ(CodeOfRate(RateOfLink(wire::LinkSpeed::kXdr, 4)), 23);
  EXPECT_EQ(CodeOfRate(RateOfLink(wire::LinkSpeed::kXdr, 12)), 25) << "2400 Gb/s has no code";
  EXPECT_EQ(CodeOfRate(RateOfLink(wire::LinkSpeed::kUnknown, 4)), 2);
}

TEST(Paths, IsolatedAndUnreachablePortsHaveNone) {
  SaFabric made = Make(fabricd::testing::MakeFatTree(4, 2));
  made.input.isolated = {made.Ref(7, 1)};
  // Without the plan's tables at the leaf of the last host.
  auto plan = std::make_shared<routing::RoutingPlan>(*made.input.plan);
  const NodeIndex leaf = made.input.snapshot->port(made.Ref(13, 1))->peer.node;
  plan->rows[leaf.value()] = nullptr;
  plan->exempt.push_back({leaf, made.LidOf(6)});
  made.input.plan = plan;
  const SaView view = made.View();
  const auto status = [&](size_t from, size_t to, uint64_t more = 0, PathRecord record = {}) {
    return Send(view, GetPath(made, from, to, more, record), made.LidOf(6)).status();
  };
  EXPECT_EQ(status(6, 8), wire::kStatusOk);
  EXPECT_EQ(status(6, 7), wire::kSaStatusNoRecords);
  EXPECT_EQ(status(7, 6), wire::kSaStatusNoRecords);
  EXPECT_EQ(status(13, 6), wire::kSaStatusNoRecords);
  EXPECT_EQ(status(6, 13), wire::kSaStatusNoRecords) << "the leaf leads nowhere";
  // A switch without a table is reached, and sends nothing back that is known to arrive.
  plan = std::make_shared<routing::RoutingPlan>(*testing::Plan(made, "up_down"));
  plan->rows[leaf.value()] = nullptr;
  made.input.plan = plan;
  PathRecord to_leaf;
  to_leaf.dlid = made.input.lids->Of({leaf, PortNum(0)}).base;
  to_leaf.sgid = made.GidOf(6);
  const Reply reached =
      Send(made.View(), Ask(to_leaf, Bit(C::kSgid) | Bit(C::kDlid), Method::kGet), made.LidOf(6));
  ASSERT_EQ(reached.status(), wire::kStatusOk);
  EXPECT_FALSE(reached.Records<PathRecord>()[0].reversible);
  made.input.plan = nullptr;
  EXPECT_EQ(Send(made.View(), GetPath(made, 6, 8), made.LidOf(6)).status(),
            wire::kSaStatusNoRecords);
}

TEST(Paths, ReversibleOnlyWithAReturnPath) {
  SaFabric made = Make(fabricd::testing::MakeFatTree(4, 2));
  auto plan = std::make_shared<routing::RoutingPlan>(*made.input.plan);
  const NodeIndex leaf = made.input.snapshot->port(made.Ref(13, 1))->peer.node;
  auto row = std::make_shared<routing::Row>(*plan->rows[leaf.value()]);
  row->Set(made.LidOf(6).value(), routing::kNoRoute);
  plan->rows[leaf.value()] = row;
  plan->exempt.push_back({leaf, made.LidOf(6)});
  made.input.plan = plan;
  const SaView view = made.View();
  PathRecord record;
  record.reversible = true;
  const Reply any = Send(view, GetPath(made, 6, 13), made.LidOf(6));
  ASSERT_EQ(any.status(), wire::kStatusOk);
  EXPECT_FALSE(any.Records<PathRecord>()[0].reversible);
  EXPECT_EQ(Send(view, GetPath(made, 6, 13, Bit(C::kReversible), record), made.LidOf(6)).status(),
            wire::kSaStatusNoRecords);
  EXPECT_TRUE(Send(view, GetPath(made, 7, 13), made.LidOf(6)).Records<PathRecord>()[0].reversible);
}

TEST(Paths, ServiceLevelsOfThePlan) {
  const SaFabric made = Make(fabricd::testing::MakeTorus({5, 5}, 1), 0, "layered", 4);
  ASSERT_GT(made.input.plan->lanes, 1);
  const SaView view = made.View();
  std::set<uint8_t> levels;
  const Reply reply = Send(view, Ask(PathRecord{}, 0), made.LidOf(30));
  for (const PathRecord& path : reply.Records<PathRecord>()) {
    const PortRef from = made.input.lids->Owner(path.slid);
    const PortRef to = made.input.lids->Owner(path.dlid);
    const NodeIndex start = from.port ? made.input.snapshot->port(from)->peer.node : from.node;
    const NodeIndex end = to.port ? made.input.snapshot->port(to)->peer.node : to.node;
    ASSERT_EQ(path.sl.value(), made.input.plan->ServiceLevel(start, path.dlid));
    EXPECT_EQ(path.reversible, path.sl.value() == made.input.plan->ServiceLevel(end, path.slid));
    levels.insert(path.sl.value());
    // Another one on the same lane will do, one of another lane will not.
    const uint8_t lanes = made.input.plan->lanes;
    PathRecord record = path;
    record.sl = ServiceLevel(static_cast<uint8_t>(path.sl.value() + lanes));
    const uint64_t mask = Bit(C::kSlid) | Bit(C::kDlid) | Bit(C::kSl);
    const Reply same = Send(view, Ask(record, mask, Method::kGet), path.slid);
    ASSERT_EQ(same.status(), wire::kStatusOk);
    EXPECT_EQ(same.Records<PathRecord>()[0].sl, record.sl);
    record.sl = ServiceLevel(static_cast<uint8_t>(path.sl.value() + 1));
    EXPECT_EQ(Send(view, Ask(record, mask, Method::kGet), path.slid).status(),
              wire::kSaStatusNoRecords);
  }
  EXPECT_GT(levels.size(), 1u);
}

TEST(Paths, SeveralLids) {
  const SaFabric made = Make(fabricd::testing::MakeFatTree(4, 2), 2);
  const SaView view = made.View();
  PathRecord record;
  record.sgid = made.GidOf(6);
  record.dgid = made.GidOf(13);
  const auto paths = [&](uint64_t mask) {
    return Send(view, Ask(record, mask), made.LidOf(6)).Records<PathRecord>();
  };
  const auto all = paths(kGids);
  ASSERT_EQ(all.size(), 16u);
  std::set<std::pair<Lid, Lid>> pairs;
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].preference, i);
    pairs.insert({all[i].slid, all[i].dlid});
  }
  EXPECT_EQ(pairs.size(), 16u);
  for (uint16_t i = 0; i < 4; ++i) {
    EXPECT_EQ(all[i].slid.value(), made.LidOf(6).value() + i) << "first each LID with its like";
    EXPECT_EQ(all[i].dlid.value(), made.LidOf(13).value() + i);
  }
  record.numb_path = 3;
  EXPECT_EQ(paths(kGids | Bit(C::kNumbPath)).size(), 3u);
  record.dlid = Lid(static_cast<uint16_t>(made.LidOf(13).value() + 2));
  EXPECT_EQ(paths(kGids | Bit(C::kDlid)).size(), 4u);
  EXPECT_EQ(Send(view, Ask(record, kGids, Method::kGet), made.LidOf(6)).status(), wire::kStatusOk)
      << "a Get asks for one";
}

TEST(Paths, ToItselfAndBackToBack) {
  FabricMaker maker;
  const size_t a = maker.AddHost(), b = maker.AddHost();
  maker.Cable(a, b);
  const size_t on = maker.AddSwitch(4);
  const size_t c = maker.Host(on);
  const SaFabric made = Make(maker);
  const SaView view = made.View();
  const Reply direct = Send(view, GetPath(made, a, b), made.LidOf(a));
  ASSERT_EQ(direct.status(), wire::kStatusOk);
  EXPECT_EQ(direct.Records<PathRecord>()[0].rate, 21);
  // Port 0 of a switch bounds its paths by what it shows of itself.
  SaFabric slow = made;
  wire::PortInfo port0 = testing::RunningPort(2);
  port0.mtu_cap = 3;
  slow.SetPort(on, 0, port0);
  PathRecord to_switch;
  to_switch.slid = made.LidOf(c);
  to_switch.dlid = made.LidOf(on, 0);
  const Query query = Ask(to_switch, Bit(C::kSlid) | Bit(C::kDlid), Method::kGet);
  EXPECT_EQ(Send(view, query, made.LidOf(c)).Records<PathRecord>()[0].rate, 21);
  const PathRecord slower = Send(slow.View(), query, made.LidOf(c)).Records<PathRecord>()[0];
  EXPECT_EQ(slower.rate, 16);
  EXPECT_EQ(slower.mtu, 3);
  const Reply own = Send(view, GetPath(made, c, c), made.LidOf(c));
  ASSERT_EQ(own.status(), wire::kStatusOk);
  EXPECT_EQ(own.Records<PathRecord>()[0].packet_life_time, 0);
  EXPECT_EQ(Send(view, GetPath(made, a, c), made.LidOf(a)).status(), wire::kSaStatusNoRecords);
}

}  // namespace
}  // namespace fabricd::sa
