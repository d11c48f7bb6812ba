// SPDX-License-Identifier: Apache-2.0
#include "sweep/device/ignored_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fabricd::sweep {
namespace {

using ::testing::IsEmpty;

TEST(IgnoredSettings, ADeviceThatAppliesASetIsNotReported) {
  wire::PortInfo info;
  info.neighbor_mtu = 5;
  EXPECT_THAT(IgnoredSettings(info, info, "leaf port 1"), IsEmpty());
  // States and counters are no settings.
  wire::PortInfo later = info;
  later.port_state = wire::PortState::kActive;
  later.p_key_violations = 7;
  EXPECT_THAT(IgnoredSettings(info, later, "leaf port 1"), IsEmpty());
}

TEST(IgnoredSettings, FieldsAreNamedOnceForAllPorts) {
  wire::PortInfo wanted;
  wanted.subnet_timeout = 18;
  wanted.hoq_life = 15;
  const auto problems = IgnoredSettings(wanted, wire::PortInfo(), "leaf port 1");
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].kind, "SettingsIgnored");
  EXPECT_EQ(problems[0].subject, "HOQLife, SubnetTimeOut");
  EXPECT_EQ(problems[0].message, "leaf port 1 keeps its own; others may too");
}

TEST(IgnoredSettings, EnforcementIsNamedByPortInBothDirections) {
  wire::PortInfo enforcing;
  enforcing.partition_enforcement_inbound = true;
  auto problems = IgnoredSettings(enforcing, wire::PortInfo(), "leaf port 1");
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].kind, "NotEnforced");
  EXPECT_EQ(problems[0].subject, "leaf port 1");
  EXPECT_THAT(problems[0].message, testing::HasSubstr("of other partitions pass"));
  problems = IgnoredSettings(wire::PortInfo(), enforcing, "leaf port 1");
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_THAT(problems[0].message, testing::HasSubstr("goes on enforcing"));
}

}  // namespace
}  // namespace fabricd::sweep
