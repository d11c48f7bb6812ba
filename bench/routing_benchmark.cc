// SPDX-License-Identifier: Apache-2.0
// Tables and their proofs on full three-level fat-trees, intact and with 1 % of the cables out. The
// argument is the radix of the switches: 36 is 11,664 hosts on 1,620 switches (21.6 MB of tables),
// 56 is 43,904 hosts on 3,920 switches (188 MB), the largest regular tree that the LID space holds.
//
// The measure is what it takes to write the same bytes with the same threads, taken between the
// iterations of the same run, so that both see the same machine. A plan is new memory, whose pages
// the kernel has to find and clear, hence two baselines: bytes written to new memory ("fresh") and
// over memory in use ("warm"). Counters, best of all iterations: ms and cpu_ms of the measured work
// (CPU of the whole process), warm_ms and fresh_ms of the baselines, x_warm and x_fresh how many
// times as long the work takes; cpu_x_warm and cpu_x_fresh are the same ratios of CPU time.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <limits>
#include <map>
#include <memory>
#include <utility>

#include <benchmark/benchmark.h>

#include "routing/graph/byte_kernels.h"
#include "routing/plan/engine.h"
#include "routing/plan/parallel.h"
#include "routing/proof/order_proof.h"
#include "routing/proof/verifier.h"
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
  auto plan = routing::MakeEngine(engine)->Compute({*fabric.snapshot, fabric.lids, options});
  return plan.ok() ? *std::move(plan) : routing::RoutingPlan{};
}

struct Span {
  double ms = std::numeric_limits<double>::infinity(), cpu_ms = ms;
};

template <typename Work>
void TakeBest(Span& best, Work&& work) {
  const auto start = std::chrono::steady_clock::now();
  const std::clock_t cpu = std::clock();
  work();
  const std::chrono::duration<double, std::milli> ms = std::chrono::steady_clock::now() - start;
  best.ms = std::min(best.ms, ms.count());
  best.cpu_ms =
      std::min(best.cpu_ms, 1e3 * static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC);
}

// As many bytes as the plan's rows have, one row at a time by each thread, like the engines.
class Baseline {
 public:
  explicit Baseline(const routing::RoutingPlan& plan) : parallel_(0) {
    for (const auto& row : plan.rows) {
      rows_ += row != nullptr;
      if (row) row_size_ = row->size();
    }
    warm_memory_ = std::make_unique_for_overwrite<uint8_t[]>(bytes());
    Write(warm_memory_.get());
  }
  size_t bytes() const { return rows_ * row_size_; }
  void Measure() {
    TakeBest(warm_, [&] { Write(warm_memory_.get()); });
    TakeBest(fresh_, [&] {
      const auto memory = std::make_unique_for_overwrite<uint8_t[]>(bytes());
      Write(memory.get());
    });
  }
  void Report(const Span& work, benchmark::State& state) const {
    state.counters["ms"] = work.ms;
    state.counters["cpu_ms"] = work.cpu_ms;
    state.counters["warm_ms"] = warm_.ms;
    state.counters["fresh_ms"] = fresh_.ms;
    state.counters["x_warm"] = work.ms / warm_.ms;
    state.counters["x_fresh"] = work.ms / fresh_.ms;
    // By CPU time, which a loaded machine changes less.
    state.counters["cpu_x_warm"] = work.cpu_ms / warm_.cpu_ms;
    state.counters["cpu_x_fresh"] = work.cpu_ms / fresh_.cpu_ms;
  }

 private:
  void Write(uint8_t* memory) {
    parallel_.For(rows_, [&](size_t row) {
      std::fill_n(memory + row * row_size_, row_size_, static_cast<uint8_t>(++value_));
      benchmark::ClobberMemory();
    });
  }
  routing::Parallel parallel_;
  size_t rows_ = 0, row_size_ = 0;
  std::atomic<unsigned> value_{0};
  std::unique_ptr<uint8_t[]> warm_memory_;
  Span warm_, fresh_;
};

template <typename Work>
void Run(benchmark::State& state, Baseline& baseline, Work&& work) {
  Span best;
  for (auto _ : state) {
    TakeBest(best, work);
    state.PauseTiming();
    baseline.Measure();
    state.ResumeTiming();
  }
  baseline.Report(best, state);
}

void BM_Tables(benchmark::State& state, const char* engine, bool damaged) {
  const testing::TestFabric& fabric = Tree(static_cast<int>(state.range(0)), damaged);
  Baseline baseline(Compute(fabric, engine));
  if (baseline.bytes() == 0) return state.SkipWithError("no plan");
  Run(state, baseline, [&] { benchmark::DoNotOptimize(Compute(fabric, engine)); });
}

// Tables by a vector unit that is not this machine's best.
void BM_TablesWith(benchmark::State& state, routing::VectorUnit unit) {
  if (!routing::HasVectorUnit(unit)) return state.SkipWithError("not on this machine");
  routing::UseVectorUnit(unit);
  BM_Tables(state, "up_down", false);
  routing::UseVectorUnit(routing::BestVectorUnit());
}

enum class Proof { kOrder, kFull };

bool Holds(const testing::TestFabric& fabric, const routing::RoutingPlan& plan, Proof proof) {
  return proof == Proof::kOrder ? routing::OrderProves(*fabric.snapshot, fabric.lids, plan)
                                : routing::Verify(*fabric.snapshot, fabric.lids, plan).ok;
}

void BM_Proof(benchmark::State& state, Proof proof, bool damaged) {
  const testing::TestFabric& fabric = Tree(static_cast<int>(state.range(0)), damaged);
  const routing::RoutingPlan plan = Compute(fabric, "up_down");
  Baseline baseline(plan);
  Run(state, baseline, [&] {
    if (!Holds(fabric, plan, proof)) state.SkipWithError("not proven");
  });
}

void BM_TablesAndProof(benchmark::State& state, Proof proof, bool damaged) {
  const testing::TestFabric& fabric = Tree(static_cast<int>(state.range(0)), damaged);
  Baseline baseline(Compute(fabric, "up_down"));
  Run(state, baseline, [&] {
    if (!Holds(fabric, Compute(fabric, "up_down"), proof)) state.SkipWithError("not proven");
  });
}

void Sizes(benchmark::internal::Benchmark* benchmark) {
  for (int radix : {18, 36, 48, 56}) benchmark->Arg(radix);
  benchmark->UseRealTime()->MeasureProcessCPUTime()->Unit(benchmark::kMillisecond);
}
void OneSize(benchmark::internal::Benchmark* benchmark) {
  benchmark->Arg(36)->UseRealTime()->MeasureProcessCPUTime()->Unit(benchmark::kMillisecond);
}

BENCHMARK_CAPTURE(BM_Tables, up_down, "up_down", false)->Apply(Sizes);
BENCHMARK_CAPTURE(BM_Tables, up_down_damaged, "up_down", true)->Apply(Sizes);
BENCHMARK_CAPTURE(BM_Tables, min_hop, "min_hop", false)->Apply(OneSize);
BENCHMARK_CAPTURE(BM_TablesWith, plain, routing::VectorUnit::kNone)->Apply(OneSize);
BENCHMARK_CAPTURE(BM_TablesWith, avx2, routing::VectorUnit::kAvx2)->Apply(OneSize);
BENCHMARK_CAPTURE(BM_Proof, order, Proof::kOrder, false)->Apply(Sizes);
BENCHMARK_CAPTURE(BM_Proof, order_damaged, Proof::kOrder, true)->Apply(Sizes);
BENCHMARK_CAPTURE(BM_Proof, full, Proof::kFull, false)->Apply(Sizes);
BENCHMARK_CAPTURE(BM_Proof, full_damaged, Proof::kFull, true)->Apply(Sizes);
BENCHMARK_CAPTURE(BM_TablesAndProof, order, Proof::kOrder, false)->Apply(Sizes);

}  // namespace
}  // namespace fabricd

BENCHMARK_MAIN();
