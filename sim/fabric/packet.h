// SPDX-License-Identifier: Apache-2.0
// Packet: one MAD under way in a simulated fabric, or a packet between adapters outside of it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "common/ids.h"
#include "sim/fabric/mad_bytes.h"

namespace fabricd::sim {

// A packet that has crossed more links is lost.
inline constexpr int kMaxPacketHops = 64;
// Of one multicast packet that arrive by the same port, so that a loop in the tables ends and a
// second copy still shows.
inline constexpr int kMaxCopiesPerPort = 2;

inline bool IsMulticast(Lid lid) { return lid > kMaxUnicastLid && lid != kPermissiveLid; }

// Its first hops need only the raw bytes: forwarding nodes look at no more.
struct Packet {
  std::vector<uint8_t> bytes;
  PortRef from;        // The port it was sent from.
  PortRef at;          // The port it arrives by; at its origin the sender's port.
  bool origin = true;  // It has not left its sender yet.
  bool directed = false;
  bool solicited = false;  // The BTH's solicited event.
  // Of an adapter outside of the simulator (OutsidePorts) and no MAD for its agents: not looked at.
  bool opaque = false;
  bool served = false;       // The queue of SMPs of the switch where it is has let it pass.
  bool deferred = false;     // It has reached an agent that answers late,
  uint32_t power_cycle = 0;  // and is lost when that loses power.
  Lid slid = kPermissiveLid, dlid = kPermissiveLid;
  uint32_t source_qpn = 1, qpn = 1;  // GMPs only, and qkey.
  uint32_t qkey = 0;
  ServiceLevel sl;
  PKey pkey;                           // Data (QP1) only: of the sender's table.
  uint16_t pkey_index = 0;             // In the table of its receiver.
  uint32_t segments = 0;               // 0: not under RMPP.
  uint32_t retries = 0;                // Of each segment.
  uint64_t unacknowledged = 0;         // Its id in RmppModel; 0: no acknowledgement is due.
  std::vector<uint8_t> global_header;  // The GRH; empty: none.
  int hops = 0;
  // Multicast: arrivals at each port of a switch, shared by the copies of a packet.
  std::shared_ptr<absl::flat_hash_map<PortRef, int>> copies;
  uint8_t management_class() const { return bytes[kMadClassAt]; }
  uint8_t method() const { return bytes[kMadMethodAt]; }
  // Of class 0x04 or 0x0A: a GMP about counters.
  bool IsOfTelemetry() const {
    return !directed && !opaque && (management_class() == 0x04 || management_class() == 0x0A);
  }
  // A request that the device itself serves, not a program (PerformanceAgent).
  bool IsForPerformanceAgent() const { return IsOfTelemetry() && (method() & 0x80) == 0; }
  bool IsSmp() const { return directed || (!opaque && management_class() == 0x01); }
  bool IsMulticast() const { return !directed && sim::IsMulticast(dlid); }
};

}  // namespace fabricd::sim
