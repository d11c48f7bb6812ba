// SPDX-License-Identifier: Apache-2.0
// PathRecord (IBA vol 1 §15.2.5.16), MultiPathRecord (§15.2.5.20) and TraceRecord (§15.2.5.18).
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "common/gid.h"
#include "mad/wire/sa_header.h"

namespace fabricd::wire {

// How the value behind it is meant, in requests. In answers 2, "exactly".
enum class Selector : uint8_t { kGreater = 0, kLess = 1, kExactly = 2, kLargest = 3 };

// What both kinds of path records ask of a path, or say of it.
struct PathTerms {
  bool raw_traffic = false;
  uint32_t flow_label = 0;  // 20 bits
  uint8_t hop_limit = 0;
  uint8_t traffic_class = 0;
  bool reversible = false;
  uint8_t numb_path = 0;  // 7 bits
  PKey p_key;
  uint16_t qos_class = 0;  // 12 bits
  ServiceLevel sl;
  Selector mtu_selector{};
  uint8_t mtu = 0;  // 6 bits: 1 = 256 … 5 = 4096 bytes
  Selector rate_selector{};
  uint8_t rate = 0;  // 6 bits, the codes of fabric/rate.h
  Selector life_time_selector{};
  uint8_t packet_life_time = 0;  // 6 bits: 4.096 us * 2^n
  friend bool operator==(const PathTerms&, const PathTerms&) = default;
};

struct PathRecord : PathTerms {
  static constexpr SaAttribute kAttribute = SaAttribute::kPathRecord;
  static constexpr size_t kBytes = 64;
  uint64_t service_id = 0;
  Gid dgid, sgid;
  Lid dlid, slid;
  uint8_t preference = 0;  // 0: the best of those to the same place.

  static PathRecord Decode(std::span<const uint8_t, kBytes> bytes);
  void Encode(std::span<uint8_t, kBytes> bytes) const;
  friend bool operator==(const PathRecord&, const PathRecord&) = default;
};

// Without the GIDs behind it: first SGIDCount sources, then DGIDCount destinations, 16 bytes each.
struct MultiPathRecord : PathTerms {
  static constexpr SaAttribute kAttribute = SaAttribute::kMultiPathRecord;
  static constexpr size_t kBytes = 24;
  uint8_t service_id_high = 0;  // ServiceID8MSB
  uint8_t independence = 0;     // 2 bits
  uint8_t sgid_count = 0;
  uint8_t dgid_count = 0;
  uint64_t service_id_low = 0;  // ServiceID56LSB

  static MultiPathRecord Decode(std::span<const uint8_t, kBytes> bytes);
  void Encode(std::span<uint8_t, kBytes> bytes) const;
  friend bool operator==(const MultiPathRecord&, const MultiPathRecord&) = default;
};

// Big-endian, as the GIDs behind a MultiPathRecord.
Gid DecodeGid(std::span<const uint8_t, 16> bytes);
void EncodeGid(const Gid& gid, std::span<uint8_t, 16> bytes);

// One node on the way of a path.
struct TraceRecord {
  static constexpr SaAttribute kAttribute = SaAttribute::kTraceRecord;
  static constexpr size_t kBytes = 48;
  uint64_t gid_prefix = 0;
  uint16_t id_generation = 0;
  uint8_t node_type = 0;
  uint64_t node_id = 0;
  uint64_t chassis_id = 0;
  uint64_t entry_port_id = 0;
  uint64_t exit_port_id = 0;
  PortNum entry_port, exit_port;

  static TraceRecord Decode(std::span<const uint8_t, kBytes> bytes);
  void Encode(std::span<uint8_t, kBytes> bytes) const;
  friend bool operator==(const TraceRecord&, const TraceRecord&) = default;
};

}  // namespace fabricd::wire
