// SPDX-License-Identifier: Apache-2.0
// A leaf with hosts at ports 1 to 6 and a spine at ports 7 and 8, as its counters were read ten
// seconds ago, and as the core publishes it.
#pragma once

#include <memory>

#include "common/time.h"
#include "daemon/verdicts/verdict_keeper.h"
#include "tests/unit/telemetry/evidence/view_maker.h"

namespace fabricd::daemon {

class VerdictFabric {
 public:
  static constexpr policy::WallMs kWall = 1'764'000'000'000;
  using ViewMaker = telemetry::ViewMaker;

  VerdictFabric() : fabric_(Make()), counters(fabric_.snapshot) {
    view->snapshot = fabric_.snapshot;
    view->sm.state = wire::SmState::kMaster;
    view->sm.port = Host(5);
    view->sweeps_done = 1;
    view->policy = std::make_shared<const policy::PolicyView>();
  }

  PortRef Leaf(uint8_t port) const { return {fabric_.node[0], PortNum(port)}; }
  PortRef Host(size_t host) const { return {fabric_.node[2 + host], PortNum(1)}; }
  Guid GuidOf(PortRef port) const { return fabric_.snapshot->node(port.node)->guid(); }

  // The link of a host goes down within the last minutes, by default thrice.
  void Flap(size_t host, int times = 3) {
    for (const PortRef end : {Host(host), Leaf(static_cast<uint8_t>(host + 1))})
      for (int i = 1; i <= times; ++i)
        counters.Count(end, telemetry::Counter::kLinkDowned, 1,
                       ViewMaker::kNow - i * 2 * ViewMaker::kMinute);
  }
  // As another process that has just begun counts.
  void ForgetErrors() {
    for (size_t host = 0; host < 6; ++host)
      counters.Device(Host(host).node).errors.Forget(PortNum(1));
    for (uint8_t port = 1; port <= 8; ++port)
      counters.Device(Leaf(port).node).errors.Forget(PortNum(port));
  }
  // What the core makes of it.
  void Hold(uint64_t id, const sweep::CreateHold& command) {
    auto policy = std::make_shared<policy::PolicyView>(*view->policy);
    policy->holds.push_back({command.hold, policy::HoldState::kInEffect, ""});
    policy->holds.back().hold.id = id;
    policy->holds.back().hold.expires =
        kWall + std::chrono::duration_cast<std::chrono::milliseconds>(*command.ttl).count();
    view->policy = policy;
  }
  VerdictInputs Inputs() const {
    return {std::make_shared<const telemetry::TelemetryView>(counters.view),
            std::make_shared<const sweep::FabricView>(*view), now, kWall};
  }

 private:
  static testing::TestFabric Make() {
    testing::FabricMaker maker;
    const size_t leaf = maker.AddSwitch(8, "leaf"), spine = maker.AddSwitch(8, "spine");
    for (const char* name : {"node1 mlx5_0", "node2 mlx5_0", "node3 mlx5_0", "node4 mlx5_0",
                             "node5 mlx5_0", "node6 mlx5_0"})
      maker.Cable(leaf, maker.AddHost(1, name));
    maker.Cable(leaf, spine);
    maker.Cable(leaf, spine);
    return maker.Build();
  }
  testing::TestFabric fabric_;

 public:
  ViewMaker counters;
  std::shared_ptr<sweep::FabricView> view = std::make_shared<sweep::FabricView>();
  Instant now{std::chrono::hours(40)};
};

}  // namespace fabricd::daemon
