// SPDX-License-Identifier: Apache-2.0
// What operators see of verdicts and congestion, word for word (tests/golden/cli).
#include "cli/render/verdict_tables.h"
#include "cli/verbs/verdict_commands.h"
#include "tests/unit/cli/golden.h"
#include "tests/unit/cli/sample.h"

namespace fabricd::cli::testing {
namespace {

constexpr int64_t kShownMs = 1'700'000'000'000;

pb::ListVerdictsResponse SampleVerdicts() {
  return FromText<pb::ListVerdictsResponse>(R"(
    verdicts { a { node_guid: "0x1" node_name: "node2 mlx5_0" node_type: "CA" number: 1 }
               a_name: "node2/mlx5_0/1"
               b { node_guid: "0x2" node_name: "leaf2" node_type: "SWITCH" number: 1 }
               b_name: "leaf2/1" verdict: "NOISY_PHY" stage: "BAD" culprit: "transmitter"
               end { node_guid: "0x2" node_name: "leaf2" number: 1 } confidence: 0.95
               reason: "one row is fatal; errors at one end" remedy: "swap the module"
               since { seconds: 1699999000 } recommended: HOLD_KIND_CORDON action: "recommend"
               held_back: "budget" acknowledged { by: "ann" reason: "seen" time { seconds: 1 } } }
    verdicts { a_name: "node1/mlx5_0/1" b_name: "leaf1/1" verdict: "FLAPPING" stage: "RECOVERING"
               culprit: "cable" confidence: 0.8 since { seconds: 1699990000 } action: "cordon"
               recommended: HOLD_KIND_CORDON hold_id: "12" reason: "it went down often"
               stale: true needs_operator: true }
    verdicts { a_name: "node1/mlx5_1/1" b_name: "leaf2/2" verdict: "SLOW_RECEIVER" stage: "BAD"
               culprit: "host" confidence: 0.7 action: "none" overruled { by: "bob" } }
    verdicts { a_name: "leaf1/3" b_name: "spine/1" verdict: "SUSPECT" stage: "SUSPECT"
               confidence: 0.5 action: "none" common_cause { cause: "SWITCH" } }
    total_size: 4 enabled: true breaker_open: true
    assessed { seconds: 1699999988 } age { seconds: 12 } interval { seconds: 60 }
    counts { key: "HEALTHY" value: 1000 } counts { key: "NOISY_PHY" value: 1 }
    counts { key: "FLAPPING" value: 1 } counts { key: "SLOW_RECEIVER" value: 1 }
    counts { key: "SUSPECT" value: 1 } counts { key: "UNKNOWN" value: 0 }
    common_causes { cause: "SWITCH" node_name: "leaf1" affected: 3 total: 4
                    message: "errors on 3 of 4 host links of switch 0x0000000000200000" })");
}

// A fabric all of whose links are healthy.
pb::ListVerdictsResponse Healthy() {
  return FromText<pb::ListVerdictsResponse>(R"(
    enabled: true assessed { seconds: 1699999988 } age { seconds: 12 } interval { seconds: 60 }
    counts { key: "HEALTHY" value: 1000 })");
}

TEST(VerdictRenderTest, Tables) {
  const auto verdicts = SampleVerdicts();
  ExpectGolden("verdicts", VerdictNotes(verdicts) +
                               VerdictTable(verdicts, false, kShownMs).Render({}) + "\n" +
                               VerdictTable(verdicts, true, kShownMs).Render({}));
}

TEST(VerdictRenderTest, DescribesAVerdict) {
  pb::GetVerdictResponse response;
  *response.mutable_verdict() = SampleVerdicts().verdicts(0);
  pb::Verdict& verdict = *response.mutable_verdict();
  verdict.mutable_acknowledged()->mutable_time()->set_seconds(kShownMs / 1000 - 300);
  *verdict.mutable_overruled() = verdict.acknowledged();
  verdict.mutable_overruled()->mutable_until()->set_seconds(kShownMs / 1000 + 3600);
  *verdict.mutable_common_cause() = SampleVerdicts().common_causes(0);
  *verdict.mutable_root() = verdict.b();
  response.set_text("NOISY_PHY  the text of the daemon\n");
  const std::string with_text = DescribeVerdict(response, kShownMs);
  response.clear_text();
  ExpectGolden("describe_verdict", with_text + "\n" + DescribeVerdict(response, kShownMs));
}

TEST(VerdictRenderTest, CongestionIsATree) {
  const auto congestion = FromText<pb::ListCongestionResponse>(R"(
    trees { root { port { node_guid: "0x2" number: 1 } name: "leaf2/1" wait_share: 0.6
                   utilisation: 0.1 }
            kind: "SLOW_RECEIVER" peer_name: "node2/mlx5_0/1" victims_total: 5
            victims { port { node_guid: "0x3" number: 1 } name: "spine1/1" wait_share: 0.4
                      utilisation: 0.2 towards { node_guid: "0x2" number: 1 } hops: 1 }
            victims { port { node_guid: "0x4" number: 1 } name: "spine2/1" wait_share: 0.3
                      towards { node_guid: "0x2" number: 1 } hops: 1 }
            victims { port { node_guid: "0x5" number: 9 } name: "leaf1/9" wait_share: 0.2
                      towards { node_guid: "0x3" number: 1 } hops: 2 } }
    trees { root { port { node_guid: "0x6" number: 1 } name: "leaf3/1" wait_share: 0.2
                   utilisation: 0.9 }
            kind: "UNDECIDED" cycle: true victims_total: 1
            victims { port { node_guid: "0x7" number: 1 } name: "leaf4/1" wait_share: 0.1
                      towards { node_guid: "0x6" number: 1 } hops: 1 } }
    without_root: 2)");
  ExpectGolden("congestion", CongestionText(congestion));
}

TEST(FabricHealthTest, TheWorstVerdictCounts) {
  EXPECT_EQ(EvaluateFabric(Healthy()).code, FabricHealth::kOk);
  EXPECT_EQ(EvaluateFabric(Healthy()).text, "OK: 1000 links, 1000 HEALTHY; assessed 12s ago\n");
  for (const char* word : {"SUSPECT", "VICTIM"}) {
    auto verdicts = Healthy();
    (*verdicts.mutable_counts())[word] = 1;
    EXPECT_EQ(EvaluateFabric(verdicts).code, FabricHealth::kWarning) << word;
  }
  for (const char* word : {"NOISY_PHY", "FLAPPING", "SLOW_RECEIVER", "CHATTY"}) {
    auto verdicts = Healthy();
    (*verdicts.mutable_counts())[word] = 1;
    verdicts.add_common_causes()->set_cause("BLACKOUT");
    EXPECT_EQ(EvaluateFabric(verdicts).code, FabricHealth::kCritical) << word;
  }
  auto verdicts = Healthy();
  verdicts.set_breaker_open(true);
  EXPECT_EQ(EvaluateFabric(verdicts).code, FabricHealth::kWarning);
  verdicts = Healthy();
  verdicts.add_common_causes()->set_cause("FAMILY");
  EXPECT_EQ(EvaluateFabric(verdicts).code, FabricHealth::kWarning);
  verdicts = Healthy();
  verdicts.add_verdicts()->set_stale(true);
  EXPECT_EQ(EvaluateFabric(verdicts).code, FabricHealth::kWarning);
}

TEST(FabricHealthTest, MissingOrOldVerdictsAreUnknown) {
  EXPECT_EQ(EvaluateFabric({}).code, FabricHealth::kUnknown);
  auto verdicts = Healthy();
  verdicts.clear_assessed();
  EXPECT_EQ(EvaluateFabric(verdicts).code, FabricHealth::kUnknown);
  verdicts = Healthy();
  verdicts.add_common_causes()->set_cause("BLACKOUT");
  EXPECT_EQ(EvaluateFabric(verdicts).code, FabricHealth::kUnknown);
  verdicts = Healthy();
  verdicts.mutable_age()->set_seconds(181);
  EXPECT_EQ(EvaluateFabric(verdicts).code, FabricHealth::kUnknown);
  verdicts = Healthy();
  verdicts.mutable_counts()->clear();
  (*verdicts.mutable_counts())["UNKNOWN"] = 7;
  EXPECT_EQ(EvaluateFabric(verdicts).code, FabricHealth::kUnknown);
}

TEST(FabricHealthTest, ListsABoundedNumberOfDetails) {
  auto verdicts = SampleVerdicts();
  for (int i = 0; i < 20; ++i) *verdicts.add_verdicts() = verdicts.verdicts(3);
  ExpectGolden("check_fabric", EvaluateFabric(verdicts).text);
}

}  // namespace
}  // namespace fabricd::cli::testing
