// SPDX-License-Identifier: Apache-2.0
// SimStats: what a simulated fabric counts.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "mad/wire/smp.h"

namespace fabricd::sim {

// Counted at the devices, so a test need not believe the sender.
struct SimStats {
  struct Attribute {
    uint64_t gets = 0, sets = 0;
    uint64_t idle_sets = 0;  // Sets that changed nothing.
    uint64_t refused = 0;    // Answered with a status other than 0.
  };
  std::map<wire::AttributeId, Attribute> smps;  // Those that reached a device's agent.
  Attribute Of(wire::AttributeId attribute) const {
    const auto found = smps.find(attribute);
    return found == smps.end() ? Attribute() : found->second;
  }
  // GMPs of classes 0x04 and 0x0A that reached a device's agent, by class and AttributeID.
  std::map<std::pair<uint8_t, uint16_t>, Attribute> gmps;
  uint64_t gmps_dropped = 0;     // Of those, the ones without a response.
  uint64_t lost_by_fault = 0;    // MadFaults::loss and the links' own loss.
  uint64_t duplicated = 0;       // Second copies made by MadFaults::duplicate.
  uint64_t lost_link_down = 0;   // Directed-route: no link, or not up, at an egress port.
  uint64_t lost_bad_route = 0;   // Directed-route: hop pointer, count or port make no sense.
  uint64_t lost_no_lft = 0;      // LID-routed: no table entry.
  uint64_t lost_not_active = 0;  // LID-routed: the egress port's state does not carry it.
  uint64_t lost_wrong_lid = 0;   // LID-routed: arrived at a port that does not own the DLID.
  uint64_t lost_loop = 0;        // LID-routed: more than kMaxHops hops.
  uint64_t lost_no_mft = 0;      // Multicast: at a switch that has no port for it.
  uint64_t lost_p_key = 0;       // At a switch or its receiver, or the sender has no such key.
  uint64_t lost_m_key = 0;
  uint64_t lost_unresponsive = 0;  // At such an agent, or a switch that forwards no SMPs.
  uint64_t lost_vl15_queue = 0;    // At a switch whose queue of SMPs was full.
  uint64_t lost_nobody = 0;        // No program for it at its destination.
  uint64_t unmatched_responses =
      0;  // Responses that no waiting request matched (late, duplicate, wrong id).
  uint64_t timed_out = 0;
  uint64_t rmpp_segments = 0;   // Sent; a payload under RMPP has one at least.
  uint64_t unacknowledged = 0;  // Payloads reported because a segment was lost.
  uint64_t traps_sent = 0;

  uint64_t sets() const;
  uint64_t gets() const;
};

}  // namespace fabricd::sim
