// SPDX-License-Identifier: Apache-2.0
// A site is switched on: switches first, in any order, then hosts over minutes, some of them twice
// because they reboot after their first start. What it costs is bounded by what a quiet bring-up of
// the same fabric costs.
#include <map>
#include <ostream>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/rng.h"
#include "sim/checkers/checkers.h"
#include "sim/generate/generate.h"
#include "sim/simulation/simulation.h"
#include "tests/support/logs.h"

namespace fabricd::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::IsEmpty;

struct Cost {
  uint64_t all_sets = 0;
  uint32_t blocks = 0;  // Of tables, in reroutes.
  size_t repairs = 0, whole_plans = 0, heavy_sweeps = 0;

  friend std::ostream& operator<<(std::ostream& out, const Cost& cost) {
    return out << fmt::format("{} Sets, {} blocks, {} repairs, {} whole plans, {} heavy sweeps",
                              cost.all_sets, cost.blocks, cost.repairs, cost.whole_plans,
                              cost.heavy_sweeps);
  }
};

class CorePowerOn : public ::testing::Test {
 protected:
  void Build(const std::string& spec) {
    harness_.emplace(**sim::Generate(spec));
    sm_ = harness_->Add({});
    manager().executor.plan_time = milliseconds(5);
  }
  sim::Manager& manager() { return harness_->manager(sm_); }

  // What has been spent since the simulation began.
  Cost Spent() {
    Cost cost;
    cost.all_sets = harness_->fabric().stats().sets();
    for (const fabric::FabricEvent& event : manager().events) {
      if (!event.reroute) continue;
      cost.blocks += event.reroute->blocks_written;
      const bool repair = event.reroute->engine.find(' ') != std::string::npos;
      ++(repair ? cost.repairs : cost.whole_plans);
    }
    cost.heavy_sweeps = manager().view->sweeps_done;
    return cost;
  }

  void PowerAll(bool on) {
    const NodeIndex own = harness_->fabric().DefaultHostPort().node;
    for (uint32_t i = 0; i < harness_->fabric().node_index_end(); ++i) {
      if (NodeIndex(i) == own) continue;
      const Instant now = harness_->now();
      Check(on ? harness_->fabric().PowerOn(now, NodeIndex(i))
               : harness_->fabric().PowerOff(now, NodeIndex(i)));
    }
  }
  void PowerAt(Instant when, NodeIndex node, bool on) {
    harness_->At(when, [=, this] {
      Check(on ? harness_->fabric().PowerOn(when, node) : harness_->fabric().PowerOff(when, node));
    });
  }
  // Switches over `switches` of time; hosts, all HCAs of one within a second, over `hosts` after
  // that; one host in eight starts again 30 s after its first start.
  void Trickle(Duration switches, Duration hosts) {
    Rng rng(7);
    const Instant start = harness_->now();
    std::map<std::string, Instant> host_starts;
    std::map<std::string, bool> twice;
    for (uint32_t i = 0; i < harness_->fabric().node_index_end(); ++i) {
      const NodeIndex node(i);
      if (node == harness_->fabric().DefaultHostPort().node) continue;
      const sim::SimDevice& device = *harness_->fabric().device(node);
      if (device.IsSwitch()) {
        PowerAt(start + Duration(rng.Below(switches.count())), node, true);
        continue;
      }
      const std::string host = device.description().substr(0, device.description().find(' '));
      if (!host_starts.contains(host)) {
        host_starts[host] = start + switches + Duration(rng.Below(hosts.count()));
        twice[host] = rng.Below(8) == 0;
      }
      const Instant first = host_starts[host] + milliseconds(rng.Below(1000));
      PowerAt(first, node, true);
      if (!twice[host]) continue;
      PowerAt(first + seconds(30), node, false);
      PowerAt(first + seconds(40), node, true);
    }
  }
  static void Check(const absl::Status& status) { EXPECT_TRUE(status.ok()) << status; }
  std::optional<sim::Simulation> harness_;
  size_t sm_ = 0;
};

// Switches come up in any order within a minute, 128 hosts of 8 HCAs within the next five, every
// eighth host twice. Each arrival could cost a block on every switch and each pause a whole plan:
// one HCA at a time that is 8 times the Sets of a quiet bring-up, and more on larger fabrics.
TEST_F(CorePowerOn, OfASiteTakesAtMostThreeTimesTheSetsOfAQuietBringUp) {
  const std::string spec = "superpod:sus=4,hosts=32,rails=8";
  Build(spec);
  harness_->Start(sm_);
  ASSERT_TRUE(harness_->RunUntilUp(sm_)) << LogOf(manager());
  harness_->RunFor(seconds(60));
  const Cost quiet = Spent();

  Build(spec);
  PowerAll(false);
  harness_->Start(sm_);
  harness_->RunFor(seconds(5));
  Trickle(seconds(60), seconds(300));
  harness_->RunFor(seconds(460));
  ASSERT_TRUE(harness_->RunUntilUp(sm_)) << LogOf(manager());
  harness_->RunFor(seconds(60));
  const Cost trickle = Spent();
  RecordProperty("cost", ::testing::PrintToString(trickle));
  EXPECT_LE(trickle.all_sets, 3 * quiet.all_sets) << trickle;
  EXPECT_LE(trickle.whole_plans, 6u) << trickle;
  // The heavy sweeps are those of an SM that is alone, its own link being down.
  EXPECT_LE(trickle.heavy_sweeps, 8u) << LogOf(manager());
  EXPECT_THAT(sim::PortsNotActive(harness_->fabric()), IsEmpty());
  EXPECT_THAT(sim::LidFaults(harness_->fabric()), IsEmpty());
  EXPECT_THAT(sim::BrokenPairs(harness_->fabric()), IsEmpty());
}

}  // namespace
}  // namespace fabricd::test
