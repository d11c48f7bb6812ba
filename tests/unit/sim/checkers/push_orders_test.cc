// SPDX-License-Identifier: Apache-2.0
// What the order of table writes does to traffic: plans of least change after single and double
// faults, written on simulated switches block by block, in the order that the theory asks for and
// in an order of chance, while the TableWatch looks at all ways. On a tree in plain level order
// nothing can go round in circles whatever the order, so the fabrics here are those where it can: a
// tree whose order has a leaf on top, a torus, irregular ones.
#include <algorithm>
#include <map>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/check.h"
#include "fabric/snapshot_builder.h"
#include "routing/repair/repair.h"
#include "sim/checkers/table_watch.h"
#include "sim/simulation/simulation.h"
#include "tests/unit/sim/test_client.h"

namespace fabricd::sim {
namespace {

using std::chrono::seconds;
using ::testing::IsEmpty;

// Of writes in waves: those of one block number in a wave have been answered before the next.
using Writes = std::vector<routing::ChangedBlock>;

// A fabric that a manager has brought up by up*/down* ways and left.
class Fabric {
 public:
  Fabric(const std::string& spec, const std::string& engine) : simulation_(**Generate(spec)) {
    sweep::CoreOptions options;
    options.routing.chain = {engine};
    options.routing.threads = 1;
    fabric().SetObserver(&watch_);
    const size_t manager = simulation_.Add(options);
    simulation_.Start(manager);
    FABRICD_CHECK(simulation_.RunUntilUp(manager), "{} does not come up", spec);
    simulation_.RunFor(seconds(1));
    view_ = simulation_.manager(manager).view;
    simulation_.Kill(manager);
    fabric().Attach(fabric().DefaultHostPort());
    client_.now = simulation_.now();
    before_ = routing::MakeRouteState(*view_->snapshot, *view_->lids, view_->plan);
    ListCables();
    brought_up_ = watch_.statistics();
  }

  SimFabric& fabric() { return simulation_.fabric(); }
  const TableWatch& watch() const { return watch_; }
  // Table writes since it was brought up.
  uint64_t sets() const { return watch_.statistics().sets - brought_up_.sets; }

  // The least change for `count` more cables between switches that are pulled; nothing: there is
  // none.
  std::optional<routing::Repair> Break(int count, Rng& rng) {
    fabric::SnapshotBuilder builder(*view_->snapshot);
    for (int i = 0; i < count; ++i) {
      const PortRef cable = cables_[rng.Below(cables_.size())];
      if (!fabric().Unlink(client_.now, Theirs(cable)).ok()) continue;
      const PortRef peer = view_->snapshot->port(cable)->peer;
      for (PortRef end : {cable, peer}) {
        wire::PortInfo info = view_->snapshot->port(end)->info;
        info.port_state = wire::PortState::kDown;
        builder.SetPortInfo(end, info);
      }
      builder.Unlink(cable);
    }
    watch_.Look();
    auto repair = routing::RepairPlan(before_, *builder.Build(), *view_->lids, {.threads = 1});
    if (!repair.ok()) return std::nullopt;
    return *std::move(repair);
  }

  void Write(const routing::RoutingPlan& plan, const routing::ChangedBlock& write) {
    wire::LinearForwardingTable table;
    for (size_t i = 0; i < table.port.size(); ++i)
      table.port[i] = plan.EgressPort(write.node, Lid(static_cast<uint16_t>(write.block * 64 + i)));
    client_.now += std::chrono::milliseconds(1);
    const NodeIndex node = Theirs({write.node, PortNum(0)}).node;
    FABRICD_CHECK(client_.Set(WayTo(node), table, write.block).ok(), "{} does not answer",
                  fabric().device(node)->description());
  }

  // By the theory, for each LID of the block: a switch only when all others that change on its new
  // way are written, and one that turns up only when nobody sends it the LID down any more (packets
  // that turn up after they went down are what makes credit loops). Among those that may be
  // written, in an order of chance.
  Writes Ordered(const routing::Repair& repair, Rng& rng) {
    Writes left = Shuffled(repair, rng), order;
    while (!left.empty()) {
      const auto next = std::find_if(left.begin(), left.end(), [&](const auto& write) {
        return IsReady(*repair.after.plan, write, left);
      });
      FABRICD_CHECK(next != left.end(), "two LIDs of one block want opposite orders");
      order.push_back(*next);
      left.erase(next);
    }
    return order;
  }
  static Writes Shuffled(const routing::Repair& repair, Rng& rng) {
    Writes order = repair.diff.blocks;
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.Below(i)]);
    return order;
  }

 private:
  void ListCables() {
    for (uint32_t i = 0; i < fabric().node_index_end(); ++i)
      nodes_[fabric().device(NodeIndex(i))->guid()] = NodeIndex(i);
    view_->snapshot->ForEachNode([&](const fabric::Node& node) {
      for (uint8_t num = 1; node.IsSwitch() && num < node.ports.size(); ++num) {
        const PortRef here{node.index, PortNum(num)}, peer = node.ports[num].peer;
        if (!peer.IsNone() && here < peer && view_->snapshot->node(peer.node)->IsSwitch())
          cables_.push_back(here);
      }
    });
  }
  // The snapshot's port in the simulated fabric.
  PortRef Theirs(PortRef port) const {
    return {nodes_.at(view_->snapshot->node(port.node)->guid()), port.port};
  }
  static bool Holds(const routing::ChangedBlock& write, uint32_t lid) {
    return write.block == lid / 64 && (write.lids >> lid % 64 & 1) != 0;
  }
  bool IsReady(const routing::RoutingPlan& plan, const routing::ChangedBlock& write,
               const Writes& left) const {
    for (uint32_t lid = write.block * 64u; lid < write.block * 64u + 64; ++lid) {
      const auto waits_for = [&](NodeIndex node) {
        return std::any_of(left.begin(), left.end(), [&](const auto& other) {
          return other.node == node && Holds(other, lid);
        });
      };
      if (!Holds(write, lid)) continue;
      for (NodeIndex at = Next(plan, write.node, lid); !at.IsNone(); at = Next(plan, at, lid))
        if (waits_for(at)) return false;
      if (!Rises(write.node, Next(plan, write.node, lid))) continue;
      for (const auto& other : left)
        if (other.node != write.node && Holds(other, lid) && !Rises(other.node, write.node) &&
            Next(*before_.plan, other.node, lid) == write.node)
          return false;
    }
    return true;
  }
  // The switch that comes next; none: it is the last.
  NodeIndex Next(const routing::RoutingPlan& plan, NodeIndex at, uint32_t lid) const {
    const PortNum out(plan.EgressPort(at, Lid(static_cast<uint16_t>(lid))));
    const fabric::Port* port = out == PortNum(0) ? nullptr : view_->snapshot->port({at, out});
    const bool leads = port != nullptr && !port->peer.IsNone() && plan.HasRow(port->peer.node);
    return leads ? port->peer.node : NodeIndex::None();
  }
  bool Rises(NodeIndex from, NodeIndex to) const {
    const auto& order = before_.plan->order;
    return !to.IsNone() && order[from.value()] < order[to.value()];
  }
  wire::DirectedPath WayTo(NodeIndex goal) {
    const PortRef host = fabric().DefaultHostPort();
    std::map<NodeIndex, wire::DirectedPath> ways{{host.node, {}}};
    std::vector<NodeIndex> open{host.node};
    for (size_t next = 0; next < open.size() && ways.count(goal) == 0; ++next) {
      const SimDevice& device = *fabric().device(open[next]);
      if (next != 0 && !device.IsSwitch()) continue;
      for (uint8_t num = 1; num <= device.last_port().value(); ++num) {
        const PortRef peer = fabric().LinkedPeer({open[next], PortNum(num)});
        if (peer.IsNone() || ways.count(peer.node) != 0) continue;
        ways[peer.node] = ways[open[next]].Then(PortNum(num));
        open.push_back(peer.node);
      }
    }
    return ways.at(goal);
  }

  Simulation simulation_;
  TableWatch watch_{simulation_.fabric(), {.notice = Duration::zero()}};
  TestClient client_{simulation_.fabric(), simulation_.fabric().DefaultHostPort()};
  TableWatch::Statistics brought_up_;
  std::shared_ptr<const sweep::FabricView> view_;
  routing::RouteState before_;
  std::map<Guid, NodeIndex> nodes_;
  std::vector<PortRef> cables_;
};

struct Case {
  const char* name;
  const char* fabric;
  const char* engine;
  int faults;
  friend void PrintTo(const Case& of, std::ostream* out) { *out << of.name; }
};

class PushOrders : public ::testing::TestWithParam<Case> {
 protected:
  struct Sum {
    int runs = 0;
    uint64_t sets = 0;
    TableWatch::Statistics tables;
    std::vector<std::string> findings;
  };
  template <typename Order>
  static Sum Run(uint64_t seeds, Order&& order) {
    Sum sum;
    for (uint64_t seed = 1; seed <= seeds; ++seed) {
      Rng rng(seed);
      Fabric fabric(GetParam().fabric, GetParam().engine);
      const auto repair = fabric.Break(GetParam().faults, rng);
      if (!repair) continue;
      for (const auto& write : order(fabric, *repair, rng))
        fabric.Write(*repair->after.plan, write);
      ++sum.runs;
      sum.sets += fabric.sets();
      sum.tables += fabric.watch().statistics();
      for (const std::string& finding : fabric.watch().findings())
        sum.findings.push_back(fmt::format("seed {}: {}", seed, finding));
    }
    return sum;
  }
  static constexpr uint64_t kSeeds = 25;
};

TEST_P(PushOrders, PlannedOrdersLoseNoPath) {
  const Sum sum = Run(kSeeds, [](Fabric& fabric, const routing::Repair& repair, Rng& rng) {
    return fabric.Ordered(repair, rng);
  });
  EXPECT_GT(sum.runs, static_cast<int>(kSeeds / 2));
  EXPECT_GT(sum.sets, kSeeds);
  EXPECT_GT(sum.tables.faults_cuts, kSeeds);
  EXPECT_THAT(sum.findings, IsEmpty());
}

TEST_P(PushOrders, RandomOrdersMakeLoopsThatTheWatchFinds) {
  const Sum sum = Run(kSeeds, [](Fabric&, const routing::Repair& repair, Rng& rng) {
    return Fabric::Shuffled(repair, rng);
  });
  RecordProperty("loops", static_cast<int>(sum.tables.loops));
  EXPECT_GT(sum.tables.loops, 0u);
}

INSTANTIATE_TEST_SUITE_P(
    All, PushOrders,
    ::testing::Values(Case{"TreeWithALeafOnTop", "fat-tree:radix=8,levels=3", "fat_tree", 20},
                      Case{"Torus", "torus:dims=4x4x4,hosts=1", "up_down", 1},
                      Case{"TorusTwice", "torus:dims=4x4x4,hosts=1", "up_down", 2},
                      Case{"Irregular", "random:switches=40,degree=5,hosts=2", "up_down", 2}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace fabricd::sim
