// SPDX-License-Identifier: Apache-2.0
#include "sweep/device/ignored_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fabricd::sweep {
namespace {

using ::testing::IsEmpty;

fabric::Node Leaf() {
  fabric::Node node;
  node.info.node_guid = Guid(0x2000);
  node.description = "leaf";
  return node;
}

TEST(IgnoredSettings, ADeviceThatAppliesASetIsNotReported) {
  wire::PortInfo info;
  info.neighbor_mtu = 5;
  EXPECT_THAT(IgnoredSettings(info, info, Leaf(), PortNum(1)), IsEmpty());
  // States and counters are no settings.
  wire::PortInfo later = info;
  later.port_state = wire::PortState::kActive;
  later.p_key_violations = 7;
  EXPECT_THAT(IgnoredSettings(info, later, Leaf(), PortNum(1)), IsEmpty());
}

TEST(IgnoredSettings, FieldsAreNamedOnceForAllPorts) {
  wire::PortInfo wanted;
  wanted.subnet_timeout = 18;
  wanted.hoq_life = 15;
  const auto problems = IgnoredSettings(wanted, wire::PortInfo(), Leaf(), PortNum(1));
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].kind, ProblemKind::kSettingsIgnored);
  EXPECT_EQ(problems[0].subject, ProblemSubject::Named("HOQLife, SubnetTimeOut"));
  EXPECT_EQ(problems[0].message, "leaf/1 (0x0000000000002000) keeps its own; others may too");
}

TEST(IgnoredSettings, EnforcementIsNamedByPortInBothDirections) {
  wire::PortInfo enforcing;
  enforcing.partition_enforcement_inbound = true;
  auto problems = IgnoredSettings(enforcing, wire::PortInfo(), Leaf(), PortNum(1));
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].kind, ProblemKind::kNotEnforced);
  EXPECT_EQ(problems[0].subject, ProblemSubject::Of(Leaf(), PortNum(1)));
  EXPECT_THAT(problems[0].message, testing::HasSubstr("of other partitions pass"));
  problems = IgnoredSettings(wire::PortInfo(), enforcing, Leaf(), PortNum(1));
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_THAT(problems[0].message, testing::HasSubstr("goes on enforcing"));
}

}  // namespace
}  // namespace fabricd::sweep
