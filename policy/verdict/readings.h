// SPDX-License-Identifier: Apache-2.0
// What an end counted within a window, as rows use it: only what was measured, and a burst of
// errors as one event.
#pragma once

#include <cstdint>
#include <string_view>

#include "policy/evidence.h"
#include "policy/verdict/thresholds.h"

namespace fabricd::policy {

inline constexpr std::string_view kNotMeasured = "not measured";

struct Reading {
  uint64_t events = 0;  // Of the count, a burst being one.
  const WindowCount* found = nullptr;
  std::string_view note;
  bool IsKnown() const { return found != nullptr; }
};

// A counter at its maximum is not known.
Reading Read(const EndEvidence& end, Signal signal, Window window);
// Whether the increase was in several readings. Errors that FEC did not correct come in bursts.
bool IsSpread(const EndEvidence& end, Signal signal, Window window, const Limits& limits);
// Read(), with a burst as one event.
Reading ReadErrors(const EndEvidence& end, Signal signal, Window window, const Limits& limits);

std::string_view SignalName(Signal signal);  // "symbol errors"
std::string_view SourceOf(Signal signal);    // "PPCNT 0x12": by what it is usually read.

}  // namespace fabricd::policy
