// SPDX-License-Identifier: Apache-2.0
#include "routing/plan/multicast_plan.h"

#include <algorithm>

#include "fabric/multicast_groups.h"

namespace fabricd::routing {

const MulticastBlock& MulticastRow::At(MulticastPlace place) const {
  static constexpr MulticastBlock kEmpty{};
  const auto it = std::lower_bound(
      blocks.begin(), blocks.end(), place,
      [](const Entry& entry, const MulticastPlace& wanted) { return entry.first < wanted; });
  return it != blocks.end() && it->first == place ? *it->second : kEmpty;
}

std::vector<PortNum> MulticastRow::PortsOf(Lid mlid) const {
  const unsigned entry = unsigned{mlid.value()} - fabric::kFirstMulticastLid.value();
  std::vector<PortNum> ports;
  for (uint8_t position = 0; position < 16; ++position) {
    const uint16_t mask = At({static_cast<uint16_t>(entry / 32), position})[entry % 32];
    for (unsigned bit = 0; bit < 16; ++bit)
      if (mask >> bit & 1) ports.emplace_back(static_cast<uint8_t>(position * 16 + bit));
  }
  return ports;
}

const char* UnservedName(Unserved reason) {
  switch (reason) {
    case Unserved::kAbsent: return "no such end port is reached";
    case Unserved::kTooSlow: return "its link carries less than the group's MTU or rate";
    case Unserved::kCutOff: return "no links that carry the group's MTU and rate lead to it";
    case Unserved::kNoOrder: return "no tree to it is free of deadlock with the other routes";
    case Unserved::kTableFull: return "the multicast table of its switch does not hold the MLID";
  }
  return "unknown";
}

}  // namespace fabricd::routing
