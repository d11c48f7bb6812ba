// SPDX-License-Identifier: Apache-2.0
// Tables and their proof on full three-level fat-trees, intact and with 1 % of the cables out. The
// argument is the radix of the switches: 36 is 11,664 hosts on 1,620 switches (21.6 MB of tables).
// OpenSM 3.3 computes that tree in 11 s (reference/performance.md).
#include <map>
#include <utility>

#include <benchmark/benchmark.h>

#include "routing/engine.h"
#include "routing/verifier.h"
#include "tests/support/fabrics.h"

namespace fabricd {
namespace {

const testing::TestFabric& Tree(int radix, bool damaged) {
  static std::map<std::pair<int, bool>, testing::TestFabric> made;
  auto& fabric = made[{radix, damaged}];
  if (fabric.snapshot) return fabric;
  testing::FabricMaker maker = testing::MakeFatTree(radix, 3);
  Rng rng(1);
  for (size_t cable = maker.cable_count(); damaged && cable-- > 0;)
    if (maker.IsSwitchCable(cable) && rng.Chance(0.01)) maker.RemoveCable(cable);
  return fabric = maker.Build();
}

routing::RoutingPlan Compute(const testing::TestFabric& fabric, const char* engine) {
  const routing::RoutingOptions options;
  auto plan = routing::MakeEngine(engine)->Compute(
      {*fabric.snapshot, fabric.lids, routing::RoutingIntent{}, options});
  return plan.ok() ? *std::move(plan) : routing::RoutingPlan{};
}

void BM_Tables(benchmark::State& state, const char* engine, bool damaged) {
  const testing::TestFabric& fabric = Tree(static_cast<int>(state.range(0)), damaged);
  size_t bytes = 0;
  for (auto _ : state) {
    const routing::RoutingPlan plan = Compute(fabric, engine);
    if (plan.rows.empty()) state.SkipWithError("no plan");
    bytes = 0;
    for (const auto& row : plan.rows) bytes += row ? row->size() : 0;
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * bytes));
}
BENCHMARK_CAPTURE(BM_Tables, up_down, "up_down", false)
    ->Arg(18)
    ->Arg(36)
    ->UseRealTime()
    ->MeasureProcessCPUTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Tables, up_down_damaged, "up_down", true)
    ->Arg(36)
    ->UseRealTime()
    ->MeasureProcessCPUTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Tables, min_hop, "min_hop", false)
    ->Arg(36)
    ->UseRealTime()
    ->MeasureProcessCPUTime()
    ->Unit(benchmark::kMillisecond);

void BM_Verify(benchmark::State& state, bool damaged) {
  const testing::TestFabric& fabric = Tree(static_cast<int>(state.range(0)), damaged);
  const routing::RoutingPlan plan = Compute(fabric, "up_down");
  for (auto _ : state)
    if (!routing::Verify(*fabric.snapshot, fabric.lids, plan).ok) state.SkipWithError("faults");
}
BENCHMARK_CAPTURE(BM_Verify, intact, false)
    ->Arg(18)
    ->Arg(36)
    ->UseRealTime()
    ->MeasureProcessCPUTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Verify, damaged, true)
    ->Arg(36)
    ->UseRealTime()
    ->MeasureProcessCPUTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace fabricd

BENCHMARK_MAIN();
