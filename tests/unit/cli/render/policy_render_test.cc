// SPDX-License-Identifier: Apache-2.0
// Holds, conditions, readiness and events, word for word (tests/golden/cli).
#include "cli/render/describe.h"
#include "cli/render/output.h"
#include "cli/render/policy_tables.h"
#include "cli/render/tables.h"
#include "tests/unit/cli/golden.h"
#include "tests/unit/cli/sample.h"

namespace fabricd::cli::testing {
namespace {

constexpr int64_t kNowMs = 1'700'000'600'000;

std::string Both(const Table& narrow, const Table& wide) {
  return narrow.Render({}) + "\n" + wide.Render({});
}

pb::ListHoldsResponse SampleHolds() {
  return FromText<pb::ListHoldsResponse>(R"(
    holds { id: "3" kind: HOLD_KIND_CORDON target { kind: TARGET_KIND_HOST name: "node12" }
            owner: "alice" reason: "BER on mlx5_3" created { seconds: 1700000000 }
            state: HOLD_STATE_IN_EFFECT }
    holds { id: "12" kind: HOLD_KIND_DRAIN mode: DRAIN_MODE_SOFT
            target { kind: TARGET_KIND_SWITCH name: "spine3" node_guids: "0x0000000000200300" }
            owner: "slurm" reason: "firmware" created { seconds: 1700000555 }
            expires { seconds: 1700007800 } state: HOLD_STATE_PENDING forced: true
            note: "packets under way are waited out" request_id: "r-1"
            acknowledged { seconds: 1700000590 } })");
}

pb::ListConditionsResponse SampleConditions() {
  return FromText<pb::ListConditionsResponse>(R"(
    conditions { type: "NoisyTraps" subject: "leaf1/3" node_guid: "0x0000000000200000" port: 3
                 message: "70 traps in 90 s, threshold 60" evidence { key: "count" value: "70" }
                 evidence { key: "window_s" value: "90" } mode: CONDITION_MODE_ENFORCE
                 recommended: HOLD_KIND_CORDON held_back: "budget of 10 used up"
                 since { seconds: 1699996340 } })");
}

pb::ListEventsResponse SampleEvents() {
  return FromText<pb::ListEventsResponse>(R"(
    events { resource_version: "e.7" time { seconds: 1700000000 nanos: 123000000 }
             type: "LinkDown" severity: SEVERITY_WARNING subject: "leaf1/3 ↔ spine2/7"
             node_guid: "0x0000000000200000" port: 3 message: "the link went down"
             facts { key: "trap" value: "128" } }
    events { resource_version: "e.8" time { seconds: 1700000000 nanos: 150000000 }
             type: "RerouteCompleted" severity: SEVERITY_INFO subject: "leaf1/3 ↔ spine2/7"
             reroute { cause: "trap 128" engine: "least change of rail" surveyed_ms: 2.04
                       planned_ms: 11.5 applied_ms: 25.75 smps_sent: 140 blocks_written: 70
                       switches: 5 destinations_changed: 32 waves: 2 } })");
}

TEST(PolicyRenderTest, Holds) {
  ExpectGolden("holds", Both(HoldTable(SampleHolds(), false, kNowMs),
                             HoldTable(SampleHolds(), true, kNowMs)));
}
TEST(PolicyRenderTest, HoldsAsYaml) { ExpectGolden("holds_yaml", ToYaml(SampleHolds())); }
TEST(PolicyRenderTest, Conditions) {
  ExpectGolden("conditions", Both(ConditionTable(SampleConditions(), false, kNowMs),
                                  ConditionTable(SampleConditions(), true, kNowMs)));
}
TEST(PolicyRenderTest, DampedLinks) {
  const auto links = FromText<pb::ListDampedLinksResponse>(R"(
    links { a { node_guid: "0x0000000000200000" node_name: "leaf1" number: 3 }
            b { node_guid: "0x0000000000200200" node_name: "spine" number: 1 }
            penalty: 3512.3 flaps: 4 suppressed: true release { seconds: 1700001500 }
            reason: "4 flaps, penalty 3512 of 3000" }
    links { a { node_guid: "0x0000000000200100" node_name: "leaf2" number: 3 }
            b { node_guid: "0x0000000000200200" node_name: "spine" number: 2 }
            penalty: 3100 flaps: 9 suppressed: true needed: true release { seconds: 1700001500 }
            reason: "9 flaps, penalty 3100 of 3000" }
    links { a { node_guid: "0x0000000000200100" node_name: "leaf2" number: 4 }
            b { node_guid: "0x0000000000200200" node_name: "spine" number: 3 }
            penalty: 900 flaps: 1 })");
  ExpectGolden("damped_links",
               Both(DampedLinkTable(links, false, kNowMs), DampedLinkTable(links, true, kNowMs)));
}
TEST(PolicyRenderTest, Readiness) {
  const auto readiness = FromText<pb::BatchGetReadinessResponse>(R"(
    hosts { host: "node1" readiness: READINESS_READY
            nics { device: "mlx5_0" readiness: READINESS_READY } }
    hosts { host: "node2" readiness: READINESS_HELD
            nics { device: "mlx5_0" readiness: READINESS_HELD }
            nics { device: "mlx5_1" readiness: READINESS_READY }
            reasons: "mlx5_0: cordon of host node2 (hold 3, alice): BER"
            reasons: "mlx5_0: its link is suppressed" }
    hosts { host: "node9" readiness: READINESS_UNKNOWN
            reasons: "no such host is on the fabric" })");
  ExpectGolden("readiness",
               Both(ReadinessTable(readiness, false), ReadinessTable(readiness, true)));
}
TEST(PolicyRenderTest, Events) {
  ExpectGolden("events", Both(EventTable(SampleEvents(), false), EventTable(SampleEvents(), true)));
}
TEST(PolicyRenderTest, DescribePolicy) {
  ExpectGolden("describe_policy",
               DescribePolicy(SampleHolds(), SampleConditions(), SampleEvents(), kNowMs, {}));
  EXPECT_EQ(DescribePolicy({}, {}, {}, kNowMs, {}), "");
}
TEST(PolicyRenderTest, DescribeLink) {
  pb::Link link = SampleLinks().links(1);
  link.set_suppressed(true);
  link.set_suppression("4 flaps");
  link.add_held(pb::HOLD_KIND_DRAIN);
  ExpectGolden("describe_link", DescribeLink(link, {}));
}
TEST(PolicyRenderTest, HeldHostsAndLinksAreMarked) {
  pb::ListHostsResponse hosts = SampleHosts();
  hosts.mutable_hosts(0)->add_held(pb::HOLD_KIND_CORDON);
  hosts.mutable_hosts(0)->add_held(pb::HOLD_KIND_DISABLE);
  pb::ListLinksResponse links = SampleLinks();
  links.mutable_links(0)->set_suppressed(true);
  links.mutable_links(0)->set_suppression("4 flaps");
  links.mutable_links(1)->add_held(pb::HOLD_KIND_ISOLATE);
  ExpectGolden("held",
               HostTable(hosts, false).Render({}) + "\n" + LinkTable(links, true).Render({}));
}
TEST(PolicyRenderTest, Consequences) {
  auto response = FromText<pb::CreateHoldResponse>(R"(
    hold { kind: HOLD_KIND_DRAIN target { kind: TARGET_KIND_SWITCH name: "leaf1" } }
    consequences { plan_found: true pairs_lost: 6 paths_moved: 120 destinations_moved: 9
                   switches_written: 3 blocks_written: 4 load_before: 10 load_after: 14
                   cut_off { node_guid: "0x1" node_name: "node1 mlx5_0" number: 1 }
                   needed { node_guid: "0x2" node_name: "spine1" number: 0 } })");
  std::string text = ConsequencesText(response);
  response.mutable_consequences()->set_plan_found(false);
  response.mutable_consequences()->set_why_not("leaf2 is cut off");
  response.mutable_consequences()->set_sm_cut_off(true);
  response.mutable_consequences()->set_destinations_interrupted(2);
  response.mutable_consequences()->set_paths_interrupted(11);
  for (int i = 0; i < 20; ++i)
    *response.mutable_consequences()->add_cut_off() = response.consequences().cut_off(0);
  text += "\n";
  text += ConsequencesText(response);
  response.set_existing(true);
  response.mutable_hold()->set_id("3");
  ExpectGolden("consequences", text + "\n" + ConsequencesText(response));
}
TEST(PolicyRenderTest, Spans) {
  EXPECT_EQ(SpanText(-5), "0s");
  EXPECT_EQ(SpanText(59'999), "59s");
  EXPECT_EQ(SpanText(60'000), "1m");
  EXPECT_EQ(SpanText(192'000), "3m12s");
  EXPECT_EQ(SpanText(7'500'000), "2h5m");
  EXPECT_EQ(SpanText(86'400'000), "1d");
  EXPECT_EQ(SpanText(100'800'000), "1d4h");
}

}  // namespace
}  // namespace fabricd::cli::testing
