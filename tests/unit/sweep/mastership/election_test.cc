// SPDX-License-Identifier: Apache-2.0
// IBA vol 1 §14.4.1: who is master, and which SMInfo controls are legal.
#include <gtest/gtest.h>

#include "sweep/mastership/election.h"

namespace fabricd::sweep {
namespace {

using Kind = ElectionVerdict::Kind;
using wire::SmControl;
using wire::SmState;

RemoteSm Remote(uint64_t guid, uint8_t priority, SmState state) {
  return {PortRef{}, Guid(guid), priority, state, 0};
}
OwnSm Own(SmState state, uint8_t priority = 5, uint64_t guid = 100) {
  return {state, priority, Guid(guid)};
}

TEST(Election, BecomesMasterWithoutOtherSms) {
  EXPECT_EQ(Elect(Own(SmState::kDiscovering), {}).kind, Kind::kMaster);
}

TEST(Election, DiscoveringYieldsToAnyMaster) {
  const auto verdict = Elect(Own(SmState::kDiscovering, 15), {Remote(200, 0, SmState::kMaster)});
  EXPECT_EQ(verdict.kind, Kind::kStandby);
  EXPECT_EQ(verdict.other->guid, Guid(200));
}

TEST(Election, DiscoveringComparesWithOthersThatAreNoMaster) {
  for (SmState state : {SmState::kDiscovering, SmState::kStandby}) {
    EXPECT_EQ(Elect(Own(SmState::kDiscovering, 5), {Remote(200, 6, state)}).kind, Kind::kStandby);
    EXPECT_EQ(Elect(Own(SmState::kDiscovering, 5), {Remote(200, 4, state)}).kind, Kind::kMaster);
    EXPECT_EQ(Elect(Own(SmState::kDiscovering, 5), {Remote(99, 5, state)}).kind, Kind::kStandby);
    EXPECT_EQ(Elect(Own(SmState::kDiscovering, 5), {Remote(101, 5, state)}).kind, Kind::kMaster);
  }
  EXPECT_EQ(Elect(Own(SmState::kDiscovering), {Remote(1, 15, SmState::kNotActive)}).kind,
            Kind::kMaster);
}

TEST(Election, MasterHandsOverToAHigherOneAndWaitsForALowerMaster) {
  for (SmState state : {SmState::kStandby, SmState::kMaster})
    EXPECT_EQ(Elect(Own(SmState::kMaster, 5), {Remote(200, 6, state)}).kind, Kind::kHandover);
  EXPECT_EQ(Elect(Own(SmState::kMaster, 5), {Remote(200, 4, SmState::kMaster)}).kind, Kind::kWait);
  EXPECT_EQ(Elect(Own(SmState::kMaster, 5), {Remote(200, 4, SmState::kStandby)}).kind,
            Kind::kMaster);
}

// OpenSM answers a handover that arrives while it discovers, and then is STANDBY to its sender.
TEST(Election, MasterKeepsTheSubnetWhileAHigherOneDiscovers) {
  const std::vector<RemoteSm> others{Remote(200, 6, SmState::kDiscovering),
                                     Remote(300, 4, SmState::kStandby)};
  EXPECT_EQ(Elect(Own(SmState::kMaster, 5), others).kind, Kind::kMaster);
}

TEST(Election, AHigherMasterIsHandedTheSubnetBeforeAHigherStandby) {
  const auto verdict = Elect(Own(SmState::kMaster, 5),
                             {Remote(200, 9, SmState::kStandby), Remote(300, 7, SmState::kMaster)});
  EXPECT_EQ(verdict.kind, Kind::kHandover);
  EXPECT_EQ(verdict.other->guid, Guid(300));
}

TEST(Election, TakesOverBeforeAnIdleStandbyAndHandsOverToItOnce) {
  OwnSm own = Own(SmState::kDiscovering);
  const RemoteSm idle = Remote(200, 9, SmState::kStandby);
  EXPECT_EQ(Elect(own, {idle}).kind, Kind::kStandby) << "it has the time to rise first";
  own.idle = {Guid(200)};
  EXPECT_EQ(Elect(own, {idle}).kind, Kind::kTake);
  EXPECT_EQ(Elect(own, {Remote(200, 4, SmState::kStandby)}).kind, Kind::kMaster);
  EXPECT_EQ(Elect(own, {Remote(200, 9, SmState::kDiscovering)}).kind, Kind::kMaster)
      << "it would not take a handover";
  EXPECT_EQ(Elect(own, {idle, Remote(300, 1, SmState::kMaster)}).kind, Kind::kStandby);
  const auto other = Elect(own, {idle, Remote(300, 7, SmState::kStandby)});
  EXPECT_EQ(other.kind, Kind::kStandby);
  EXPECT_EQ(other.other->guid, Guid(300)) << "which may rise";
  own.passed_over = {Guid(200)};
  EXPECT_EQ(Elect(own, {idle}).kind, Kind::kMaster) << "it was handed the subnet and did not rise";
  own.state = SmState::kMaster;
  EXPECT_EQ(Elect(own, {idle}).kind, Kind::kMaster);
  EXPECT_EQ(Elect(own, {Remote(200, 9, SmState::kMaster)}).kind, Kind::kHandover);
}

TEST(Election, PicksTheHighestOfSeveral) {
  const auto verdict = Elect(Own(SmState::kMaster, 5),
                             {Remote(300, 7, SmState::kStandby), Remote(200, 9, SmState::kStandby),
                              Remote(150, 9, SmState::kStandby)});
  EXPECT_EQ(verdict.other->guid, Guid(150));
}

TEST(Election, NeverTwoMastersOfOneView) {
  // Every pair of states and ranks: if both read each other truly, at most one ends up programming.
  const SmState states[] = {SmState::kDiscovering, SmState::kStandby, SmState::kMaster};
  for (SmState a : states)
    for (SmState b : states)
      for (uint8_t pa : {1, 2})
        for (uint8_t pb : {1, 2}) {
          const auto va = Elect(Own(a, pa, 100), {Remote(200, pb, b)});
          const auto vb = Elect(Own(b, pb, 200), {Remote(100, pa, a)});
          EXPECT_FALSE(va.kind == Kind::kMaster && vb.kind == Kind::kMaster)
              << int(a) << int(b) << int(pa) << int(pb);
        }
}

TEST(Election, ControlsOnlyWhereTheyAreLegal) {
  EXPECT_EQ(StateAfterControl(SmState::kStandby, SmControl::kHandover), SmState::kMaster);
  EXPECT_EQ(StateAfterControl(SmState::kNotActive, SmControl::kHandover), std::nullopt);
  EXPECT_EQ(StateAfterControl(SmState::kStandby, SmControl::kDisable), SmState::kNotActive);
  EXPECT_EQ(StateAfterControl(SmState::kMaster, SmControl::kDisable), std::nullopt);
  EXPECT_EQ(StateAfterControl(SmState::kNotActive, SmControl::kStandby), SmState::kStandby);
  EXPECT_EQ(StateAfterControl(SmState::kMaster, SmControl::kStandby), std::nullopt);
  EXPECT_EQ(StateAfterControl(SmState::kStandby, SmControl::kDiscover), SmState::kDiscovering);
  EXPECT_EQ(StateAfterControl(SmState::kMaster, SmControl::kDiscover), std::nullopt);
  EXPECT_EQ(StateAfterControl(SmState::kMaster, static_cast<SmControl>(9)), std::nullopt);
}

}  // namespace
}  // namespace fabricd::sweep
