// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/models.h"

#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/daemon/rpc/small_fabric.h"

namespace fabricd::rpc::testing {
namespace {

TEST(ModelsTest, NamesAreSharedWhileTheNodesAreTheSame) {
  SmallFabric fabric;
  FakeBackend backend(fabric.View(1));
  daemon::Models models(backend);
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

// All callers wait for the model that is being made.
TEST(ModelsTest, AreMadeAtOrdinaryPriorityForEachCaller) {
  SmallFabric fabric;
  NotingBackend backend(fabric.View(1));
  daemon::Models models(backend);
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
  daemon::Models models(backend);
  std::vector<std::shared_ptr<const query::ReadModel>> seen(8);
  std::vector<std::thread> askers;
  for (auto& model : seen) askers.emplace_back([&] { model = models.Current(); });
  for (std::thread& asker : askers) asker.join();
  for (const auto& model : seen) EXPECT_EQ(model, seen[0]);
}

}  // namespace
}  // namespace fabricd::rpc::testing
