// SPDX-License-Identifier: Apache-2.0
// Engine layered: time, lanes, and memory beyond the tables, on trees and on graphs that need
// several lanes. `per_write` is the time over that of writing the same bytes once, measured in the
// same run. OpenSM's dfsssp takes 11 s of CPU on the 4,096-host SuperPOD and 220 s and 4.3 GB on
// the 11,664-host tree.
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "fabric/lid_table.h"
#include "routing/plan/engine.h"
#include "routing/plan/work_budget.h"
#include "sim/generate/generate.h"

namespace fabricd {
namespace {

struct Fabric {
  std::shared_ptr<const fabric::FabricSnapshot> snapshot;
  fabric::LidTable lids;
};

const Fabric& Get(const std::string& spec) {
  static std::map<std::string, Fabric> made;
  Fabric& fabric = made[spec];
  if (fabric.snapshot) return fabric;
  auto generated = sim::Generate(spec);
  if (!generated.ok()) return fabric;
  fabric.snapshot = *generated;
  uint16_t next = 1;
  fabric.snapshot->ForEachNode([&](const fabric::Node& node) {
    for (unsigned port = node.first_end_port().value(); port <= node.last_end_port().value();
         ++port)
      fabric.lids.Assign({node.index, PortNum(static_cast<uint8_t>(port))}, {Lid(next++), 0});
  });
  return fabric;
}

// A line of /proc/self/status, in bytes.
size_t StatusBytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind(key + ":", 0) == 0) return std::stoul(line.substr(key.size() + 1)) * 1024;
  return 0;
}
// Memory in use now; VmHWM counts from here on.
size_t StartPeak() {
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << 5;
  return StatusBytes("VmRSS");
}

// Seconds to write as many bytes as the tables have.
double WriteTime(size_t bytes) {
  std::vector<uint8_t> target(bytes, 1);
  double best = 1e9;
  for (int round = 0; round < 5; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    std::memset(target.data(), round, bytes);
    benchmark::DoNotOptimize(target.data());
    benchmark::ClobberMemory();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    best = std::min(best, took.count());
  }
  return best;
}

void BM_Layered(benchmark::State& state, const std::string& spec) {
  const Fabric& fabric = Get(spec);
  if (!fabric.snapshot) return state.SkipWithError("no fabric");
  routing::RoutingOptions options;
  options.lanes_max = 8;
  size_t bytes = 0, peak = 0;
  uint64_t steps = 0;
  int lanes = 0;
  double seconds = 0;
  for (auto _ : state) {
    const size_t before = StartPeak();
    const auto begin = std::chrono::steady_clock::now();
    routing::WorkBudget budget;
    routing::RoutingInput input{*fabric.snapshot, fabric.lids, options};
    input.budget = &budget;
    const auto plan = routing::MakeEngine("layered")->Compute(input);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    seconds += took.count();
    if (!plan.ok()) return state.SkipWithError("no plan");
    bytes = 0;
    for (const auto& row : plan->rows) bytes += row ? row->size() : 0;
    peak = std::max(peak, StatusBytes("VmHWM") - before);
    lanes = plan->lanes;
    steps = budget.spent();
  }
  state.counters["Msteps"] = static_cast<double>(steps) / 1e6;  // As routing.engine_budget counts.
  state.counters["lanes"] = lanes;
  state.counters["tables_MB"] = static_cast<double>(bytes) / 1e6;
  state.counters["peak_MB"] = static_cast<double>(peak) / 1e6;  // Tables and scratch.
  state.counters["per_write"] =
      seconds / static_cast<double>(state.iterations()) / WriteTime(bytes);
}

void Add(const char* name, const char* spec) {
  benchmark::RegisterBenchmark(name, [spec](benchmark::State& state) { BM_Layered(state, spec); })
      ->UseRealTime()
      ->MeasureProcessCPUTime()
      ->Unit(benchmark::kMillisecond);
}

}  // namespace
}  // namespace fabricd

int main(int argc, char** argv) {
  using fabricd::Add;
  Add("superpod_4096", "superpod:sus=16");
  Add("superpod_4096_1_percent_out", "superpod:sus=16,fail-links=61");
  Add("tree_11664", "fat-tree:radix=36,levels=3");
  Add("torus_8x8x8", "torus:dims=8x8x8,hosts=2");
  Add("torus_8x8x8_permuted", "torus:dims=8x8x8,hosts=2,permute-ports");
  Add("dragonfly_plus_12960", "dragonfly-plus:groups=27,leaves=15,spines=16,hosts=32");
  Add("hypercube_128", "hypercube:dimensions=7,hosts=4");
  Add("directors_1024", "directors:radix=16,leaves=32,spines=16");
  Add("random_4096", "random:switches=256,degree=16,hosts=16");
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
