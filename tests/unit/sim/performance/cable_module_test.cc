// SPDX-License-Identifier: Apache-2.0
#include "sim/performance/cable_module.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace fabricd::sim {
namespace {

using wire::LinkSpeed;
using wire::PddrModule;

CableEnd SwitchEnd(uint64_t guid, uint8_t port) { return {Guid(guid), PortNum(port), true}; }

TEST(CableModuleTest, BothEndsOfACableReportTheSameModule) {
  std::set<std::string> serials;
  for (uint8_t port = 1; port <= 64; ++port) {
    const CableEnd host{Guid(0x100), PortNum(1), false};
    const PddrModule module = ModuleOf(host, SwitchEnd(0x200, port), LinkSpeed::kNdr);
    const PddrModule peer = ModuleOf(SwitchEnd(0x200, port), host, LinkSpeed::kNdr);
    EXPECT_EQ(module.serial_number, peer.serial_number);
    EXPECT_EQ(module.part_number, peer.part_number);
    EXPECT_EQ(module.length_metres(), peer.length_metres());
    serials.insert(module.serial_number);
  }
  EXPECT_EQ(serials.size(), 64u);
}

TEST(CableModuleTest, TheLengthDecidesTheTypeOfCable) {
  std::set<PddrModule::CableType> types;
  for (uint8_t port = 1; port <= 64; ++port) {
    for (LinkSpeed speed : {LinkSpeed::kHdr, LinkSpeed::kNdr}) {
      const PddrModule module = ModuleOf(SwitchEnd(0x1, port), SwitchEnd(0x2, port), speed);
      const PddrModule host =
          ModuleOf({Guid(0x3), PortNum(port), false}, SwitchEnd(0x2, port), speed);
      for (const PddrModule& each : {module, host}) {
        const double metres = each.length_metres().value();
        const bool copper = each.cable_type == PddrModule::CableType::kPassiveCopper;
        EXPECT_EQ(copper, metres <= 3);
        EXPECT_EQ(each.cable_type == PddrModule::CableType::kOpticalModule, metres > 30);
        EXPECT_EQ(each.temperature_celsius().has_value(), !copper);
        EXPECT_EQ(each.HasTemperatureAlarms(), !copper);
        EXPECT_TRUE(each.max_power_watts());
        EXPECT_LE(each.part_number.size(), PddrModule::kTextBytes);
        EXPECT_LE(each.serial_number.size(), PddrModule::kTextBytes);
        EXPECT_EQ(each.IsCmis(), speed == LinkSpeed::kNdr);
        types.insert(each.cable_type);
      }
    }
  }
  EXPECT_EQ(types.size(), 3u);
}

TEST(CableModuleTest, OpticalModulesHaveSerialNumbersOfTheirOwn) {
  for (uint8_t port = 1; port <= 64; ++port) {
    const PddrModule a = ModuleOf(SwitchEnd(1, port), SwitchEnd(2, port), LinkSpeed::kNdr);
    const PddrModule b = ModuleOf(SwitchEnd(2, port), SwitchEnd(1, port), LinkSpeed::kNdr);
    EXPECT_EQ(a.serial_number == b.serial_number,
              a.cable_type != PddrModule::CableType::kOpticalModule);
  }
}

TEST(CableModuleTest, FecFollowsSpeedAndReach) {
  PddrModule module;
  module.identifier = PddrModule::Identifier::kOsfp;
  module.length = 1 << 6 | 30;
  EXPECT_EQ(FecOf(module, LinkSpeed::kNdr), wire::PddrFecMode::kLowLatencyRs271Plr);
  EXPECT_EQ(FecOf(module, LinkSpeed::kQdr), wire::PddrFecMode::kNone);
  module.length = 2 << 6 | 15;
  EXPECT_EQ(FecOf(module, LinkSpeed::kNdr), wire::PddrFecMode::kInterleavedRs544Plr);
}

}  // namespace
}  // namespace fabricd::sim
