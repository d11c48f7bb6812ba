// SPDX-License-Identifier: Apache-2.0
#include "policy/verdict/readings.h"

namespace fabricd::policy {

Reading Read(const EndEvidence& end, Signal signal, Window window) {
  const WindowCount* found = end.Find(signal, window);
  if (found == nullptr) return {0, nullptr, kNotMeasured};
  if (found->is_saturated) return {0, nullptr, "counter is at its maximum"};
  return {found->count, found, ""};
}

// A window of up to 12 min may hold only two readings of a register; the 125 min around it then
// show whether it was more than one event.
bool IsSpread(const EndEvidence& end, Signal signal, Window window, const Limits& limits) {
  const auto readings = [&](Window each) {
    const WindowCount* found = end.Find(signal, each);
    return found == nullptr ? 0 : found->readings;
  };
  const int wanted = limits.spread_readings;
  if (window == Window::k60s) window = Window::k720s;
  if (readings(window) >= wanted) return true;
  return end.has_registers && window == Window::k720s && readings(window) >= 2 &&
         readings(Window::k7500s) >= wanted;
}

Reading ReadErrors(const EndEvidence& end, Signal signal, Window window, const Limits& limits) {
  Reading reading = Read(end, signal, window);
  if (reading.events > 1 && !IsSpread(end, signal, window, limits)) {
    reading.events = 1;
    reading.note = "one burst";
  }
  return reading;
}

std::string_view SignalName(Signal signal) {
  switch (signal) {
    case Signal::kSymbolErrors: return "symbol errors";
    case Signal::kEffectiveErrors: return "effective errors";
    case Signal::kUncorrectableBlocks: return "uncorrectable FEC blocks";
    case Signal::kLinkDowns: return "unintended link downs";
    case Signal::kRecoveries: return "link recoveries";
    case Signal::kRcvErrors: return "receive errors";
    case Signal::kRemotePhysical: return "remote physical errors";
    case Signal::kLocalPhysical: return "local physical errors";
    case Signal::kMalformed: return "malformed packets";
    case Signal::kBufferOverrun: return "buffer overruns";
    case Signal::kLinkIntegrity: return "link integrity errors";
    case Signal::kExcessiveOverrun: return "excessive buffer overruns";
    case Signal::kXmitDiscards: return "transmit discards";
    case Signal::kHoqDiscards: return "head-of-queue discards";
    case Signal::kInactiveDiscards: return "inactive discards";
    case Signal::kTraps: return "traps";
    case Signal::kTimeouts: return "MADs not responded to";
  }
  return "?";
}

std::string_view SourceOf(Signal signal) {
  switch (signal) {
    case Signal::kSymbolErrors: return "SymbolErrorCounter";
    case Signal::kEffectiveErrors: return "PPCNT 0x16";
    case Signal::kUncorrectableBlocks: return "PPCNT 0x12";
    case Signal::kLinkDowns: return "LinkDowned";
    case Signal::kRecoveries: return "LinkErrorRecovery";
    case Signal::kLocalPhysical:
    case Signal::kMalformed:
    case Signal::kBufferOverrun: return "RcvErrorDetails";
    case Signal::kHoqDiscards:
    case Signal::kInactiveDiscards: return "XmitDiscardDetails";
    case Signal::kTraps: return "Notice";
    case Signal::kTimeouts: return "this SM";
    case Signal::kRcvErrors:
    case Signal::kRemotePhysical:
    case Signal::kLinkIntegrity:
    case Signal::kExcessiveOverrun:
    case Signal::kXmitDiscards: return "PortCounters";
  }
  return "?";
}

}  // namespace fabricd::policy
