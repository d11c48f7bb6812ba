// SPDX-License-Identifier: Apache-2.0
// One dead cable in a full three-level fat-tree: the plan of least change and its proof against a
// full computation and its order proof in the same run.
//   repair_benchmark [RADIX [CABLES [SEED [THREADS]]]]      default: 56 200 1 0
// Radix 56 is the largest regular tree that the LID space allows: 43,904 hosts, 3,920 switches,
// 188 MB of tables. Cables are drawn at random, so half are between leaves and aggregation switches
// and half between those and cores. The floors are those of one lost cable under D-Mod-K tables: P
// pods of h leaves and as many aggregation switches, B blocks a table, radix k = 2 h = P: core 2(k
// - 1), leaf P h - 1 + B.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "common/rng.h"
#include "fabric/snapshot_builder.h"
#include "routing/plan/engine.h"
#include "routing/proof/order_proof.h"
#include "routing/repair/repair.h"
#include "routing/transition/push_plan.h"
#include "tests/support/fabrics.h"

namespace fabricd {
namespace {

using routing::Repair;
using routing::RouteState;
using testing::TestFabric;

struct Time {
  double wall = 0, cpu = 0;  // In ms; of the process, so of all threads.
};
Time Measure(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  const std::clock_t cpu = std::clock();
  work();
  const std::chrono::duration<double, std::milli> wall = std::chrono::steady_clock::now() - start;
  return {wall.count(), 1e3 * static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC};
}

struct Sample {
  Time urgent, settled, push;
  size_t urgent_blocks = 0, all_blocks = 0, pending = 0, waves = 0;
  bool needs_full = false;  // The order had no way for what was left: not in the settled figures.
};

struct Spread {
  double median = 0, worst = 0;
};
template <typename Value>
Spread Over(const std::vector<Sample>& samples, Value&& value) {
  std::vector<double> values;
  for (const Sample& sample : samples) values.push_back(static_cast<double>(value(sample)));
  std::sort(values.begin(), values.end());
  return {values[values.size() / 2], values.back()};
}

void Print(const char* kind, const std::vector<Sample>& samples, size_t floor, Time full) {
  if (samples.empty()) return;
  const Spread wall = Over(samples, [](const Sample& s) { return s.urgent.wall; });
  const Spread cpu = Over(samples, [](const Sample& s) { return s.urgent.cpu; });
  fmt::print("{} cables, {}: median, worst\n", samples.size(), kind);
  fmt::print("  urgent plan and proof   {:.3f} {:.3f} ms, {:.0f} {:.0f} times faster\n",
             wall.median, wall.worst, full.wall / wall.median, full.wall / wall.worst);
  fmt::print("    processor time        {:.3f} {:.3f} ms, {:.0f} {:.0f} times less\n", cpu.median,
             cpu.worst, full.cpu / cpu.median, full.cpu / cpu.worst);
  const Spread blocks = Over(samples, [](const Sample& s) { return s.urgent_blocks; });
  fmt::print("    blocks                {:.0f} {:.0f}", blocks.median, blocks.worst);
  if (floor) fmt::print(" of a floor of {}", floor);
  const Spread pending = Over(samples, [](const Sample& s) { return s.pending; });
  fmt::print("\n    pairs left pending    {:.0f} {:.0f}\n", pending.median, pending.worst);
  const Spread push = Over(samples, [](const Sample& s) { return s.push.wall; });
  const Spread waves = Over(samples, [](const Sample& s) { return s.waves; });
  fmt::print("  order of its writes     {:.3f} {:.3f} ms, {:.0f} {:.0f} waves\n", push.median,
             push.worst, waves.median, waves.worst);
  std::vector<Sample> settled;
  for (const Sample& sample : samples)
    if (!sample.needs_full) settled.push_back(sample);
  if (settled.empty()) return;
  const Spread time = Over(settled, [](const Sample& s) { return s.settled.wall; });
  const Spread all = Over(settled, [](const Sample& s) { return s.all_blocks; });
  fmt::print("  what was left, after it {:.3f} {:.3f} ms\n", time.median, time.worst);
  fmt::print("    blocks of both plans  {:.0f} {:.0f}", all.median, all.worst);
  fmt::print(" ({} cables need a full plan)\n", samples.size() - settled.size());
}

class Bench {
 public:
  Bench(int radix, int threads) : radix_(radix), threads_(threads) {
    fabric_ = testing::MakeFatTree(radix, 3).Build();
    options_.threads = threads;
    fabric_.snapshot->ForEachNode([&](const fabric::Node& node) {
      for (size_t port = 1; port < node.ports.size(); ++port) {
        const PortRef self{node.index, PortNum(static_cast<uint8_t>(port))};
        const PortRef peer = node.ports[port].peer;
        if (node.IsSwitch() && !peer.IsNone() && self < peer &&
            fabric_.snapshot->node(peer.node)->IsSwitch())
          cables_.push_back(self);
      }
    });
  }

  int Run(size_t count, uint64_t seed) {
    const Time full = Full();
    RouteState state;
    const Time made =
        Measure([&] { state = routing::MakeRouteState(*fabric_.snapshot, fabric_.lids, plan_); });
    fmt::print("state kept for repairs: {:.1f} ms to make\n", made.wall);
    Rng rng(seed);
    std::vector<Sample> core, leaf, all;
    for (size_t i = 0; i < count; ++i) {
      const PortRef cable = cables_[rng.Below(cables_.size())];
      Sample sample;
      if (!Cut(state, cable, sample)) return 1;
      (IsLeafCable(cable) ? leaf : core).push_back(sample);
      all.push_back(sample);
    }
    const size_t k = static_cast<size_t>(radix_), h = k / 2;
    const size_t blocks = fabric_.lids.top().value() / 64 + size_t{1};
    Print("between a core and an aggregation switch", core, 2 * (k - 1), full);
    Print("at a leaf", leaf, k * h - 1 + blocks, full);
    Print("all", all, 0, full);
    Settle(state);
    return 0;
  }

 private:
  // The largest push: from the intact plan to the engine's own without one switch.
  void Settle(const RouteState& state) {
    fabric::SnapshotBuilder builder(*fabric_.snapshot);
    builder.RemoveNode(cables_[cables_.size() / 2].node);
    const auto damaged = builder.Build();
    const auto engine = routing::MakeEngine("up_down");
    const auto plan = Compute(*engine, *damaged, plan_.get());
    const RouteState after = routing::MakeRouteState(*damaged, fabric_.lids, plan);
    const routing::AppliedTables applied = routing::TablesOf(*state.plan);
    routing::PushPlan push;
    const Time time = Measure([&] {
      push = routing::OrderPush({after.links, applied, state.plan.get(), *plan, threads_});
    });
    fmt::print(
        "a switch dies, settled at once: {} writes in {} stages of up to {} waves, ordered in "
        "{:.1f} ms (processor {:.1f})\n",
        push.writes.size(), push.stages, push.waves, time.wall, time.cpu);
  }
  // The best of a few runs, on a tree that lacks a cable as after a fault.
  Time Full() {
    Time tables{1e9, 1e9}, proof{1e9, 1e9};
    const auto keep = [](Time& best, Time time) {
      best = {std::min(best.wall, time.wall), std::min(best.cpu, time.cpu)};
    };
    const auto engine = routing::MakeEngine("up_down");
    plan_ = Compute(*engine, *fabric_.snapshot, nullptr);
    const auto damaged = Without(cables_[0]);
    for (int run = 0; run < 3; ++run) {
      std::shared_ptr<const routing::RoutingPlan> plan;
      keep(tables, Measure([&] { plan = Compute(*engine, *damaged, plan_.get()); }));
      keep(proof,
           Measure([&] { routing::VerifyOrdered(*damaged, fabric_.lids, *plan, threads_); }));
    }
    fmt::print("full: tables {:.1f} ms (processor {:.1f}), order proof {:.1f} ms ({:.1f})\n",
               tables.wall, tables.cpu, proof.wall, proof.cpu);
    return {tables.wall + proof.wall, tables.cpu + proof.cpu};
  }
  std::shared_ptr<const routing::RoutingPlan> Compute(const routing::RoutingEngine& engine,
                                                      const fabric::FabricSnapshot& snapshot,
                                                      const routing::RoutingPlan* previous) {
    return std::make_shared<const routing::RoutingPlan>(
        *engine.Compute({snapshot, fabric_.lids, options_, previous}));
  }
  std::shared_ptr<const fabric::FabricSnapshot> Without(PortRef cable) {
    fabric::SnapshotBuilder builder(*fabric_.snapshot);
    builder.Unlink(cable);
    return builder.Build();
  }
  bool IsLeafCable(PortRef cable) const {
    const auto has_hosts = [&](NodeIndex node) {
      for (const fabric::Port& port : fabric_.snapshot->node(node)->ports)
        if (!port.peer.IsNone() && !fabric_.snapshot->node(port.peer.node)->IsSwitch()) return true;
      return false;
    };
    return has_hosts(cable.node) || has_hosts(fabric_.snapshot->port(cable)->peer.node);
  }

  bool Cut(const RouteState& state, PortRef cable, Sample& sample) {
    const auto damaged = Without(cable);
    absl::StatusOr<Repair> urgent, settled;
    sample.urgent = Measure([&] {
      urgent = routing::RepairPlan(state, *damaged, fabric_.lids, {true, threads_});
    });
    if (!urgent.ok()) {
      fmt::print("failed: {}\n", urgent.status().ToString());
      return false;
    }
    sample.urgent_blocks = urgent->diff.blocks.size();
    sample.pending = urgent->after.plan->pending.size();
    sample.settled = Measure([&] {
      settled = routing::RepairPlan(urgent->after, *damaged, fabric_.lids, {false, threads_});
    });
    const routing::AppliedTables applied = routing::TablesOf(*state.plan);
    sample.push = Measure([&] {
      sample.waves =
          routing::OrderPush({urgent->after.links, applied, nullptr, *urgent->after.plan, threads_})
              .waves;
    });
    sample.needs_full = !settled.ok();
    if (settled.ok()) sample.all_blocks = sample.urgent_blocks + settled->diff.blocks.size();
    return true;
  }

  const int radix_, threads_;
  TestFabric fabric_;
  routing::RoutingOptions options_;
  std::vector<PortRef> cables_;  // Between switches, by the lower end.
  std::shared_ptr<const routing::RoutingPlan> plan_;
};

}  // namespace
}  // namespace fabricd

int main(int argc, char** argv) {
  const auto argument = [&](int i, long otherwise) {
    return argc > i ? std::strtol(argv[i], nullptr, 10) : otherwise;
  };
  fabricd::Bench bench(static_cast<int>(argument(1, 56)), static_cast<int>(argument(4, 0)));
  return bench.Run(static_cast<size_t>(argument(2, 200)), static_cast<uint64_t>(argument(3, 1)));
}
