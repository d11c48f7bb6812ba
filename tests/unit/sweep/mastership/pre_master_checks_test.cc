// SPDX-License-Identifier: Apache-2.0
#include "sweep/mastership/pre_master_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sweep/mastership/pre_master_check.h"
#include "tests/unit/sweep/observe/observe_fixture.h"

namespace fabricd::sweep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class PreMasterChecksTest : public ObserveTest {
 protected:
  PreMasterChecksTest() {
    Discover();
    wire_.managers[truth_.hosts[1]] = {Guid(0x1001), {}, 7, 3, wire::SmState::kStandby};
    wire_.managers[truth_.hosts[3]] = {Guid(0x1003), {}, 8, 4, wire::SmState::kDiscovering};
  }
  RemoteSm Known(uint64_t host, wire::SmState state = wire::SmState::kStandby) const {
    RemoteSm sm;
    sm.port = KnownPort(0x100 + host, 1);
    sm.guid = Guid(0x1000 + host);
    sm.state = state;
    return sm;
  }
  bool Start(std::vector<RemoteSm> known, std::vector<Unread> unread = {}) {
    wire_.sent.clear();
    return checks_.Start(known, unread, Guid(0x1000), *builder_.Build());
  }
  PreMasterChecks::Result Finish() {
    wire_.Run([] {}, [&](const mad::Completion& each) { checks_.OnCompletion(each); });
    EXPECT_TRUE(checks_.done());
    return checks_.Take();
  }

  PreMasterChecks checks_{devices_, engine_, mad::RequestContext::Of(Activity::kMastership)};
};

TEST_F(PreMasterChecksTest, WithoutAnybodyToAskThereIsNoCheck) {
  EXPECT_FALSE(Start({}));
  EXPECT_FALSE(checks_.active());
  EXPECT_FALSE(Start({Known(0)})) << "itself";
}

TEST_F(PreMasterChecksTest, KnownSmsAreAskedOneAfterTheOtherAndTheirStatesUpdated) {
  ASSERT_TRUE(Start({Known(1), Known(3, wire::SmState::kStandby)}));
  EXPECT_TRUE(checks_.active());
  wire_.Step([&](const mad::Completion& each) { checks_.OnCompletion(each); });
  EXPECT_THAT(wire_.sent, SizeIs(1));
  const auto result = Finish();
  EXPECT_THAT(wire_.Texts(), ElementsAre("Get SMInfo 0x0 of 0x101", "Get SMInfo 0x0 of 0x103"));
  EXPECT_FALSE(result.lost);
  ASSERT_THAT(result.sms, SizeIs(2));
  EXPECT_EQ(result.sms[0].activity_count, 7u);
  EXPECT_EQ(result.sms[1].state, wire::SmState::kDiscovering);
  EXPECT_FALSE(checks_.active());
}

TEST_F(PreMasterChecksTest, AKnownSmThatDoesNotAnswerIsLostAndStaysAsItWasKnown) {
  Silence(0x101);
  ASSERT_TRUE(Start({Known(1, wire::SmState::kMaster)}));
  const auto result = Finish();
  EXPECT_TRUE(result.lost);
  EXPECT_EQ(result.sms[0].state, wire::SmState::kMaster);
}

TEST_F(PreMasterChecksTest, SmsThatAskedMeanwhileAreProbedByTheirPath) {
  checks_.NoteRequester({1, 36, 2});
  checks_.NoteRequester({1, 36, 2});
  ASSERT_TRUE(Start({}));
  const auto result = Finish();
  EXPECT_THAT(wire_.Texts(), ElementsAre("Get SMInfo 0x0 of 0x103"));
  ASSERT_THAT(result.sms, SizeIs(1));
  EXPECT_EQ(result.sms[0].guid, Guid(0x1003));
  EXPECT_TRUE(result.sms[0].port.IsNone()) << "it is not known where that is";
  EXPECT_EQ(wire_.sent[0].smp.m_key, MKey(0));
}

TEST_F(PreMasterChecksTest, SixteenRequestersAreKept) {
  for (uint8_t i = 1; i <= 30; ++i) checks_.NoteRequester({1, i});
  ASSERT_TRUE(Start({}));
  Finish();
  std::set<std::string> paths;
  for (const Sent& sent : wire_.sent) paths.insert(sent.smp.path->ToString());
  EXPECT_THAT(paths, SizeIs(16));
}

TEST_F(PreMasterChecksTest, UnreadAttributesThatMayHideAnSmAreAskedAndMayStayUnanswered) {
  Silence(0x101);
  ASSERT_TRUE(Start({}, {{KnownPort(0x101, 1), wire::AttributeId::kSmInfo, 0},
                         {KnownPort(0x103, 1), wire::AttributeId::kPortInfo, 1},
                         {KnownPort(0x102, 1), wire::AttributeId::kPKeyTable, 0},
                         {KnownPort(0x11, 5), wire::AttributeId::kPortInfo, 5}}));
  const auto result = Finish();
  EXPECT_FALSE(result.lost) << "there was no SM that is known of";
  ASSERT_THAT(result.sms, SizeIs(1));
  EXPECT_EQ(result.sms[0].port, KnownPort(0x103, 1));
  for (const Sent& sent : wire_.sent) EXPECT_TRUE(GuidAt(sent) == 0x101 || GuidAt(sent) == 0x103);
}

TEST_F(PreMasterChecksTest, AFormerMasterBehindALinkWithoutANeighbourIsAskedOnce) {
  checks_.NoteFormerMaster({1, 36, 2}, KnownPort(0x11, 2));
  EXPECT_FALSE(Start({})) << "who is behind that link was found";
  builder_.Unlink(KnownPort(0x11, 2));
  checks_.NoteFormerMaster({1, 36, 2}, KnownPort(0x11, 2));
  ASSERT_TRUE(Start({}));
  EXPECT_EQ(Finish().sms[0].guid, Guid(0x1003));
  EXPECT_FALSE(Start({}));
}

TEST_F(PreMasterChecksTest, AnSmThatIsGoneIsSkipped) {
  const RemoteSm gone = Known(3);
  devices_.Remove(gone.port.node);
  ASSERT_TRUE(Start({gone}));
  EXPECT_TRUE(checks_.done());
  EXPECT_FALSE(checks_.Take().lost);
}

TEST_F(PreMasterChecksTest, ARequestDuringACheckCausesAnotherOneUpToThreeTimes) {
  EXPECT_FALSE(checks_.StartAgain({}, Guid(0x1000), *builder_.Build()));
  int repeats = 0;
  for (uint8_t i = 1; i < 20; ++i) {
    checks_.NoteRequester({1, 36, static_cast<uint8_t>(1 + i % 2)});
    if (!checks_.StartAgain({}, Guid(0x1000), *builder_.Build())) break;
    Finish();
    ++repeats;
  }
  EXPECT_EQ(repeats, 3);
  checks_.OnSweepStart();
  EXPECT_FALSE(checks_.StartAgain({}, Guid(0x1000), *builder_.Build())) << "that was forgotten";
  checks_.NoteRequester({1, 36, 2});
  EXPECT_TRUE(checks_.StartAgain({}, Guid(0x1000), *builder_.Build()));
  checks_.Stop();
  EXPECT_FALSE(checks_.active());
}

TEST_F(PreMasterChecksTest, ASweepIsRepeatedTwiceInARowForAnSmThatWasLost) {
  EXPECT_TRUE(checks_.MayRepeatSweep());
  EXPECT_TRUE(checks_.MayRepeatSweep());
  EXPECT_FALSE(checks_.MayRepeatSweep());
  checks_.OnDecided();
  EXPECT_TRUE(checks_.MayRepeatSweep());
}

}  // namespace
}  // namespace fabricd::sweep
