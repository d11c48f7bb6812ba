// SPDX-License-Identifier: Apache-2.0
// judge_tables DIR…: the quality of the forwarding tables that an SM dumped in each directory
// (opensm-subnet.lst with the fabric and its LIDs, opensm-lfts.dump), as one line of JSON each. It
// reads nothing else, so tables of different SMs for one fabric are measured alike. Of the piece of
// the fabric with the most hosts.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <absl/status/statusor.h>
#include <fmt/format.h>

#include "common/status.h"
#include "fabric/ibnetdiscover_text.h"
#include "fabric/lid_table.h"
#include "fabric/opensm_dumps.h"
#include "routing/graph/graph.h"
#include "routing/graph/levels.h"
#include "routing/quality/load_bound.h"
#include "routing/quality/quality.h"

namespace fabricd {
namespace {

using routing::RoutingPlan;
using routing::Row;

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return NotFound("cannot read {}", path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

fabric::LidTable LidsOf(const fabric::FabricSnapshot& snapshot) {
  fabric::LidTable lids;
  snapshot.ForEachNode([&](const fabric::Node& node) {
    for (size_t number = node.IsSwitch() ? 0 : 1; number < node.ports.size(); ++number) {
      const wire::PortInfo& info = node.ports[number].info;
      if (info.lid)
        lids.Assign({node.index, PortNum(static_cast<uint8_t>(number))}, {info.lid, info.lmc});
      if (node.IsSwitch()) break;
    }
  });
  return lids;
}

RoutingPlan PlanOf(const fabric::FabricSnapshot& snapshot, const fabric::LidTable& lids,
                   const fabric::UnicastTables& read) {
  RoutingPlan plan;
  plan.rows.resize(snapshot.node_index_end());
  plan.lid_top = lids.top();
  const size_t size = (lids.top().value() / Row::kBlock + size_t{1}) * Row::kBlock;
  for (const fabric::UnicastTable& table : read.tables) {
    const fabric::Node* node = snapshot.FindNode(table.switch_guid);
    if (!node) continue;
    auto row = std::make_shared<Row>(size, routing::kNoRoute);
    for (size_t lid = 0; lid < std::min(size, table.egress.size()); ++lid)
      row->Set(lid, table.egress[lid]);
    plan.rows[node->index.value()] = std::move(row);
  }
  return plan;
}

absl::StatusOr<std::string> Judge(const std::string& directory, routing::Parallel& parallel) {
  const absl::StatusOr<std::string> subnet = ReadFile(directory + "/opensm-subnet.lst");
  FABRICD_RETURN_IF_ERROR(subnet.status());
  const absl::StatusOr<std::string> tables = ReadFile(directory + "/opensm-lfts.dump");
  FABRICD_RETURN_IF_ERROR(tables.status());
  const fabric::ReadResult topology = fabric::ReadTopology(*subnet);
  FABRICD_RETURN_IF_ERROR(topology.status);
  const fabric::LidTable lids = LidsOf(*topology.snapshot);
  const RoutingPlan plan = PlanOf(*topology.snapshot, lids, fabric::ReadUnicastTables(*tables));
  const std::vector<routing::SwitchGraph> graphs = routing::BuildGraphs(*topology.snapshot, lids);
  const routing::SwitchGraph* largest = routing::LargestGraph(graphs);
  if (!largest) return FailedPrecondition("{} has no switch", directory);
  routing::QualityOptions options;
  options.permutations = 1;   // They are not shown.
  options.bisections = 1000;  // Half a per cent counts.
  const routing::Quality quality =
      routing::MeasureQuality(*largest, plan, nullptr, options, parallel);
  const double bound = routing::CutBound(*largest, routing::FindLevels(*largest));
  return fmt::format(
      R"({{"directory": "{}", "hosts": {}, "unrouted": {}, "max_load": {}, "bound": {:.3f}, )"
      R"("shift_max": {}, "shift_mean": {:.4f}, "effective_bisection": {:.5f}}})",
      directory, quality.hosts, quality.unrouted, quality.all_to_all.max, bound, quality.shift.max,
      quality.shift.mean_max, quality.effective_bisection);
}

}  // namespace
}  // namespace fabricd

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: judge_tables DIR...\n", stderr);
    return 2;
  }
  fabricd::routing::Parallel parallel(0);
  for (int i = 1; i < argc; ++i) {
    const absl::StatusOr<std::string> line = fabricd::Judge(argv[i], parallel);
    if (!line.ok()) {
      fmt::print(stderr, "judge_tables: {}\n", fabricd::Message(line.status()));
      return 1;
    }
    fmt::print("{}\n", *line);
    std::fflush(stdout);
  }
  return 0;
}
