// SPDX-License-Identifier: Apache-2.0
// Tori of two or three dimensions. Pure.
#pragma once

#include <vector>

#include "mad/wire/port_info.h"
#include "sim/generate/fabric_builder.h"
#include "sim/generate/parameters.h"

namespace fabricd::sim {

// A grid of switches, "switch-X-Y" or "switch-X-Y-Z" from 0, that wraps around in each dimension:
// every switch is cabled to the one before and the one after it. In a dimension of size 2 these are
// one switch, and one cable. Ports: hosts, then of each dimension the cables up and down.
struct TorusSpec {
  std::vector<int> dims = {4, 4};  // 2 or 3 sizes, each from 2 to 255.
  int hosts = 1;                   // Of each switch.
  int parallel = 1;                // Cables between each pair of adjacent switches.
  int radix = 0;                   // Switch ports. 0: as many as are in use.
  wire::LinkSpeed speed = wire::LinkSpeed::kNdr;
};

// Bound to the fields of `spec`.
std::vector<Parameter> TorusParameters(TorusSpec& spec);
// kInvalidArgument names the parameter that does not fit and what would.
SnapshotOr GenerateTorus(const TorusSpec& spec);

}  // namespace fabricd::sim
