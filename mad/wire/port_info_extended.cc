// SPDX-License-Identifier: Apache-2.0
#include "mad/wire/port_info_extended.h"

#include <algorithm>

#include "mad/wire/bytes.h"

namespace fabricd::wire {

namespace {

constexpr size_t kEndOfFields = 22;

}  // namespace

PortInfoExtended PortInfoExtended::Decode(std::span<const uint8_t, kSmpDataBytes> data) {
  const uint8_t* at = data.data();
  PortInfoExtended info;
  info.cap_mask = Load32(at);
  info.fec_mode_active = static_cast<FecMode>(Load16(at + 4));
  info.fdr_fec_mode_supported = Load16(at + 6);
  info.fdr_fec_mode_enabled = Load16(at + 8);
  info.edr_fec_mode_supported = Load16(at + 10);
  info.edr_fec_mode_enabled = Load16(at + 12);
  info.hdr_fec_mode_supported = Load16(at + 14);
  info.hdr_fec_mode_enabled = Load16(at + 16);
  info.ndr_fec_mode_supported = Load16(at + 18);
  info.ndr_fec_mode_enabled = Load16(at + 20);
  std::copy(data.begin() + kEndOfFields, data.end(), info.reserved.begin() + kEndOfFields);
  return info;
}

void PortInfoExtended::Encode(std::span<uint8_t, kSmpDataBytes> data) const {
  uint8_t* at = data.data();
  Store32(at, cap_mask);
  Store16(at + 4, static_cast<uint16_t>(fec_mode_active));
  Store16(at + 6, fdr_fec_mode_supported);
  Store16(at + 8, fdr_fec_mode_enabled);
  Store16(at + 10, edr_fec_mode_supported);
  Store16(at + 12, edr_fec_mode_enabled);
  Store16(at + 14, hdr_fec_mode_supported);
  Store16(at + 16, hdr_fec_mode_enabled);
  Store16(at + 18, ndr_fec_mode_supported);
  Store16(at + 20, ndr_fec_mode_enabled);
  std::copy(reserved.begin() + kEndOfFields, reserved.end(), data.begin() + kEndOfFields);
}

std::string_view FecModeName(FecMode mode) {
  switch (mode) {
    case FecMode::kNone: return "none";
    case FecMode::kFireCode: return "FireCode";
    case FecMode::kRs: return "RS";
    case FecMode::kLowLatencyRs: return "LowLatencyRS";
    case FecMode::kRs2: return "RS2";
  }
  return "unknown";
}

}  // namespace fabricd::wire
