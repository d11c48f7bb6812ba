// SPDX-License-Identifier: Apache-2.0
// LinkBrief: what common causes depend on, of one link.
#pragma once

#include <cstdint>

#include "common/ids.h"
#include "policy/evidence.h"
#include "policy/verdict/link_verdict.h"
#include "policy/verdict/verdict_book.h"

namespace fabricd::policy {

// A large fabric has no room for the evidence of all links.
struct EndBrief {
  HeldPort port;
  EndRole role = EndRole::kOther;
  DeviceFamily family;
  bool is_fresh = false;
  uint64_t local_errors = 0;   // Within 720 s: made on this link,
  uint64_t marked_errors = 0;  // and on others before (EBP).
  RowMask charged = 0;  // Bits of side a. Strong, and may be a defect of this kind of device.
};
struct LinkBrief {
  EndBrief a, b;
  RowMask raised = 0;
  bool is_up = false, is_with_its_switch = false;
  bool is_frozen = false;  // By FamilyWatch: it may be a defect of its kind of device.
  LinkKey Key() const { return {a.port, b.port}; }
};
LinkBrief BriefOf(const LinkEvidence& link, const LinkVerdict& verdict);

const EndBrief& EndOf(const LinkBrief& link, Side side);
Side Opposite(Side side);
RowMask MaskFor(Row row, Side side);

}  // namespace fabricd::policy
