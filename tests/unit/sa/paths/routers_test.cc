// SPDX-License-Identifier: Apache-2.0
// Paths to other subnets, over routers (IBA vol 1 §15.2.5.16, §19).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sa/view/prefix_routes.h"
#include "tests/unit/sa/paths/walked_paths.h"

namespace fabricd::sa {
namespace {

using ::testing::ElementsAre;
using testing::FabricMaker;
using testing::Make;
using testing::Reply;
using testing::Send;
using ::testing::SizeIs;

constexpr uint64_t kElsewhere = 0xFEC0000000000001, kFarther = 0xFEC0000000000002;

// A switch with two hosts and two routers.
class RoutersTest : public ::testing::Test {
 protected:
  RoutersTest() {
    FabricMaker maker;
    const size_t leaf = maker.AddSwitch(8);
    for (size_t* handle : {&host_, &other_}) *handle = maker.AddHost(1);
    for (size_t* handle : {&first_, &second_}) *handle = maker.AddRouter(1);
    int port = 1;
    for (size_t handle : {host_, other_, first_, second_}) maker.Cable(leaf, port++, handle, 1);
    made_ = Make(maker);
  }
  Guid GuidOf(size_t handle) const { return made_.GidOf(handle).guid(); }
  Reply AskFor(Gid dgid, uint64_t more = 0, uint8_t hop_limit = 0) {
    PathRecord path;
    path.sgid = made_.GidOf(host_);
    path.dgid = dgid;
    path.hop_limit = hop_limit;
    return Send(made_.View(), Ask(path, kGids | more, Method::kGet), made_.LidOf(host_));
  }
  Lid RouterTo(uint64_t prefix) {
    const auto paths = AskFor({prefix, 0x4711}).Records<PathRecord>();
    return paths.size() == 1 ? paths[0].dlid : Lid();
  }

  size_t host_ = 0, other_ = 0, first_ = 0, second_ = 0;
  SaFabric made_;
};

TEST_F(RoutersTest, APathToAnotherSubnetLeadsToItsRouter) {
  made_.input.sm.prefix_routes = {{kElsewhere, GuidOf(second_)}};
  const Reply reply = AskFor({kElsewhere, 0x4711});
  ASSERT_EQ(reply.status(), wire::kStatusOk);
  const PathRecord path = reply.Records<PathRecord>().at(0);
  EXPECT_EQ(path.dgid, (Gid{kElsewhere, 0x4711}));
  EXPECT_EQ(path.sgid, made_.GidOf(host_));
  EXPECT_EQ(path.dlid, made_.LidOf(second_));
  EXPECT_EQ(path.hop_limit, 255);
  EXPECT_EQ(path.flow_label, 0u);
  EXPECT_EQ(path.traffic_class, 0);
  EXPECT_TRUE(path.reversible);
  const PathRecord here = AskFor(made_.GidOf(other_)).Records<PathRecord>().at(0);
  EXPECT_EQ(here.hop_limit, 0) << "within the subnet no GRH is needed";
}

TEST_F(RoutersTest, WithoutARouteOrItsRouterThereIsNone) {
  EXPECT_EQ(AskFor({kElsewhere, 1}).status(), wire::kSaStatusRequestInvalidGid);
  made_.input.sm.prefix_routes = {{kElsewhere, GuidOf(other_)}, {kFarther, Guid(0x99)}};
  EXPECT_EQ(AskFor({kElsewhere, 1}).status(), wire::kSaStatusRequestInvalidGid) << "a host";
  EXPECT_EQ(AskFor({kFarther, 1}).status(), wire::kSaStatusRequestInvalidGid) << "not there";
  made_.input.sm.prefix_routes = {{0, Guid()}};
  EXPECT_EQ(AskFor({0, 1}).status(), wire::kSaStatusRequestInvalidGid) << "no prefix";
  PathRecord path;
  path.sgid = {kElsewhere, 1};
  path.dgid = made_.GidOf(other_);
  EXPECT_EQ(Send(made_.View(), Ask(path, kGids, Method::kGet), made_.LidOf(host_)).status(),
            wire::kSaStatusRequestInvalidGid)
      << "no path begins elsewhere";
}

TEST_F(RoutersTest, TheFirstRouteWhoseRouterIsThereCounts) {
  made_.input.sm.prefix_routes = {{kElsewhere, Guid(0x99)},
                                  {kElsewhere, GuidOf(second_)},
                                  {kElsewhere, GuidOf(first_)},
                                  {0, Guid()}};
  EXPECT_EQ(RouterTo(kElsewhere), made_.LidOf(second_));
  const size_t lowest = GuidOf(first_) < GuidOf(second_) ? first_ : second_;
  EXPECT_EQ(RouterTo(kFarther), made_.LidOf(lowest)) << "any router for any prefix";
}

TEST_F(RoutersTest, AHopLimitThatEndsAtTheRouterHasNoPath) {
  made_.input.sm.prefix_routes = {{0, Guid()}};
  const auto with = [&](uint8_t hops) { return AskFor({kElsewhere, 1}, Bit(C::kHopLimit), hops); };
  EXPECT_EQ(with(1).status(), wire::kSaStatusNoRecords);
  EXPECT_EQ(with(64).Records<PathRecord>().at(0).hop_limit, 64);
}

TEST(PrefixRoutes, AreReadAsOpensmReadsThem) {
  const auto parsed = ParsePrefixRoutes(
      "# to the storage\n"
      "\n"
      "fec0000000000001 0x0002c90300000001  # by the first\n"
      "0xFEC0000000000002\t*\r\n"
      "* 0002c90300000002 and more\n"
      "* *");
  EXPECT_TRUE(parsed.faults.empty());
  EXPECT_THAT(parsed.routes, ElementsAre(PrefixRoute{kElsewhere, Guid(0x0002C90300000001)},
                                         PrefixRoute{kFarther, Guid()},
                                         PrefixRoute{0, Guid(0x0002C90300000002)}, PrefixRoute{}));
}

TEST(PrefixRoutes, EachFaultNamesItsLine) {
  const auto parsed = ParsePrefixRoutes("fec0\n* *\nmine 1\n1 -2\n11112222333344445 1");
  EXPECT_THAT(parsed.routes, SizeIs(1));
  EXPECT_EQ(FaultsText(parsed.faults),
            "line 1: no GUID of a router's port; "
            "line 3: mine is neither * nor a subnet prefix of 64 bits; "
            "line 4: -2 is neither * nor a GUID; "
            "line 5: 11112222333344445 is neither * nor a subnet prefix of 64 bits");
}

}  // namespace
}  // namespace fabricd::sa
