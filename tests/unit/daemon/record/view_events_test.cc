// SPDX-License-Identifier: Apache-2.0
#include "daemon/record/view_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fabricd::daemon {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> Types(const sweep::FabricView& before, const sweep::FabricView& after) {
  std::vector<std::string> types;
  for (const auto& event : EventsBetween(before, after)) {
    EXPECT_EQ(event.subject, "subnet");
    EXPECT_FALSE(event.message.empty());
    types.push_back(event.type);
  }
  return types;
}

std::shared_ptr<const routing::RoutingPlan> PlanBy(const std::string& engine) {
  auto plan = std::make_shared<routing::RoutingPlan>();
  plan->engine = engine;
  return plan;
}

TEST(ViewEventsTest, EmitsEventsOfMastershipEngineAndSubnet) {
  sweep::FabricView off = *sweep::EmptyView(), discovering = off, master, up, other_engine, lost;
  discovering.sm.state = wire::SmState::kDiscovering;
  master = discovering;
  master.sm.state = wire::SmState::kMaster;
  up = master;
  up.plan = PlanBy("rail");
  up.subnet_up = true;
  other_engine = up;
  other_engine.plan = PlanBy("up_down");
  lost = other_engine;
  lost.sm.state = wire::SmState::kNotActive;
  lost.subnet_up = false;
  EXPECT_THAT(Types(off, off), IsEmpty());
  EXPECT_THAT(Types(off, discovering), IsEmpty());
  EXPECT_THAT(Types(discovering, master), ElementsAre("MasterChanged"));
  // Nodes that share their state have one history.
  master.sm.guid = Guid(0x11);
  EXPECT_EQ(EventsBetween(discovering, master)[0].message,
            "the SM at 0x0000000000000011 was DISCOVERING and is MASTER");
  EXPECT_THAT(Types(master, up), ElementsAre("EngineChanged", "SubnetUp"));
  EXPECT_THAT(Types(up, up), IsEmpty());
  EXPECT_THAT(Types(up, other_engine), ElementsAre("EngineChanged"));
  EXPECT_EQ(EventsBetween(up, other_engine)[0].severity, fabric::Severity::kWarning);
  EXPECT_THAT(Types(other_engine, lost), ElementsAre("MasterChanged", "SubnetDown"));
  EXPECT_EQ(EventsBetween(other_engine, lost)[0].severity, fabric::Severity::kWarning);
}

}  // namespace
}  // namespace fabricd::daemon
