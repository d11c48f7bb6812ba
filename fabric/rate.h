// SPDX-License-Identifier: Apache-2.0
// Rates as PathRecord and MCMemberRecord encode them (IBA vol 1 §15.2.5.16, with the codes of later
// speeds). The codes are not in the order of what they mean; ranks are.
#pragma once

#include <cstdint>

#include "mad/wire/port_info.h"

namespace fabricd::fabric {

// 1 = 2.5 Gb/s … kTopRate = 1600 Gb/s. 0: not a rate.
using RateRank = uint8_t;
inline constexpr RateRank kTopRate = 24;

RateRank RankOfRate(uint8_t code);
uint8_t CodeOfRate(RateRank rank);
// 0: not a rate.
double GbpsOfRate(uint8_t code);
// The highest rate with a code that the link reaches; 2.5 Gb/s where speed or width is not known.
RateRank RateOfLink(wire::LinkSpeed speed, int physical_lanes);

}  // namespace fabricd::fabric
