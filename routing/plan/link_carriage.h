// SPDX-License-Identifier: Apache-2.0
// What a link carries, as far as multicast has to know.
#pragma once

#include <algorithm>
#include <cstdint>

#include "fabric/rate.h"
#include "fabric/snapshot.h"

namespace fabricd::routing {

struct LinkCarriage {
  uint8_t mtu = 0;  // 1 = 256 … 5 = 4096 bytes
  fabric::RateRank rate = 0;
};

// By what this end says. A link that carries data has its MTU; one that comes up will get the most
// that both ends allow.
inline LinkCarriage CarriageOfEnd(const fabric::Port& port) {
  const bool is_set = port.info.port_state >= wire::PortState::kArmed && port.info.neighbor_mtu;
  return {is_set ? port.info.neighbor_mtu : port.info.mtu_cap,
          fabric::RateOfLink(port.Speed(), wire::ActiveWidth(port.info))};
}

inline LinkCarriage CarriageOf(const fabric::Port& end, const fabric::Port& other) {
  const LinkCarriage a = CarriageOfEnd(end), b = CarriageOfEnd(other);
  return {std::min(a.mtu, b.mtu), std::min(a.rate, b.rate)};
}

}  // namespace fabricd::routing
