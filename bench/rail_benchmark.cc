// SPDX-License-Identifier: Apache-2.0
// Finding rails, and the whole of the engine `rail`, on SuperPODs of 32 hosts with 8 rails in each
// unit. The argument is the number of units: 64 are 16,384 HCAs.
#include <benchmark/benchmark.h>

#include "common/check.h"
#include "fabric/rails.h"
#include "routing/plan/engine.h"
#include "sim/generate/generate.h"

namespace fabricd {
namespace {

std::shared_ptr<const fabric::FabricSnapshot> Pod(int64_t units) {
  auto made = sim::Generate(fmt::format("superpod:sus={},swap-cables=10", units));
  FABRICD_CHECK(made.ok());
  return *made;
}

fabric::LidTable Lids(const fabric::FabricSnapshot& snapshot) {
  fabric::LidTable lids;
  uint16_t next = 1;
  snapshot.ForEachNode([&](const fabric::Node& node) {
    lids.Assign({node.index, node.first_end_port()}, {Lid(next++), 0});
  });
  return lids;
}

void BM_FindRails(benchmark::State& state) {
  const auto snapshot = Pod(state.range(0));
  for (auto _ : state) {
    const fabric::Rails rails =
        fabric::FindRails(*snapshot, fabric::FindHosts(*snapshot, fabric::HostPatterns()));
    if (rails.misplaced.size() != 20) state.SkipWithError("not all misplaced cables were found");
  }
}

void BM_Rail(benchmark::State& state) {
  const auto snapshot = Pod(state.range(0));
  const fabric::LidTable lids = Lids(*snapshot);
  const routing::RoutingOptions options;
  for (auto _ : state) {
    const auto plan = routing::MakeEngine("rail")->Compute({*snapshot, lids, options, nullptr});
    if (!plan.ok()) state.SkipWithError("declined");
  }
}

BENCHMARK(BM_FindRails)->Arg(4)->Arg(16)->Arg(64)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Rail)->Arg(4)->Arg(16)->Arg(64)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace fabricd

BENCHMARK_MAIN();
