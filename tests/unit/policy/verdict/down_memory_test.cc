// SPDX-License-Identifier: Apache-2.0
#include "policy/verdict/down_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/verdict/verdict_rows.h"
#include "tests/unit/policy/verdict/made_links.h"

namespace fabricd::policy {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using testing::CleanLink;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::Set;

class DownMemoryTest : public ::testing::Test {
 protected:
  static LinkEvidence Downs(uint64_t count) {
    LinkEvidence link = CleanLink();
    Set(link.a, Signal::kLinkDowns, Window::k24h, {count, 1, false});
    Set(link.b, Signal::kLinkDowns, Window::k24h, {count, 1, false});
    return link;
  }
  uint64_t Sum() const {
    uint64_t sum = 0;
    for (const CountedDowns& each : memory_.Export(link_, now_, kWall)) sum += each.count;
    return sum;
  }
  // Another process starts with what this one has stored.
  void StartAgain() {
    StoredVerdicts stored;
    stored.standings.push_back({.link = link_, .stage = Stage::kSuspect});
    stored.standings[0].downs = memory_.Export(link_, now_, kWall);
    const auto loaded = LoadVerdicts(VerdictRows(stored));
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_EQ(*loaded, stored);
    memory_ = DownMemory();
    memory_.Import(loaded->standings, now_, kWall);
  }
  uint64_t With(LinkEvidence own, Window window) {
    memory_.Note(own, now_);
    memory_.AddEarlier(own, now_);
    EXPECT_EQ(own.a.Find(Signal::kLinkDowns, window)->count,
              own.b.Find(Signal::kLinkDowns, window)->count);
    return own.a.Find(Signal::kLinkDowns, window)->count;
  }

  static constexpr WallMs kWall = 1'764'000'000'000;
  const LinkKey link_{CleanLink()};
  Instant now_{hours(100)};
  DownMemory memory_;
};

TEST_F(DownMemoryTest, DownsOfTheProcessBeforeCountInTheWindowsThatTheyAreIn) {
  memory_.Note(Downs(1), now_);
  now_ += hours(2);
  memory_.Note(Downs(3), now_);
  EXPECT_FALSE(memory_.HasEarlier(link_)) << "these are in the counters";
  StartAgain();
  EXPECT_TRUE(memory_.HasEarlier(link_));
  now_ += minutes(5);
  EXPECT_EQ(With(Downs(1), Window::k24h), 4u);
  EXPECT_EQ(With(CleanLink(), Window::k600s), 2u);
  EXPECT_EQ(With(CleanLink(), Window::k60s), 0u);
  now_ += hours(23);
  EXPECT_EQ(With(CleanLink(), Window::k24h), 2u);
  now_ += hours(2);
  EXPECT_EQ(With(CleanLink(), Window::k24h), 0u);
  EXPECT_FALSE(memory_.HasEarlier(link_));
}

TEST_F(DownMemoryTest, DownsOfSeveralProcessesAddUp) {
  for (int process = 0; process < 3; ++process) {
    memory_.Note(Downs(1), now_);
    now_ += hours(1);
    StartAgain();
  }
  EXPECT_EQ(With(Downs(2), Window::k24h), 5u);
  EXPECT_EQ(Sum(), 5u);
}

TEST_F(DownMemoryTest, RepeatedAssessmentsAddNothing) {
  for (int i = 0; i < 100; ++i) memory_.Note(Downs(2), now_ += minutes(1));
  EXPECT_EQ(memory_.Export(link_, now_, kWall).size(), 1u);
  EXPECT_EQ(Sum(), 2u);
}

TEST_F(DownMemoryTest, DownsThatTurnOutToBeOfARestartAreTakenBack) {
  memory_.Note(Downs(1), now_);
  now_ += hours(1);
  memory_.Note(Downs(3), now_);
  LinkEvidence restarted = Downs(3);
  restarted.excused_downs[static_cast<size_t>(Window::k24h)] = 2;
  memory_.Note(restarted, now_ += minutes(1));
  EXPECT_THAT(memory_.Export(link_, now_, kWall),
              ElementsAre(CountedDowns{kWall - 61 * 60 * 1000, 1}));
  restarted.excused_downs[static_cast<size_t>(Window::k24h)] = 3;
  memory_.Note(restarted, now_ += minutes(1));
  EXPECT_THAT(memory_.Export(link_, now_, kWall), IsEmpty());
}

TEST_F(DownMemoryTest, UnmeasuredEndsChangeNothing) {
  memory_.Note(Downs(2), now_);
  LinkEvidence stale = Downs(0);
  stale.a.is_fresh = stale.b.is_fresh = false;
  memory_.Note(stale, now_ += minutes(1));
  EXPECT_EQ(Sum(), 2u);
  StartAgain();
  LinkEvidence unmeasured = CleanLink();
  unmeasured.a.signals[static_cast<size_t>(Signal::kLinkDowns)].reset();
  memory_.AddEarlier(unmeasured, now_);
  EXPECT_EQ(unmeasured.a.Find(Signal::kLinkDowns, Window::k24h), nullptr) << "unknown stays so";
  EXPECT_EQ(unmeasured.b.Find(Signal::kLinkDowns, Window::k24h)->count, 2u);
}

TEST_F(DownMemoryTest, DownsThatLeaveTheCountersAreTheOldest) {
  memory_.Note(Downs(1), now_);
  now_ += hours(12);
  memory_.Note(Downs(2), now_);
  now_ += hours(12) - std::chrono::seconds(30);
  memory_.Note(Downs(1), now_);
  memory_.Note(Downs(1), now_ += minutes(1));
  EXPECT_THAT(memory_.Export(link_, now_, kWall),
              ElementsAre(CountedDowns{kWall - (12 * 60 * 60 + 30) * 1000, 1}));
}

TEST_F(DownMemoryTest, AnEndThatIsStaleTakesNothingBack) {
  LinkEvidence link = Downs(3);
  Set(link.b, Signal::kLinkDowns, Window::k24h, {1, 1, false});
  memory_.Note(link, now_);
  const auto before = memory_.Export(link_, now_, kWall);
  link.a.is_fresh = false;
  memory_.Note(link, now_ + minutes(1));
  link.a.is_fresh = true;
  memory_.Note(link, now_ + minutes(2));
  EXPECT_EQ(memory_.Export(link_, now_, kWall), before);
}

TEST_F(DownMemoryTest, DownsOfAnotherCableAreForgotten) {
  memory_.Note(Downs(2), now_);
  StartAgain();
  now_ += hours(1);
  LinkEvidence replaced = Downs(1);
  replaced.replaced_for = minutes(10);
  memory_.Note(replaced, now_);
  EXPECT_FALSE(memory_.HasEarlier(link_));
  EXPECT_EQ(Sum(), 1u);
}

TEST_F(DownMemoryTest, ManyTimesOfALinkAreJoined) {
  for (uint64_t i = 1; i <= 50; ++i) memory_.Note(Downs(i), now_ += minutes(1));
  EXPECT_EQ(memory_.Export(link_, now_, kWall).size(), DownMemory::kMaxEntries);
  EXPECT_EQ(Sum(), 50u);
}

TEST_F(DownMemoryTest, FaultyRowsAreRefused) {
  for (const char* downs : {"x", "1", "1:", ":1", "1:2,3", "1:2,x:4", "1:-1"}) {
    const auto loaded = LoadVerdicts({{{"verdict", "0x1/1 0x2/1"}, std::string("downs=") + downs}});
    EXPECT_EQ(loaded.status().code(), absl::StatusCode::kDataLoss) << downs;
  }
}

}  // namespace
}  // namespace fabricd::policy
