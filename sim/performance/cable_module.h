// SPDX-License-Identifier: Apache-2.0
// What is plugged into the ports of a simulated fabric, as PDDR shows it. It follows from the two
// ends of the cable alone, so the same topology has the same cables, with the same serial numbers,
// in every run. Pure.
#pragma once

#include <cstdint>

#include "common/ids.h"
#include "mad/wire/port_info.h"
#include "mad/wire/registers.h"

namespace fabricd::sim {

struct CableEnd {
  Guid node;
  PortNum port;
  bool is_switch = false;
};

// The module at `own`, of a cable to `peer` made for links of `speed`: passive copper up to 3 m, an
// active cable up to 30 m, else an optical module. A cable has one serial number, optical modules
// each their own. Passive copper has no temperature. Optical powers are left 0.
wire::PddrModule ModuleOf(const CableEnd& own, const CableEnd& peer, wire::LinkSpeed speed);

// The FEC of an active link at `speed` over such a module: what PDDR's page 0 shows.
wire::PddrFecMode FecOf(const wire::PddrModule& module, wire::LinkSpeed speed);

// A temperature as PDDR shows it.
constexpr int16_t ModuleDegrees(int celsius) { return static_cast<int16_t>(celsius * 256); }

}  // namespace fabricd::sim
