// SPDX-License-Identifier: Apache-2.0
// PortInfoExtended (IBA vol 1 §14.2.5.19): the forward error correction of a port. Present where
// CapabilityMask2.IsPortInfoExtendedSupported is set. AttributeModifier: the port.
#pragma once

#include "mad/wire/mad_header.h"

namespace fabricd::wire {

// Bit of PortInfoExtended.CapMask.
inline constexpr uint32_t kExtCapIsFecModeSupported = 1u << 0;

// Codes of FECModeActive.
enum class FecMode : uint16_t { kNone = 0, kFireCode = 1, kRs = 2, kLowLatencyRs = 3, kRs2 = 4 };

// The *_supported and *_enabled fields are masks of the modes that each speed can and may run with.
struct PortInfoExtended {
  static constexpr AttributeId kAttribute = AttributeId::kPortInfoExtended;
  uint32_t cap_mask = 0;
  FecMode fec_mode_active = FecMode::kNone;  // Unknown codes survive as their number.
  uint16_t fdr_fec_mode_supported = 0;
  uint16_t fdr_fec_mode_enabled = 0;
  uint16_t edr_fec_mode_supported = 0;
  uint16_t edr_fec_mode_enabled = 0;
  uint16_t hdr_fec_mode_supported = 0;
  uint16_t hdr_fec_mode_enabled = 0;
  uint16_t ndr_fec_mode_supported = 0;
  uint16_t ndr_fec_mode_enabled = 0;
  // Bytes of the 64 that no field above names, in place, so that a Set returns them as read.
  SmpData reserved{};

  static PortInfoExtended Decode(std::span<const uint8_t, kSmpDataBytes> data);
  void Encode(std::span<uint8_t, kSmpDataBytes> data) const;
  friend bool operator==(const PortInfoExtended&, const PortInfoExtended&) = default;
};

std::string_view FecModeName(FecMode mode);  // "RS", or "unknown"

}  // namespace fabricd::wire
