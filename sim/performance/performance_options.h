// SPDX-License-Identifier: Apache-2.0
// How the performance and vendor agents of one simulated device behave: its family, and the quirks
// of its firmware. Each quirk is a thing that devices in the field have done. Both outlive a
// reboot, as firmware does. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <absl/status/statusor.h>

#include "common/time.h"

namespace fabricd::sim {

enum class PerformanceFamily : uint8_t {
  kByNodeType,  // kQuantum2 for switches, kConnectX7 for all others.
  kQuantum2,    // All counters in 64 bits too; vendor class and SMPs.
  // The same, but the 64-bit SymbolErrorCounter and LinkDownedCounter stay 0, as on 256 ports of a
  // real fabric (reference/telemetry-and-adaptive.md §0.3).
  kConnectX7,
  kPlain,  // The specification only: no errors in 64 bits, class 0x0A answered "bad version".
};

// Bits of PerformanceOptions::quirks.
enum class PerformanceQuirk : uint16_t {
  kZeroExtendedErrors = 1 << 0,  // The 64-bit SymbolErrorCounter and LinkDownedCounter stay 0.
  kSharedClear = 1 << 1,         // Clearing PortCounters clears PortCountersExtended too.
  kUnderflow = 1 << 2,           // The 64-bit PortRcvErrors is 40 too low: below 0, near 2^64.
  kSentinels = 1 << 3,           // What splits errors and discards reads all ones.
  kNoExtended = 1 << 4,          // No PortCountersExtended.
  kClassicOnly = 1 << 5,         // Nothing but ClassPortInfo and PortCounters.
  kVsKeySet = 1 << 6,            // Another manager has set the VS_Key: class 0x0A without it is
                                 // dropped. KeyInfo answers, with key 0.
  kVsKeyHidden = 1 << 7,         // The same, KeyInfo too.
  kNoVendor = 1 << 8,            // Class 0x0A is answered "bad version".
  kUnresponsive = 1 << 9,        // Answers no GMP of either class.
  kRefusingPma = 1 << 10,        // Refuses every request of class 0x04.
  kRedirect = 1 << 11,           // Class 0x04 is served at QP kRedirectQp of the same LID.
  kNoTick = 1 << 12,             // Drops PortSamplesControl.
};

struct PerformanceOptions {
  PerformanceFamily family = PerformanceFamily::kByNodeType;
  uint16_t quirks = 0;      // PerformanceQuirk
  Duration answer_delay{};  // Each GMP is answered this much later, in order.

  bool Has(PerformanceQuirk quirk) const { return (quirks & static_cast<uint16_t>(quirk)) != 0; }
  PerformanceOptions& With(PerformanceQuirk quirk) {
    quirks = static_cast<uint16_t>(quirks | static_cast<uint16_t>(quirk));
    return *this;
  }
  friend bool operator==(const PerformanceOptions&, const PerformanceOptions&) = default;
};

// Words, separated by commas: a family ("quantum2", "connectx7", "plain"), quirks ("shared_clear"),
// "slow=MILLISECONDS"; "" and "default" are PerformanceOptions(). kInvalidArgument names the word
// and lists those that there are.
absl::StatusOr<PerformanceOptions> ParsePerformanceOptions(std::string_view text);
// What ParsePerformanceOptions reads back as the same.
std::string ToText(const PerformanceOptions& options);

}  // namespace fabricd::sim
