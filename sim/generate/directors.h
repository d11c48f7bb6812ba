// SPDX-License-Identifier: Apache-2.0
// Trees of director switches: chassis that are two-level trees inside, used as the leaves and the
// spines of a larger tree. Pure.
#pragma once

#include <vector>

#include "mad/wire/port_info.h"
#include "sim/generate/fabric_builder.h"
#include "sim/generate/parameters.h"

namespace fabricd::sim {

// A director has radix / 2 line chips and radix / 4 inner chips, with two cables from each of the
// former to each of the latter, and so radix^2 / 4 ports outside. Half of those of a leaf director
// take hosts, as many on each line chip; the others go to the spine directors in turn, by line chip
// in turn there too. Chips are "leaf1-line1", "leaf1-inner1", "spine1-line1", …
struct DirectorsSpec {
  int radix = 8;   // Ports of each chip, a multiple of 4.
  int leaves = 4;  // Leaf directors,
  int spines = 2;  // and spine directors.
  wire::LinkSpeed speed = wire::LinkSpeed::kNdr;
};

// Bound to the fields of `spec`.
std::vector<Parameter> DirectorsParameters(DirectorsSpec& spec);
// kInvalidArgument names the parameter that does not fit and what would.
SnapshotOr GenerateDirectors(const DirectorsSpec& spec);

}  // namespace fabricd::sim
