// SPDX-License-Identifier: Apache-2.0
// Notice (IBA vol 1 §13.4.8.2) and the traps of the subnet management class (§14.2.5.1).
#pragma once

#include <array>

#include "mad/wire/mad_header.h"

namespace fabricd::wire {

inline constexpr uint16_t kTrapLinkStateChange = 128;
inline constexpr uint16_t kTrapLocalLinkIntegrity = 129;
inline constexpr uint16_t kTrapExcessiveBufferOverrun = 130;
inline constexpr uint16_t kTrapFlowControlWatchdog = 131;
inline constexpr uint16_t kTrapCapabilityMaskChanged = 144;
inline constexpr uint16_t kTrapSystemImageGuidChanged = 145;
inline constexpr uint16_t kTrapBadMKey = 256;
inline constexpr uint16_t kTrapBadPKey = 257;
inline constexpr uint16_t kTrapBadQKey = 258;
inline constexpr uint16_t kTrapSwitchBadPKey = 259;

struct Notice {
  static constexpr AttributeId kAttribute = AttributeId::kNotice;
  bool generic = true;
  uint8_t type = 0;       // 0 fatal, 1 urgent, 2 security, 3 subnet management, 4 informational
  uint32_t producer = 0;  // 24 bits; generic: a NodeType
  uint16_t trap = 0;
  Lid issuer_lid;
  bool toggle = false;
  uint16_t count = 0;  // 15 bits
  std::array<uint8_t, 54> details{};

  // The LID that a generic trap 128-131, 144 or 145 is about, 0 for others (details bytes 0-1 of
  // 128, 2-3 of the rest; see the tables of §14.2.5.1).
  Lid subject_lid() const;
  // A trap 144 that tells of another priority of the SM at this port (table of trap 144:
  // OtherLocalChanges, SMPriorityChange).
  bool changes_sm_priority() const;
  // That trap, of the SM at a CA's port that has this LID and these CapabilityMasks.
  static Notice OfSmPriority(Lid lid, uint32_t capability_mask, uint16_t capability_mask2);
  PortNum subject_port() const;  // Traps 129-131, else 0.

  static Notice Decode(std::span<const uint8_t, kSmpDataBytes> data);
  void Encode(std::span<uint8_t, kSmpDataBytes> data) const;
  friend bool operator==(const Notice&, const Notice&) = default;
};

}  // namespace fabricd::wire
