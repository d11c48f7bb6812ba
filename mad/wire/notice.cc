// SPDX-License-Identifier: Apache-2.0
#include "mad/wire/notice.h"

#include <algorithm>

#include "mad/wire/bytes.h"

namespace fabricd::wire {

namespace {

constexpr size_t kDetailsAt = 10;
// Of trap 144's details.
constexpr size_t kLidAt = 2, kOtherChangesAt = 5, kCapabilityAt = 6, kChangeFlagsAt = 10,
                 kCapability2At = 12;
constexpr uint8_t kOtherLocalChanges = 1;
constexpr uint16_t kSmPriorityChange = 1 << 3;
constexpr uint8_t kInformational = 4;
constexpr uint32_t kOfCa = 1;

bool IsPortThresholdTrap(uint16_t trap) {
  return trap >= kTrapLocalLinkIntegrity && trap <= kTrapFlowControlWatchdog;
}

}  // namespace

Lid Notice::subject_lid() const {
  if (!generic) return Lid();
  if (trap == kTrapLinkStateChange) return Lid(Load16(details.data()));
  if (IsPortThresholdTrap(trap) || trap == kTrapCapabilityMaskChanged ||
      trap == kTrapSystemImageGuidChanged) {
    return Lid(Load16(details.data() + 2));
  }
  return Lid();
}

bool Notice::changes_sm_priority() const {
  return generic && trap == kTrapCapabilityMaskChanged &&
         (details[kOtherChangesAt] & kOtherLocalChanges) != 0 &&
         (Load16(details.data() + kChangeFlagsAt) & kSmPriorityChange) != 0;
}

Notice Notice::OfSmPriority(Lid lid, uint32_t capability_mask, uint16_t capability_mask2) {
  Notice notice;
  notice.type = kInformational;
  notice.producer = kOfCa;
  notice.trap = kTrapCapabilityMaskChanged;
  notice.issuer_lid = lid;
  Store16(notice.details.data() + kLidAt, lid.value());
  notice.details[kOtherChangesAt] = kOtherLocalChanges;
  Store32(notice.details.data() + kCapabilityAt, capability_mask);
  Store16(notice.details.data() + kChangeFlagsAt, kSmPriorityChange);
  Store16(notice.details.data() + kCapability2At, capability_mask2);
  return notice;
}

PortNum Notice::subject_port() const {
  return generic && IsPortThresholdTrap(trap) ? PortNum(details[4]) : PortNum();
}

Notice Notice::Decode(std::span<const uint8_t, kSmpDataBytes> data) {
  const uint8_t* at = data.data();
  Notice notice;
  notice.generic = Bits(at[0], 7, 1) != 0;
  notice.type = Bits(at[0], 0, 7);
  notice.producer = Load24(at + 1);
  notice.trap = Load16(at + 4);
  notice.issuer_lid = Lid(Load16(at + 6));
  notice.toggle = Bits(at[8], 7, 1) != 0;
  notice.count = Load16(at + 8) & 0x7FFF;
  std::copy_n(at + kDetailsAt, notice.details.size(), notice.details.begin());
  return notice;
}

void Notice::Encode(std::span<uint8_t, kSmpDataBytes> data) const {
  uint8_t* at = data.data();
  at[0] = PlaceBits(generic, 7, 1) | PlaceBits(type, 0, 7);
  Store24(at + 1, producer);
  Store16(at + 4, trap);
  Store16(at + 6, issuer_lid.value());
  Store16(at + 8, static_cast<uint16_t>((toggle ? 0x8000 : 0) | (count & 0x7FFF)));
  std::copy_n(details.begin(), details.size(), at + kDetailsAt);
}

}  // namespace fabricd::wire
