// SPDX-License-Identifier: Apache-2.0
#include "sim/verdicts/scenario.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status.h"

namespace fabricd::sim {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::string ErrorOf(const std::string& text) {
  const auto scenario = ReadScenario(text);
  return scenario.ok() ? "" : Message(scenario.status());
}

TEST(ScenarioTest, CausesHaveAPlaceASeverityAndTimes) {
  const auto scenario = ReadScenario(
      "# A comment.\n"
      "interval 10s\n"
      "length 3h\n"
      "traffic ring all load=0.5 start=1m duration=30m\n"
      "noisy-cable random-trunk severity=2..50 start=10m..20m duration=1h burst=3  # One more.\n"
      "slow-receiver \"node0001 mlx5_0/1\" severity=4\n");
  ASSERT_TRUE(scenario.ok()) << scenario.status();
  EXPECT_EQ(scenario->interval, 10);
  EXPECT_EQ(scenario->length, 10800);
  ASSERT_THAT(scenario->causes, SizeIs(2));
  const Cause expected{CauseKind::kNoisyCable,
                       {PlaceKind::kRandomTrunk, ""},
                       {2, 50},
                       {600, 1200},
                       {3600, 3600},
                       3,
                       0};
  EXPECT_EQ(scenario->causes[0], expected);
  EXPECT_EQ(scenario->causes[1].place, (Place{PlaceKind::kNamed, "node0001 mlx5_0/1"}));
  EXPECT_EQ(scenario->causes[1].severity, (Range{4, 4}));
  EXPECT_EQ(scenario->causes[1].duration, Range()) << "to the end";
  const ScenarioTraffic ring{TrafficPattern::kRing, "all", 0.5, 60, 1800};
  ASSERT_THAT(scenario->traffic, SizeIs(1));
  EXPECT_EQ(scenario->traffic[0], ring);
}

TEST(ScenarioTest, EveryCauseReadsBackAtEachOfItsPlaces) {
  std::string text;
  for (const CauseInfo& info : Causes()) {
    EXPECT_EQ(InfoOf(info.kind).name, std::string(info.name));
    for (int i = 0; i <= static_cast<int>(PlaceKind::kAll); ++i) {
      if ((info.places >> i & 1) == 0) continue;
      const Place place{static_cast<PlaceKind>(i), i == 0 ? "a name/1" : ""};
      text += std::string(info.name) + " \"" + ToText(place) + "\"";
      text += info.has_agent ? " as=plain,sentinels\n" : "\n";
    }
  }
  const auto scenario = ReadScenario(text);
  ASSERT_TRUE(scenario.ok()) << scenario.status();
  const auto again = ReadScenario(WriteScenario(*scenario));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, *scenario);
}

TEST(ScenarioTest, EveryMistakeIsNamedWithItsLine) {
  EXPECT_THAT(
      ErrorOf("length 1h\nbad-cable x\nnoisy-cable\n"),
      AllOf(HasSubstr("line 2: 'bad-cable' is no cause"), HasSubstr("line 3: noisy-cable")));
  EXPECT_THAT(ErrorOf("slow-receiver random-trunk"), HasSubstr("random-host-link or a name"));
  EXPECT_THAT(ErrorOf("host-reboot random-host severity=3"), HasSubstr("has no severity"));
  EXPECT_THAT(ErrorOf("noisy-cable random-link severity=-1"), HasSubstr("a number from"));
  EXPECT_THAT(ErrorOf("noisy-cable random-link severity=9..3"), HasSubstr("below the first"));
  EXPECT_THAT(ErrorOf("noisy-cable random-link start=5"), HasSubstr("90s, 15m or 2h"));
  EXPECT_THAT(ErrorOf("noisy-cable random-link duration=0s"), HasSubstr("no duration"));
  EXPECT_THAT(ErrorOf("noisy-cable random-link burst=0.5"), HasSubstr("from 1"));
  EXPECT_THAT(ErrorOf("noisy-cable random-link share=0.5"), HasSubstr("has no share"));
  EXPECT_THAT(ErrorOf("noisy-cable random-link start=5s start=6s"), HasSubstr("twice"));
  EXPECT_THAT(ErrorOf("noisy-cable random-link now"), HasSubstr("KEY=VALUE"));
  EXPECT_THAT(ErrorOf("odd-agent random-host as=bad"), HasSubstr("bad"));
  EXPECT_THAT(ErrorOf("host-reboot random-host as=plain"), HasSubstr("has no as"));
  EXPECT_THAT(ErrorOf("noisy-cable \"random-link"), HasSubstr("not closed"));
  EXPECT_THAT(ErrorOf("traffic zigzag all"), HasSubstr("'zigzag' is no pattern"));
  EXPECT_THAT(ErrorOf("traffic ring"), HasSubstr("pattern and hosts"));
  EXPECT_THAT(ErrorOf("traffic ring all load=2"), HasSubstr("load=2"));
  EXPECT_THAT(ErrorOf("interval 0s"), HasSubstr("at least 1s"));
  EXPECT_EQ(ErrorOf(""), "");
}

TEST(ScenarioTest, AScenarioHasABound) {
  std::string text;
  for (size_t i = 0; i <= Scenario::kMostLines; ++i) text += "traffic ring all\n";
  EXPECT_THAT(ErrorOf(text), HasSubstr("line 1001: more than 1000"));
}

}  // namespace
}  // namespace fabricd::sim
