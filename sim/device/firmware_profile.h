// SPDX-License-Identifier: Apache-2.0
// Named firmware profiles: how whole families of devices may behave, as Quirks. They give breadth.
// docs/HARDWARE.md ("Firmware profiles") says which parts are documented behaviour and which are
// guesses. None was ever compared with a device.
#pragma once

#include <span>
#include <string_view>

#include "common/rng.h"
#include "sim/device/quirks.h"

namespace fabricd::sim {

struct FirmwareProfile {
  std::string_view name;
  enum class Of : uint8_t { kSwitches, kAdapters };
  Of of;
  Quirks quirks;
};

// quantum2, switchib_edr, old_qdr; cx7, cx6, bf3, sharp_an.
std::span<const FirmwareProfile> FirmwareProfiles();
// Null: there is none of this name.
const FirmwareProfile* FindFirmwareProfile(std::string_view name);
// One of those that fit, by chance.
const FirmwareProfile& DrawFirmwareProfile(bool is_switch, Rng& rng);

}  // namespace fabricd::sim
