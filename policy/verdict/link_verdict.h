// SPDX-License-Identifier: Apache-2.0
// policy/verdict: what is wrong with a link, which part of it is the culprit, and the evidence.
// Pure: evidence and limits in, values out.
//
// This header: the verdict about one link as it is now. verdict_book.h follows it over time,
// fleet.h finds common causes of many.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "policy/evidence.h"
#include "policy/verdict/attribution.h"
#include "policy/verdict/rows.h"
#include "policy/verdict/thresholds.h"

namespace fabricd::policy {

enum class Verdict : uint8_t {
  kHealthy,
  kSuspect,
  kNoisyPhy,
  kFlapping,
  kSlowReceiver,
  kChatty,   // Traps.
  kVictim,   // Held up by others: nothing is to be done about this link.
  kUnknown,  // Too little, or too old.
};
std::string_view VerdictName(Verdict verdict);  // "NOISY_PHY"
// Of those that name a culprit: an action may follow.
bool IsBad(Verdict verdict);

// How long each row has been strong without a gap, by Row - 1: of earlier verdicts.
using StrongFor = std::array<Duration, kRows>;

// A row of an end: bit Row - 1, 16 higher for side b.
using RowMask = uint32_t;
RowMask MaskOf(const EvidenceRow& row);

struct LinkVerdict {
  Verdict verdict = Verdict::kUnknown;
  Attribution attribution;
  Accusation accusation;    // The same, by port.
  double confidence = 0;    // In [0, 1]. What is not measured only lowers it.
  std::string_view reason;  // By which rule.
  HeldPort root;            // Of kVictim: the port that it waits for, where that is known.
  // Nothing is said about the link now: what was known of it stays.
  bool is_suspended = false;
  bool is_below_half = false;  // Every row is below half of its limit.
  RowMask raised = 0, measured = 0;
  Duration detection_window{};  // The longest of the rows that are raised, up to 125 min.
  std::vector<EvidenceRow> rows;
};

LinkVerdict Evaluate(const LinkEvidence& link, const Limits& limits,
                     const StrongFor& strong_for = {});

}  // namespace fabricd::policy
