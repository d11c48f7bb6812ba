// SPDX-License-Identifier: Apache-2.0
#include "sim/device/firmware_profile.h"

#include <algorithm>
#include <vector>

namespace fabricd::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using wire::AttributeId;
using Of = FirmwareProfile::Of;

std::vector<FirmwareProfile> Make() {
  constexpr uint16_t kUnsupported = wire::kStatusUnsupportedMethodAttribute;
  std::vector<FirmwareProfile> profiles;
  profiles.push_back({"quantum2",
                      Of::kSwitches,
                      {.hides_extended_speeds = true,
                       .volatile_reserved = true,
                       .stale_state_table = milliseconds(30),
                       .vl15_queue = 128,
                       .vl15_service = microseconds(5)}});
  profiles.push_back({"switchib_edr",
                      Of::kSwitches,
                      {.ignored = {.operational_vls = true},
                       .hides_extended_speeds = true,
                       .answers_with_old_state = true,
                       .vl15_queue = 64,
                       .vl15_service = microseconds(20)}});
  profiles.push_back({"old_qdr",
                      Of::kSwitches,
                      {.answer_delay = microseconds(300),
                       .refused_gets = {{AttributeId::kSwitchPortStateTable, kUnsupported},
                                        {AttributeId::kPortInfoExtended, kUnsupported}},
                       .ignored = {.partition_enforcement = true, .vl_stall_count = true},
                       .vl15_queue = 32,
                       .vl15_service = microseconds(50)}});
  profiles.push_back({"cx7", Of::kAdapters, {.hides_extended_speeds = true}});
  profiles.push_back(
      {"cx6", Of::kAdapters, {.hides_extended_speeds = true, .answers_with_old_state = true}});
  profiles.push_back({"bf3",
                      Of::kAdapters,
                      {.answer_delay = milliseconds(3),
                       .hides_extended_speeds = true,
                       .volatile_reserved = true}});
  profiles.push_back({"sharp_an",
                      Of::kAdapters,
                      {.answer_delay = milliseconds(1),
                       .refused_gets = {{AttributeId::kGuidInfo, kUnsupported}},
                       .ignored = {.subnet_timeout = true, .error_thresholds = true},
                       .hides_extended_speeds = true}});
  return profiles;
}

}  // namespace

std::span<const FirmwareProfile> FirmwareProfiles() {
  static const std::vector<FirmwareProfile> kProfiles = Make();
  return kProfiles;
}

const FirmwareProfile* FindFirmwareProfile(std::string_view name) {
  for (const FirmwareProfile& profile : FirmwareProfiles())
    if (profile.name == name) return &profile;
  return nullptr;
}

const FirmwareProfile& DrawFirmwareProfile(bool is_switch, Rng& rng) {
  std::vector<const FirmwareProfile*> fitting;
  for (const FirmwareProfile& profile : FirmwareProfiles())
    if ((profile.of == Of::kSwitches) == is_switch) fitting.push_back(&profile);
  return *fitting[rng.Below(fitting.size())];
}

}  // namespace fabricd::sim
