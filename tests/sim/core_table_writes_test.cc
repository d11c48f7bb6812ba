// SPDX-License-Identifier: Apache-2.0
// What a master says of the tables that it writes, for a successor that has read them already.
#include <set>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/checkers/checkers.h"
#include "sim/generate/generate.h"
#include "sim/simulation/simulation.h"
#include "tests/support/logs.h"

namespace fabricd::test {
namespace {

using std::chrono::seconds;
using testing::IsEmpty;
using testing::IsSupersetOf;

using Block = std::tuple<Guid, uint32_t>;  // NodeGUID, block.

// Blocks of LinearForwardingTables that are set, and those that the core's views name.
class Announcements final : public sim::SimObserver {
 public:
  explicit Announcements(const sim::SimFabric& fabric) : fabric_(fabric) {}

  void OnServed(const Served& served) override {
    const wire::Smp& smp = served.request;
    if (smp.method != wire::Method::kSet ||
        smp.attribute != wire::AttributeId::kLinearForwardingTable)
      return;
    const sim::SimDevice& device = *fabric_.device(served.ingress.node);
    set.emplace(device.node_info().node_guid, smp.modifier);
  }
  void OnView(const sweep::FabricView& view) {
    if (view.table_writes == last_) return;
    last_ = view.table_writes;
    for (const auto& [node, block] : *last_)
      named.emplace(view.snapshot->node(node)->guid(), block);
  }

  std::set<Block> set, named;

 private:
  const sim::SimFabric& fabric_;
  std::shared_ptr<const sweep::TableWrites> last_;
};

class TableWritesOfACore : public testing::Test {
 protected:
  TableWritesOfACore()
      : harness_(**sim::Generate("fat-tree:radix=8,levels=3")), seen_(harness_.fabric()) {
    harness_.fabric().SetObserver(&seen_);
    sm_ = harness_.Add({});
    harness_.Start(sm_);
    Run(seconds(20));
  }
  // Looks at each view.
  void Run(Duration time) {
    harness_.RunUntil(
        [&] {
          if (harness_.manager(sm_).view) seen_.OnView(*harness_.manager(sm_).view);
          return false;
        },
        time);
    EXPECT_TRUE(harness_.manager(sm_).view->subnet_up) << LogOf(harness_.manager(sm_));
    EXPECT_THAT(sim::BrokenPairs(harness_.fabric()), IsEmpty());
    EXPECT_FALSE(seen_.set.empty());
    EXPECT_THAT(seen_.named, IsSupersetOf(seen_.set));
    seen_.set.clear();
    seen_.named.clear();
  }
  PortRef Cable() {
    for (const sim::SimCable& cable : harness_.fabric().ListCables()) {
      const NodeIndex a = *harness_.fabric().FindNode(cable.a.node);
      const NodeIndex b = *harness_.fabric().FindNode(cable.b.node);
      if (harness_.fabric().device(a)->IsSwitch() && harness_.fabric().device(b)->IsSwitch())
        return {a, cable.a.port};
    }
    return {};
  }

  sim::Simulation harness_;
  Announcements seen_;
  size_t sm_ = 0;
};

TEST_F(TableWritesOfACore, NameTheBlocksOfARepairAndOfTheIdealPlanAfterIt) {
  const PortRef cable = Cable();
  ASSERT_TRUE(harness_.fabric().Unlink(harness_.now(), cable).ok());
  Run(seconds(30));
  ASSERT_TRUE(harness_.fabric().Link(harness_.now(), cable).ok());
  Run(seconds(30));
}

TEST_F(TableWritesOfACore, NameTheBlocksOfASwitchThatHasLostItsTables) {
  ASSERT_TRUE(harness_.fabric().Reboot(harness_.now(), Cable().node).ok());
  Run(seconds(30));
}

}  // namespace
}  // namespace fabricd::test
