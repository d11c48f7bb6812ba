// SPDX-License-Identifier: Apache-2.0
// Hypercubes. Pure.
#pragma once

#include <vector>

#include "mad/wire/port_info.h"
#include "sim/generate/fabric_builder.h"
#include "sim/generate/parameters.h"

namespace fabricd::sim {

// 2^dimensions switches, "switch0" and on, of which two are cabled where their numbers differ in
// one bit. Ports: hosts, then the cable of each bit, from the lowest.
struct HypercubeSpec {
  int dimensions = 4;  // From 1 to 16.
  int hosts = 1;       // Of each switch.
  int radix = 0;       // Switch ports. 0: as many as are in use.
  wire::LinkSpeed speed = wire::LinkSpeed::kNdr;
};

// Bound to the fields of `spec`.
std::vector<Parameter> HypercubeParameters(HypercubeSpec& spec);
// kInvalidArgument names the parameter that does not fit and what would.
SnapshotOr GenerateHypercube(const HypercubeSpec& spec);

}  // namespace fabricd::sim
