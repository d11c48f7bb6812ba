// SPDX-License-Identifier: Apache-2.0
// Subscriptions and the reports that they bring (IBA vol 1 §13.4.11, §15.4).
#include <gmock/gmock.h>

#include "mad/wire/notice.h"
#include "tests/unit/sa/state/client_state_fixture.h"

namespace fabricd::sa {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::kSmKey;
using ::testing::SizeIs;

TEST_F(StateTest, SubscribersReceiveReportsOfPortsAndGroups) {
  ASSERT_EQ(Subscribe(kHost, 0xFFFF), wire::kStatusOk);
  ASSERT_EQ(Subscribe(kHost, 0xFFFF), wire::kStatusOk) << "twice is once";
  Join(kOther, kMgid);
  const auto made = shell.TakeReports(true);
  ASSERT_THAT(TrapsOf(made), ElementsAre(66));
  EXPECT_EQ(made[0].to.lid, LidOf(kHost));
  EXPECT_EQ(made[0].to.qpn, 1u);
  const auto whole = shell.made.input.snapshot;
  Lose(kOther);
  EXPECT_THAT(TrapsOf(shell.TakeReports(true)), ElementsAre(65));
  EXPECT_THAT(TrapsOf(shell.TakeReports(true)), ElementsAre(67)) << "one at a time";
  shell.made.input.snapshot = whole;
  shell.ShowFabric();
  EXPECT_THAT(TrapsOf(shell.TakeReports(true)), ElementsAre(64));
  ASSERT_EQ(Subscribe(kHost, 0xFFFF, false), wire::kStatusOk);
  EXPECT_EQ(Subscribe(kHost, 0xFFFF, false), wire::kSaStatusRequestInvalid);
  Join(kOther, kMgid);
  EXPECT_THAT(shell.TakeReports(true), IsEmpty());
}

TEST_F(StateTest, ASubscriberWithAGrhReceivesReportsWithOne) {
  const mad::GlobalRoute route{{testing::kPrefix, 0xA1}, 3, 64, 5, 0x12345};
  shell.global = route;
  ASSERT_EQ(Subscribe(kHost, 66), wire::kStatusOk);
  EXPECT_EQ(shell.arrived.at(0).to.global, route) << "the response to it";
  shell.global.reset();
  ASSERT_EQ(Subscribe(kSecond, 66), wire::kStatusOk);
  shell.Restart();
  Join(kOther, kMgid);
  const auto reports = shell.TakeReports(true);
  ASSERT_THAT(reports, SizeIs(2));
  for (const mad::OutgoingMad& report : reports) {
    const bool is_global = report.to.lid == LidOf(kHost);
    EXPECT_EQ(report.to.global, is_global ? std::optional(route) : std::nullopt);
  }
  ASSERT_EQ(Subscribe(kHost, 66), wire::kStatusOk) << "again, without";
  Join(kOther, {kMgid.prefix, 2});
  for (const mad::OutgoingMad& report : shell.TakeReports(true))
    EXPECT_EQ(report.to.global, std::nullopt);
}

TEST_F(StateTest, RepeatedTrapsAreForwardedOnce) {
  Subscribe(kHost, 128);
  Subscribe(kSecond, 144);
  wire::Notice notice;
  notice.type = 1;
  notice.producer = 2;
  notice.trap = 128;
  const Lid leaf = shell.made.LidOf(kLeaf, 0);
  notice.issuer_lid = leaf;
  shell.Step(TrapCame{leaf, 5, notice});
  shell.Step(TrapCame{leaf, 5, notice});
  const auto reports = shell.TakeReports(true);
  ASSERT_THAT(reports, SizeIs(1));
  EXPECT_EQ(reports[0].to.lid, LidOf(kHost));
  EXPECT_THAT(shell.TakeReports(true), IsEmpty());
  shell.Step(TrapCame{leaf, 6, notice});
  EXPECT_THAT(shell.TakeReports(true), SizeIs(1));
}

TEST_F(StateTest, ASubscriberThatNeverAnswersIsDropped) {
  Subscribe(kHost, 66);
  for (uint64_t group = 1; group <= Reporter::kMostUnanswered; ++group)
    Join(kOther, Gid{kMgid.prefix, group});
  for (int attempt = 0; attempt < Reporter::kAttempts * Reporter::kMostUnanswered; ++attempt) {
    EXPECT_THAT(*shell.clients->subscriptions, SizeIs(1));
    EXPECT_THAT(shell.TakeReports(false), SizeIs(1));
  }
  EXPECT_THAT(*shell.clients->subscriptions, IsEmpty());
  EXPECT_THAT(shell.TakeReports(false), IsEmpty());
}

TEST_F(StateTest, SecurityTrapsAreNotForwardedToUntrustedSubscribers) {
  EXPECT_EQ(Subscribe(kHost, 257), wire::kSaStatusRequestInvalid);
  ASSERT_EQ(Subscribe(kHost, 0xFFFF), wire::kStatusOk);
  wire::Notice notice;
  notice.trap = 257;
  notice.issuer_lid = LidOf(kOther);
  shell.Step(TrapCame{LidOf(kOther), 5, notice});
  EXPECT_THAT(shell.TakeReports(true), IsEmpty());
}

TEST_F(StateTest, SubscriptionsAreListed) {
  Subscribe(kHost, 64);
  Subscribe(kHost, 65);
  const auto seen = shell.Table(wire::InformInfoRecord{}, 0, LidOf(kOther));
  ASSERT_THAT(seen, SizeIs(2));
  EXPECT_EQ(seen[1].subscriber_gid, GidOf(kHost));
  EXPECT_EQ(seen[1].number, 1);
  EXPECT_EQ(seen[1].info.trap_number, 65);
  EXPECT_EQ(seen[1].info.qpn, 0u);
  EXPECT_EQ(shell.Table(wire::InformInfoRecord{}, 0, LidOf(kOther), kSmKey)[0].info.qpn, 1u);
}

}  // namespace
}  // namespace fabricd::sa
