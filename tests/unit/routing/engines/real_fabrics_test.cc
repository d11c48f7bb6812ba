// SPDX-License-Identifier: Apache-2.0
// up_down and layered on every topology file that this project did not write: all pairs served, no
// credit loop.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fabric/ibnetdiscover_text.h"
#include "tests/unit/routing/oracle.h"
#include "tests/unit/routing/patterns.h"
#include "tests/unit/routing/run.h"

namespace fabricd::routing {
namespace {

using namespace fabricd::testing;  // NOLINT: the test's own helpers.

std::vector<std::string> TopologyFiles() {
  std::vector<std::string> files;
  const std::filesystem::path folder = FABRICD_SOURCE_DIR "/../shared/topologies";
  std::error_code absent;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, absent)) {
    const std::string extension = entry.path().extension();
    if (extension == ".net" || extension.find(".ibnetdiscover") == 0) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

class RealFabrics : public ::testing::TestWithParam<std::string> {};

TEST_P(RealFabrics, ServesAllPairsWithoutCreditLoop) {
  const std::vector<std::string> files = TopologyFiles();
  if (files.empty()) GTEST_SKIP() << "no ../shared/topologies";
  size_t routed = 0;
  for (const std::string& file : files) {
    SCOPED_TRACE(file);
    std::ifstream stream(file);
    std::stringstream text;
    text << stream.rdbuf();
    const fabric::ReadResult read = fabric::ReadTopology(text.str());
    ASSERT_TRUE(read.status.ok()) << read.status;
    for (uint8_t lmc : {0, 2}) {
      TestFabric fabric{read.snapshot, LidsInNodeOrder(*read.snapshot, lmc), {}};
      RoutingOptions options;
      options.lanes_max = 8;
      const RoutingPlan plan = Route(fabric, GetParam(), options);
      const VerifyReport report = Judge(fabric, plan);
      EXPECT_TRUE(report.ok) << ::testing::PrintToString(report.faults);
      EXPECT_TRUE(plan.exempt.empty());
      // The oracle walks packet by packet: small fabrics only.
      if (read.snapshot->node_count() < 200 && lmc == 0) {
        EXPECT_EQ(UnreachablePairs(fabric, plan), 0u);
        EXPECT_FALSE(HasCreditLoop(fabric, plan));
      }
    }
    ++routed;
  }
  EXPECT_GE(routed, 10u);
}
INSTANTIATE_TEST_SUITE_P(Engines, RealFabrics, ::testing::Values("up_down", "layered"));

}  // namespace
}  // namespace fabricd::routing
