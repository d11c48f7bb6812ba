// SPDX-License-Identifier: Apache-2.0
#include "sweep/mastership/standby_patience.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fabricd::sweep {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using wire::SmState;

constexpr Instant kBegin{1000s};

RemoteSm ManagerIn(SmState state, Guid guid = Guid(7)) {
  RemoteSm sm;
  sm.guid = guid;
  sm.state = state;
  return sm;
}

TEST(StandbyPatience, AStandbyHasASecondAndADiscoveringSmAMinute) {
  StandbyPatience patience;
  patience.Begin(/*handed_over=*/false, kBegin);
  const RemoteSm standby = ManagerIn(SmState::kStandby);
  EXPECT_FALSE(patience.IsOver(standby, SmState::kStandby, kBegin + 999ms));
  EXPECT_FALSE(patience.IsOver(standby, SmState::kDiscovering, kBegin + 59s));
  EXPECT_TRUE(patience.IsOver(standby, SmState::kStandby, kBegin + 1s));
  EXPECT_THAT(patience.idle(), ElementsAre(Guid(7)));
  EXPECT_TRUE(patience.IsOver(ManagerIn(SmState::kDiscovering, Guid(8)), SmState::kDiscovering,
                              kBegin + 60s));
  EXPECT_THAT(patience.idle(), ElementsAre(Guid(7), Guid(8)));
  EXPECT_THAT(patience.passed_over(), IsEmpty()) << "none has had a handover";
}

TEST(StandbyPatience, AFormerMasterIsNotRememberedAsIdle) {
  StandbyPatience patience;
  patience.Begin(false, kBegin);
  EXPECT_TRUE(patience.IsOver(ManagerIn(SmState::kMaster), SmState::kStandby, kBegin + 1s));
  EXPECT_THAT(patience.idle(), IsEmpty());
}

TEST(StandbyPatience, TheTimeBeginsAgainWhenAMasterIsSeen) {
  StandbyPatience patience;
  patience.Begin(false, kBegin);
  patience.IsOver(ManagerIn(SmState::kStandby), SmState::kStandby, kBegin + 5s);
  patience.OnMaster(Guid(9), kBegin + 10s);
  EXPECT_THAT(patience.idle(), IsEmpty());
  EXPECT_FALSE(
      patience.IsOver(ManagerIn(SmState::kMaster), SmState::kStandby, kBegin + 10s + 500ms));
}

TEST(StandbyPatience, AnSmThatDoesNotTakeItsHandoverIsPassedOverForTenMinutes) {
  StandbyPatience patience;
  patience.Begin(/*handed_over=*/true, kBegin);
  EXPECT_TRUE(patience.IsOver(ManagerIn(SmState::kStandby), SmState::kStandby, kBegin + 1s));
  EXPECT_THAT(patience.passed_over(), ElementsAre(Guid(7)));
  patience.Expire(kBegin + 10min);
  EXPECT_THAT(patience.passed_over(), ElementsAre(Guid(7)));
  patience.Expire(kBegin + 10min + 1s);
  EXPECT_THAT(patience.passed_over(), IsEmpty());
}

TEST(StandbyPatience, AnSmThatBecomesMasterAfterAllIsNotPassedOverAnyMore) {
  StandbyPatience patience;
  patience.Begin(true, kBegin);
  patience.IsOver(ManagerIn(SmState::kStandby), SmState::kStandby, kBegin + 1s);
  patience.OnMaster(Guid(7), kBegin + 2s);
  EXPECT_THAT(patience.passed_over(), IsEmpty());
}

TEST(StandbyPatience, RemembersTheLastSixteen) {
  StandbyPatience patience;
  patience.Begin(false, kBegin);
  for (uint64_t guid = 1; guid <= 20; ++guid)
    patience.IsOver(ManagerIn(SmState::kStandby, Guid(guid)), SmState::kStandby, kBegin + 1s);
  ASSERT_EQ(patience.idle().size(), 16u);
  EXPECT_EQ(patience.idle().front(), Guid(5));
  EXPECT_EQ(patience.idle().back(), Guid(20));
}

}  // namespace
}  // namespace fabricd::sweep
