// SPDX-License-Identifier: Apache-2.0
// A picture of a fabric. Pure; equal fabrics give equal pictures.
#pragma once

#include <string>

#include "cli/render/topology_model.h"

namespace fabricd::cli {

// SVG: units of hosts at the bottom, each a box of its hosts, their leaves above by rail, then tier
// by tier. One line for all cables between two things, thicker for more of them, grey or in the
// colour of its rail; orange where a cable is not as it should be, red where none is. Pointing at
// something tells its name and what is wrong. Names are written where there is room.
std::string ToSvg(const TopologyModel& model);

}  // namespace fabricd::cli
