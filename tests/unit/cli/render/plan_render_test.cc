// SPDX-License-Identifier: Apache-2.0
// What the verbs that ask what would be show, word for word (tests/golden/cli).
#include "cli/verbs/plan_commands.h"
#include "tests/unit/cli/golden.h"
#include "tests/unit/cli/sample.h"

namespace fabricd::cli::testing {
namespace {

TEST(PlanRenderTest, Preview) {
  const auto preview = FromText<pb::PreviewChangeResponse>(R"(
    first { plan_found: true paths_moved: 120 destinations_moved: 9 switches_written: 3
            blocks_written: 4 load_before: 10 load_after: 20 }
    settled { plan_found: true paths_moved: 240 destinations_moved: 19 switches_written: 5
              blocks_written: 8 load_before: 10 load_after: 14
              cut_off { node_name: "node1 mlx5_0" node_guid: "0x1" number: 1 } pairs_lost: 6 }
    engines { engine: "rail" reason: "not a rail-optimised tree" }
    engines { engine: "fat_tree" chosen: true }
    engine_now: "rail" links_failed: 3 nodes_failed: 1 links_added: 2)");
  ExpectGolden("preview", PreviewText(preview));
}

TEST(PlanRenderTest, Loads) {
  const auto job = FromText<pb::AnalyzeJobResponse>(R"(
    loads { pattern: "ring" all_rails: true worst_flows: 1 bandwidth_fraction: 1 patterns: 1
            all_patterns: true }
    loads { pattern: "all-to-all" rail: 3 worst_flows: 4 bandwidth_fraction: 0.625 worst_step: 7
            worst_link { node_guid: "0x2" node_name: "leaf1" number: 33 } patterns: 64 })");
  ExpectGolden("job_loads",
               LoadTable(job, false).Render({}) + "\n" + LoadTable(job, true).Render({}));
}

TEST(PlanRenderTest, Findings) {
  const auto wiring = FromText<pb::ValidateWiringResponse>(R"(
    findings { kind: "MissingLink" name: "leaf1/3 - node1 mlx5_0/1" message: "no cable is there" }
    findings { kind: "MisplacedRail" name: "node2 mlx5_1" message: "hangs on leaf1/7" }
    total: 2)");
  ExpectGolden("wiring_findings", FindingTable(wiring).Render({}));
}

}  // namespace
}  // namespace fabricd::cli::testing
