// SPDX-License-Identifier: Apache-2.0
// The series of verdicts, line by line.
#include "daemon/http/verdict_series.h"

#include <string>
#include <vector>

#include <absl/strings/str_split.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/http/metrics.h"
#include "daemon/http/verdict_names.h"
#include "tests/unit/daemon/http/sample_verdicts.h"

namespace fabricd::http {
namespace {

using rpc::testing::FabricMaker;
using rpc::testing::SmallFabric;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class VerdictSeriesTest : public ::testing::Test {
 protected:
  std::string Text(Duration age = std::chrono::seconds(7)) {
    const auto view = made.Make();
    SeriesText out;
    WriteVerdicts(*view, names, view->at + age, out);
    return out.Take();
  }
  std::vector<std::string> Lines() { return absl::StrSplit(Text(), '\n', absl::SkipEmpty()); }

  SmallFabric fabric;
  fabric::NodeNameMap names;
  std::shared_ptr<const fabric::FabricSnapshot> snapshot = fabric.maker.builder.Build();
  sample::VerdictMaker made = sample::SampleVerdicts(fabric, snapshot);
};

TEST_F(VerdictSeriesTest, LinksAreCountedByEachVerdict) {
  const auto lines = Lines();
  EXPECT_THAT(lines, Contains("fabricd_verdict_links{verdict=\"HEALTHY\"} 3"));
  EXPECT_THAT(lines, Contains("fabricd_verdict_links{verdict=\"NOISY_PHY\"} 1"));
  EXPECT_THAT(lines, Contains("fabricd_verdict_links{verdict=\"SUSPECT\"} 1"));
  for (const char* verdict : {"FLAPPING", "SLOW_RECEIVER", "CHATTY", "VICTIM", "UNKNOWN"})
    EXPECT_THAT(lines, Contains(fmt::format("fabricd_verdict_links{{verdict=\"{}\"}} 0", verdict)));
}

TEST_F(VerdictSeriesTest, AVerdictIsAtTheAccusedEndWithItsPeer) {
  const auto lines = Lines();
  const std::string leaf = "guid=\"0x0000000000200000\",port=\"1\"";
  EXPECT_THAT(lines, Contains("fabricd_link_verdict{" + leaf +
                              ",node=\"leaf1\",peer=\"node1 mlx5_0\",peer_port=\"1\","
                              "verdict=\"NOISY_PHY\",stage=\"BAD\",culprit=\"transmitter\"} 1"));
  EXPECT_THAT(lines, Contains("fabricd_link_verdict_confidence{" + leaf + "} 0.75"));
  // An HCA goes by its port GUID, as in the series of its counters.
  EXPECT_THAT(lines, Contains("fabricd_link_verdict{guid=\"0x0000000000100201\",port=\"1\","
                              "node=\"node2 mlx5_0\",peer=\"leaf2\",peer_port=\"1\","
                              "verdict=\"SUSPECT\",stage=\"SUSPECT\",culprit=\"cable\"} 1"));
  EXPECT_THAT(lines, Contains("fabricd_link_verdicts_omitted 0"));
}

TEST_F(VerdictSeriesTest, LinksNeitherBadNorSuspectAreOnlyCounted) {
  made.Add({fabric.node1_1, PortNum(1)}, policy::Stage::kHealthy, policy::Verdict::kVictim);
  made.Add({fabric.leaf1, PortNum(3)}, policy::Stage::kUnknown, policy::Verdict::kUnknown);
  EXPECT_THAT(Lines(), Contains("fabricd_verdict_links{verdict=\"VICTIM\"} 1"));
  EXPECT_THAT(Lines(), Contains("fabricd_verdict_links{verdict=\"UNKNOWN\"} 1"));
  EXPECT_THAT(Text(), Not(HasSubstr("verdict=\"VICTIM\",stage")));
  EXPECT_THAT(Text(), Not(HasSubstr("verdict=\"UNKNOWN\",stage")));
}

TEST_F(VerdictSeriesTest, ALinkThatWasReleasedTooOftenIsMarked) {
  EXPECT_THAT(Text(), Not(HasSubstr("fabricd_link_verdict_needs_operator")));
  made.view.records[0].standing.stage = policy::Stage::kRecovering;
  made.view.records[0].standing.needs_operator = true;
  EXPECT_THAT(Lines(), Contains("fabricd_link_verdict_needs_operator"
                                "{guid=\"0x0000000000200000\",port=\"1\"} 1"));
  EXPECT_THAT(Text(), HasSubstr("verdict=\"NOISY_PHY\",stage=\"RECOVERING\""));
}

TEST_F(VerdictSeriesTest, OfMoreThanOneIsShownTheRestIsCounted) {
  FabricMaker maker;
  const size_t links = kMostLinkVerdicts + 2;
  std::vector<NodeIndex> hosts;
  for (size_t i = 0; i < links; ++i) {
    const NodeIndex host =
        maker.Add(wire::NodeType::kChannelAdapter, Guid(0x1000 + 2 * i), 1, fmt::format("h{}", i));
    maker.Link(host, 1, maker.Add(wire::NodeType::kSwitch, Guid(0x100000 + i), 1, "s"), 1);
    hosts.push_back(host);
  }
  made = sample::VerdictMaker(maker.builder.Build());
  for (size_t i = 0; i < links; ++i)
    made.Add({hosts[i], PortNum(1)}, policy::Stage::kSuspect, policy::Verdict::kSuspect);
  made.Add({hosts[links - 1], PortNum(1)}, policy::Stage::kBad, policy::Verdict::kFlapping);
  const std::string text = Text();
  EXPECT_THAT(text, HasSubstr("\nfabricd_link_verdicts_omitted 3\n"));
  // The bad one is not among those left out.
  EXPECT_THAT(text, HasSubstr("verdict=\"FLAPPING\",stage=\"BAD\""));
}

TEST_F(VerdictSeriesTest, HasCommonCausesAndActions) {
  made.view.configured = policy::Action::kCordon;
  made.view.is_breaker_open = true;
  const auto lines = Lines();
  EXPECT_THAT(lines, Contains("fabricd_verdict_common_causes{cause=\"SWITCH\"} 1"));
  EXPECT_THAT(lines, Contains("fabricd_verdict_common_causes{cause=\"FAMILY\"} 0"));
  EXPECT_THAT(lines,
              Contains("fabricd_verdict_common_cause_links{cause=\"SWITCH\",subject=\"leaf2\"} 3"));
  EXPECT_THAT(lines, Contains("fabricd_verdict_action{action=\"cordon\"} 1"));
  EXPECT_THAT(lines, Contains("fabricd_verdict_action{action=\"recommend\"} 0"));
  EXPECT_THAT(lines, Contains("fabricd_verdict_holds 2"));
  EXPECT_THAT(lines, Contains("fabricd_verdict_hold_budget 10"));
  EXPECT_THAT(lines, Contains("fabricd_verdict_breaker_open 1"));
}

TEST_F(VerdictSeriesTest, ACommonCauseThatIsOnlyRememberedIsNotCounted) {
  made.view.findings[0].is_over = true;
  EXPECT_THAT(Lines(), Contains("fabricd_verdict_common_causes{cause=\"SWITCH\"} 0"));
  EXPECT_THAT(Text(), Not(HasSubstr("fabricd_verdict_common_cause_links")));
}

TEST_F(VerdictSeriesTest, EachKindOfCommonCauseIsNamedByItsSubject) {
  policy::CommonFinding finding;
  finding.cause = policy::CommonCause::kPropagation;
  finding.root = {{rpc::testing::kLeaf1, PortNum(3)}, {rpc::testing::kSpine, PortNum(1)}};
  EXPECT_EQ(SubjectOf(finding, *snapshot, names), "leaf1/3 - MF0;spine:MQM8700/U1/1");
  finding.cause = policy::CommonCause::kCongestion;
  finding.root = {{rpc::testing::kLeaf1, PortNum(3)}, {rpc::testing::kSpine, PortNum(1)}};
  EXPECT_EQ(SubjectOf(finding, *snapshot, names), "leaf1/3 - MF0;spine:MQM8700/U1/1");
  finding.root = {};
  EXPECT_EQ(SubjectOf(finding, *snapshot, names), "");
  finding.cause = policy::CommonCause::kFamily;
  finding.family = {0x2C9, 4129, 0x20};
  EXPECT_EQ(SubjectOf(finding, *snapshot, names), "0x0002c9/4129 revision 0x20");
  finding.cause = policy::CommonCause::kBlackout;
  EXPECT_EQ(SubjectOf(finding, *snapshot, names), "");
  finding.cause = policy::CommonCause::kHca;
  finding.node = Guid(0x77);  // It has left.
  EXPECT_EQ(SubjectOf(finding, *snapshot, names), "0x0000000000000077");
}

TEST_F(VerdictSeriesTest, CongestionByKindAndRoot) {
  const auto lines = Lines();
  EXPECT_THAT(lines, Contains("fabricd_congestion_roots{kind=\"HOT_LINK\"} 1"));
  EXPECT_THAT(lines, Contains("fabricd_congestion_roots{kind=\"INCAST\"} 0"));
  EXPECT_THAT(lines, Contains("fabricd_congestion_roots{kind=\"SLOW_RECEIVER\"} 0"));
  EXPECT_THAT(lines, Contains("fabricd_congestion_roots{kind=\"UNDECIDED\"} 0"));
  EXPECT_THAT(lines, Contains("fabricd_congestion_victims 1"));
  EXPECT_THAT(lines, Contains("fabricd_congestion_root_victims{guid=\"0x0000000000200200\","
                              "port=\"2\",node=\"MF0;spine:MQM8700/U1\",peer=\"leaf2\","
                              "peer_port=\"3\",kind=\"HOT_LINK\"} 1"));
}

TEST_F(VerdictSeriesTest, WithoutAnAssessmentThereAreNoSeries) {
  made.view.enabled = false;
  EXPECT_THAT(Lines(), testing::ElementsAre(testing::StartsWith("# HELP"),
                                            "# TYPE fabricd_verdicts_enabled gauge",
                                            "fabricd_verdicts_enabled 0"));
  // Enabled, and not assessed yet.
  made.view = {};
  made.view.enabled = true;
  EXPECT_THAT(Text(), HasSubstr("fabricd_verdicts_enabled 1"));
  EXPECT_THAT(Text(), Not(HasSubstr("fabricd_verdict_")));
}

TEST_F(VerdictSeriesTest, AnOldAssessmentHasOnlyItsAge) {
  EXPECT_THAT(Text(std::chrono::seconds(600)), HasSubstr("fabricd_verdict_links{"));
  const std::string text = Text(std::chrono::seconds(601));
  EXPECT_THAT(text, HasSubstr("fabricd_verdict_assessment_age_seconds 601\n"));
  EXPECT_THAT(text, HasSubstr("fabricd_verdict_interval_seconds 60\n"));
  EXPECT_THAT(text, Not(HasSubstr("fabricd_verdict_links")));
  EXPECT_THAT(text, Not(HasSubstr("fabricd_congestion")));
}

TEST_F(VerdictSeriesTest, TheyArePartOfThePage) {
  rpc::testing::FakeBackend backend(fabric.View());
  EXPECT_THAT(MetricsText({&backend, "1.2.3", nullptr, {}}),
              HasSubstr("\nfabricd_verdicts_enabled 0\n"));
}

}  // namespace
}  // namespace fabricd::http
