// SPDX-License-Identifier: Apache-2.0
// Models made from the one before, against models made anew.
#include "query/read_model.h"

#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "common/rng.h"
#include "tests/support/fabrics.h"
#include "tests/unit/daemon/rpc/small_fabric.h"

namespace fabricd::rpc::testing {
namespace {

using fabric::FabricSnapshot;

void ExpectSame(const LinkCounts& a, const LinkCounts& b, const FabricSnapshot& snapshot) {
  EXPECT_EQ(a.links(), b.links());
  EXPECT_EQ(a.degraded(), b.degraded());
  EXPECT_EQ(a.ports_active(), b.ports_active());
  for (NodeIndex node(0); node.value() < snapshot.node_index_end();
       node = NodeIndex(node.value() + 1)) {
    EXPECT_EQ(a.of(node).as_a, b.of(node).as_a) << node.value();
    EXPECT_EQ(a.of(node).degraded, b.of(node).degraded) << node.value();
    EXPECT_EQ(a.of(node).ports_active, b.of(node).ports_active) << node.value();
  }
}

// A port that is up at one of two widths, both of which it supports.
wire::PortInfo AnyPort(Rng& rng) {
  wire::PortInfo info;
  info.port_state = rng.Below(4) ? wire::PortState::kActive : wire::PortState::kDown;
  info.link_width_supported = 3;
  info.link_width_active = rng.Below(3) ? 2 : 1;
  return info;
}

PortRef AnyPortOf(const fabric::SnapshotBuilder& builder, NodeIndex node, Rng& rng) {
  const size_t ports = builder.node(node)->ports.size();
  return {node, PortNum(static_cast<uint8_t>(1 + rng.Below(ports - 1)))};
}

TEST(LinkCountsTest, MovedIsAsMadeAnew) {
  const auto made = fabricd::testing::MakeFatTree(8, 2).Build();
  fabric::SnapshotBuilder builder(*made.snapshot);
  Rng rng(7);
  auto before = builder.Build();
  LinkCounts counts(*before);
  uint64_t degraded_seen = 0;
  for (int round = 0; round < 300; ++round) {
    for (uint64_t change = 1 + rng.Below(4); change > 0; --change) {
      const NodeIndex node = made.node[rng.Below(made.node.size())];
      if (builder.node(node) == nullptr) {
        builder.PutNode(made.snapshot->node(node)->info);
        continue;
      }
      const PortRef port = AnyPortOf(builder, node, rng);
      const NodeIndex other = made.node[rng.Below(made.node.size())];
      switch (rng.Below(8)) {
        case 0: builder.RemoveNode(node); break;
        case 1: builder.Unlink(port); break;
        case 2:
          if (other != node && builder.node(other) != nullptr)
            builder.Link(port, AnyPortOf(builder, other, rng));
          break;
        default: builder.SetPortInfo(port, AnyPort(rng));
      }
    }
    const auto now = builder.Build();
    counts = counts.Moved(*before, *now);
    ExpectSame(counts, LinkCounts(*now), *now);
    ASSERT_FALSE(HasFailure()) << "round " << round;
    degraded_seen += counts.degraded();
    before = now;
  }
  EXPECT_GT(degraded_seen, 0u);
}

TEST(ModelsTest, NamesAreSharedWhileTheNodesAreTheSame) {
  SmallFabric fabric;
  FakeBackend backend(fabric.View(1));
  Models models(backend);
  const auto first = models.Current();
  fabric.maker.builder.SetPortInfo({fabric.node2, PortNum(1)}, wire::PortInfo());
  backend.Publish(fabric.View(2));
  const auto second = models.Current();
  EXPECT_NE(first, second);
  EXPECT_EQ(first->names, second->names);
  fabric.maker.builder.SetDescription(fabric.node2, "renamed mlx5_0");
  backend.Publish(fabric.View(3));
  const auto third = models.Current();
  EXPECT_EQ(third->name(fabric.node2), "renamed mlx5_0");
  EXPECT_TRUE(third->FindNode("renamed mlx5_0").ok());
  EXPECT_EQ(second->name(fabric.node2), "node2 mlx5_0");
}

// Notes how urgently the thread that makes a model runs.
class NotingBackend final : public FakeBackend {
 public:
  using FakeBackend::FakeBackend;
  std::shared_ptr<const fabric::HostTable> hosts(const sweep::FabricView& view) const override {
    niceness = getpriority(PRIO_PROCESS, static_cast<id_t>(gettid()));
    return FakeBackend::hosts(view);
  }
  mutable std::atomic<int> niceness = -1;
};

// All who ask wait for the one that is being made.
TEST(ModelsTest, AreMadeAtOrdinaryPriorityWhoeverAsks) {
  SmallFabric fabric;
  NotingBackend backend(fabric.View(1));
  Models models(backend);
  const int ordinary = getpriority(PRIO_PROCESS, 0);
  std::thread([&] {
    ASSERT_EQ(setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), ordinary + 3), 0);
    EXPECT_NE(models.Current(), nullptr);
  }).join();
  EXPECT_EQ(backend.niceness, ordinary);
}

TEST(ModelsTest, AreMadeOncePerView) {
  SmallFabric fabric;
  FakeBackend backend(fabric.View(1));
  Models models(backend);
  std::vector<std::shared_ptr<const ReadModel>> seen(8);
  std::vector<std::thread> askers;
  for (auto& model : seen) askers.emplace_back([&] { model = models.Current(); });
  for (std::thread& asker : askers) asker.join();
  for (const auto& model : seen) EXPECT_EQ(model, seen[0]);
}

}  // namespace
}  // namespace fabricd::rpc::testing
