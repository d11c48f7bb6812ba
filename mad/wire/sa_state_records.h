// SPDX-License-Identifier: Apache-2.0
// What clients leave with Subnet Administration: ServiceRecord (IBA vol 1 §15.2.5.14),
// MCMemberRecord (§15.2.5.17), InformInfo (§13.4.8.3) and InformInfoRecord (§15.2.5.12).
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "common/gid.h"
#include "mad/wire/sa_header.h"
#include "mad/wire/sa_path_records.h"

namespace fabricd::wire {

struct ServiceRecord {
  static constexpr SaAttribute kAttribute = SaAttribute::kServiceRecord;
  static constexpr size_t kBytes = 176;
  uint64_t service_id = 0;
  Gid service_gid;
  PKey p_key;
  uint32_t lease = 0;  // seconds; 0xFFFFFFFF: for ever
  std::array<uint8_t, 16> key{};
  std::array<uint8_t, 64> name{};  // UTF-8, ends with 0.
  std::array<uint8_t, 16> data8{};
  std::array<uint16_t, 8> data16{};
  std::array<uint32_t, 4> data32{};
  std::array<uint64_t, 2> data64{};

  static ServiceRecord Decode(std::span<const uint8_t, kBytes> bytes);
  void Encode(std::span<uint8_t, kBytes> bytes) const;
  friend bool operator==(const ServiceRecord&, const ServiceRecord&) = default;
};

struct McMemberRecord {
  static constexpr SaAttribute kAttribute = SaAttribute::kMcMemberRecord;
  static constexpr size_t kBytes = 56;
  Gid mgid, port_gid;
  uint32_t q_key = 0;
  Lid mlid;
  Selector mtu_selector{};
  uint8_t mtu = 0;  // 6 bits
  uint8_t traffic_class = 0;
  PKey p_key;
  Selector rate_selector{};
  uint8_t rate = 0;  // 6 bits
  Selector life_time_selector{};
  uint8_t packet_life_time = 0;  // 6 bits
  ServiceLevel sl;
  uint32_t flow_label = 0;  // 20 bits
  uint8_t hop_limit = 0;
  uint8_t scope = 0;       // 4 bits
  uint8_t join_state = 0;  // 4 bits: full 1, non 2, send-only non 4, send-only full 8
  bool proxy_join = false;

  static McMemberRecord Decode(std::span<const uint8_t, kBytes> bytes);
  void Encode(std::span<uint8_t, kBytes> bytes) const;
  friend bool operator==(const McMemberRecord&, const McMemberRecord&) = default;
};

struct InformInfo {
  static constexpr SaAttribute kAttribute = SaAttribute::kInformInfo;
  static constexpr size_t kBytes = 40;  // 36 of them used
  Gid gid;
  Lid lid_range_begin, lid_range_end;
  uint8_t is_generic = 0;
  uint8_t subscribe = 0;
  uint16_t type = 0;
  uint16_t trap_number = 0;  // Or DeviceID.
  uint32_t qpn = 0;          // 24 bits
  uint8_t resp_time_value = 0;
  uint32_t producer_type = 0;  // 24 bits. Or VendorID.

  static InformInfo Decode(std::span<const uint8_t, kBytes> bytes);
  void Encode(std::span<uint8_t, kBytes> bytes) const;
  friend bool operator==(const InformInfo&, const InformInfo&) = default;
};

struct InformInfoRecord {
  static constexpr SaAttribute kAttribute = SaAttribute::kInformInfoRecord;
  static constexpr size_t kBytes = 64;
  Gid subscriber_gid;
  uint16_t number = 0;  // "Enum" of the specification.
  InformInfo info;

  static InformInfoRecord Decode(std::span<const uint8_t, kBytes> bytes);
  void Encode(std::span<uint8_t, kBytes> bytes) const;
  friend bool operator==(const InformInfoRecord&, const InformInfoRecord&) = default;
};

}  // namespace fabricd::wire
