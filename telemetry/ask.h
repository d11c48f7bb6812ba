// SPDX-License-Identifier: Apache-2.0
// Ask: one thing that a device can be asked for, with what is known about asking for it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace fabricd::telemetry {

enum class Ask : uint8_t {
  // Of a device.
  kClassPortInfo,
  kTick,        // PortSamplesControl
  kVendorInfo,  // GeneralInfo of class 0x0A
  kVendorKey,   // KeyInfo of class 0x0A
  kSmpInfo,     // GeneralInfo as SMP
  // Of a port.
  kExtended,
  kClassic,
  kRcvErrorDetails,
  kXmitDiscardDetails,
  kBer,          // PPCNT 0x16
  kPhysical,     // PPCNT 0x12
  kLinkDowns,    // PPCNT 0x12, second block
  kLinkDown,     // PDDR page 6
  kModule,       // PDDR page 3
  kOperational,  // PDDR page 0
  kMonitor,      // PPBMC
  kExtPortInfo,  // SMP
};
inline constexpr size_t kAsks = 17;
inline constexpr Ask kFirstPortAsk = Ask::kExtended;
std::string_view AskName(Ask ask);  // "PortCountersExtended", "PDDR module page"

constexpr bool IsOfPort(Ask ask) { return ask >= kFirstPortAsk; }
constexpr bool IsSmp(Ask ask) { return ask == Ask::kSmpInfo || ask == Ask::kExtPortInfo; }
// Class 0x0A.
constexpr bool IsVendorGmp(Ask ask) {
  return ask == Ask::kVendorInfo || ask == Ask::kVendorKey ||
         (ask >= Ask::kBer && ask <= Ask::kMonitor);
}
constexpr bool IsOfVendor(Ask ask) { return IsVendorGmp(ask) || IsSmp(ask); }
// An access register of class 0x0A.
constexpr bool IsRegister(Ask ask) { return ask >= Ask::kBer && ask <= Ask::kMonitor; }
// Every performance manager agent has to answer it (IBA vol 1 §16.1), or has said that it does.
constexpr bool IsMandatory(Ask ask) {
  return ask == Ask::kClassPortInfo || ask == Ask::kExtended || ask == Ask::kClassic;
}

class AskSet {
 public:
  constexpr AskSet() = default;
  static constexpr AskSet Of(std::initializer_list<Ask> asks) {
    AskSet set;
    for (const Ask ask : asks) set.Add(ask);
    return set;
  }
  constexpr bool Has(Ask ask) const { return (bits_ >> static_cast<int>(ask) & 1) != 0; }
  constexpr void Add(Ask ask) { bits_ |= 1u << static_cast<int>(ask); }
  constexpr void Add(AskSet other) { bits_ |= other.bits_; }
  constexpr void Remove(Ask ask) { bits_ &= ~(1u << static_cast<int>(ask)); }
  constexpr bool IsEmpty() const { return bits_ == 0; }
  // The first in the order of the enum. REQUIRES: not empty.
  constexpr Ask First() const { return static_cast<Ask>(__builtin_ctz(bits_)); }

 private:
  uint32_t bits_ = 0;
};

// Why something is not measured.
enum class Absence : uint8_t {
  kNone,         // It is measured.
  kUnsupported,  // The device says that it does not have it.
  kRefused,      // An attribute that a device must have was answered with an error.
  kNoAnswer,     // Asked, repeated, and no response.
  kKeyed,        // Another manager has set the device's VS_Key.
  kNotAllowed,   // The configuration excludes it.
  kOtherVendor,  // The vendor of the device is not one that defines it.
};
std::string_view AbsenceName(Absence absence);  // "UNSUPPORTED"

}  // namespace fabricd::telemetry
