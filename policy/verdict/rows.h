// SPDX-License-Identifier: Apache-2.0
// Evidence rows: what one signal at one end of a link, within one window, shows against its limit.
// A row accuses nobody: attribution.h does.
//
// What was not measured, is saturated, or comes from a link that is too young makes a row that is
// missing: it supports no verdict.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "policy/evidence.h"
#include "policy/verdict/thresholds.h"

namespace fabricd::policy {

enum class Row : uint8_t {
  kSymbolBer = 1,    // E1
  kEffectiveBer,     // E2
  kUncorrectable,    // E3
  kLinkDowns,        // E4, of the link.
  kRecoveries,       // E5
  kLocalPhysical,    // E6
  kLinkIntegrity,    // E7
  kOverrun,          // E8
  kWait,             // E9: the peer returns no credits.
  kHoqDiscards,      // E10: the same.
  kTraps,            // E11
  kTimeouts,         // E12
  kTemperature,      // E13
  kDeviceVerdict,    // E14
  kBelowCapability,  // E15, of the link.
  kMalformed,        // E16
};
inline constexpr size_t kRows = 16;
std::string_view RowName(Row row);  // "E1"

enum class Level : uint8_t { kNone, kSuspect, kStrong, kFatal };
std::string_view LevelName(Level level);  // "strong"

enum class Side : uint8_t { kA, kB, kLink };

enum class Unit : uint8_t { kCount, kShare, kCelsius, kYes };

struct EvidenceRow {
  Row row = Row::kSymbolBer;
  Side side = Side::kLink;
  Level level = Level::kNone;
  Unit unit = Unit::kCount;
  double value = 0;
  // What the value reached; at kNone what would make it suspect. 0: nothing was counted, or there
  // is no limit.
  double limit = 0;
  double ratio = 0;          // Of the bits or packets received, where there is one.
  uint64_t count = 0;        // As measured. The value is 1 where it came in a burst.
  uint16_t readings = 0;     // That showed an increase.
  Duration window{}, age{};  // Age: of the last reading.
  std::string_view signal;   // "symbol errors"
  std::string_view source;   // "PPCNT 0x16"
  std::string_view note;     // Why it is missing, or what else is to be known. May be empty.
  bool is_missing = false;
  bool is_fallback = false;  // By a less exact counter.
  // Other counters of the same reading deny it: it says more of the counter than of the link.
  bool is_implausible = false;

  bool IsAtLeast(Level least) const { return level >= least; }
  bool IsCountOrShare() const { return unit == Unit::kCount || unit == Unit::kShare; }
  // Of its limit. Of temperatures and conclusions: no level.
  bool IsBelowHalf() const {
    return level == Level::kNone && (!IsCountOrShare() || limit == 0 || value * 2 < limit);
  }
};

// All rows of the link, missing ones too; those of `a` first.
std::vector<EvidenceRow> RowsOf(const LinkEvidence& link, const Limits& limits);

// In so many of the last three windows the port waits strongly, whatever it sends.
int StrongWaits(const EndEvidence& end, const Limits& limits);

}  // namespace fabricd::policy
