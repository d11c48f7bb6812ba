// SPDX-License-Identifier: Apache-2.0
// Random regular graphs of switches, as in Jellyfish. Pure.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "mad/wire/port_info.h"
#include "sim/generate/fabric_builder.h"
#include "sim/generate/parameters.h"

namespace fabricd::sim {

// Switches, "switch1" and on, each cabled to `degree` others by chance: connected, no two cables
// between the same pair. Ports: hosts, then cables by the number of the other switch.
struct RandomSpec {
  int switches = 16;
  int degree = 4;  // Below `switches`; one of the two is even. 1: for two switches only.
  int hosts = 1;   // Of each switch.
  int radix = 0;   // Switch ports. 0: as many as are in use.
  uint64_t seed = 1;
  wire::LinkSpeed speed = wire::LinkSpeed::kNdr;
};

// Bound to the fields of `spec`.
std::vector<Parameter> RandomParameters(RandomSpec& spec);
// kInvalidArgument names the parameter that does not fit and what would.
SnapshotOr GenerateRandom(const RandomSpec& spec);

}  // namespace fabricd::sim
