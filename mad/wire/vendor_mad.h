// SPDX-License-Identifier: Apache-2.0
// NVIDIA's management class 0x0A version 1 (GMPs to QP 1), by which devices return what PerfMgt has
// no attribute for. Layouts: reference/telemetry-and-adaptive.md §2.1, §2.2, §5.4.
//
// Nothing here is of the IBA: a device without the class does not respond at all, or with a status,
// and one whose VS_Key another SM protects drops requests without that key (§5.4 there).
//
// Only Gets are sent. The encoders of what a device returns are for simulated devices.
#pragma once

#include <initializer_list>
#include <optional>

#include "mad/wire/mad_header.h"

namespace fabricd::wire {

inline constexpr size_t kVendorDataBytes = 224;  // From MAD byte 32 to the end.
using VendorData = std::array<uint8_t, kVendorDataBytes>;
inline constexpr uint8_t kVendorClassVersion = 1;

// Key of the class, checked by the device while protected.
using VsKey = StrongId<struct VsKeyTag, uint64_t>;

enum class VendorAttribute : uint16_t {
  kClassPortInfo = 0x0001,
  kKeyInfo = 0x000F,
  kGeneralInfo = 0x0017,
  kAccessRegister = 0x0051,
};
// "AccessRegister"; "unknown" for what the enum does not name.
std::string_view VendorAttributeName(VendorAttribute attribute);

// ClassPortInfo.CapabilityMask of this class: the device has a VS_Key.
inline constexpr uint16_t kVendorHasKey = 1u << 8;

// Status of an AccessRegister besides those of mad_header.h. The IBA reserves this code.
inline constexpr uint16_t kStatusRegisterNotSupported = 0x0014;

// A number of capability bits, bit n in bit n % 32 of 32-bit word n / 32. `Bit` is an enum of their
// numbers; a bit behind the last word is not set.
template <typename Bit>
struct CapabilityBits {
  static constexpr size_t kWords = 4;
  static constexpr size_t kBytes = 4 * kWords;
  std::array<uint32_t, kWords> words{};

  constexpr CapabilityBits() = default;
  constexpr CapabilityBits(std::initializer_list<Bit> bits) {
    for (const Bit bit : bits) Set(bit);
  }
  constexpr bool Has(Bit bit) const {
    const auto number = static_cast<size_t>(bit);
    return number < 32 * kWords && (words[number / 32] >> number % 32 & 1) != 0;
  }
  // REQUIRES: bit < 32 * kWords.
  constexpr void Set(Bit bit) {
    const auto number = static_cast<size_t>(bit);
    words[number / 32] |= uint32_t{1} << number % 32;
  }
  friend bool operator==(const CapabilityBits&, const CapabilityBits&) = default;
};

// One GMP of the class.
struct VendorMad {
  uint8_t class_version = kVendorClassVersion;
  Method method = Method::kGet;
  uint16_t status = 0;
  uint64_t transaction_id = 0;  // A response repeats all 64 bits, the kernel's upper half too.
  VendorAttribute attribute{};
  uint32_t modifier = 0;
  VsKey vs_key;
  VendorData data{};

  TransactionId tid() const { return TransactionId(static_cast<uint32_t>(transaction_id)); }
  // nullopt where the class is another one.
  static std::optional<VendorMad> Decode(std::span<const uint8_t, kMadBytes> bytes);
  void Encode(std::span<uint8_t, kMadBytes> bytes) const;  // Writes all 256 bytes.
  friend bool operator==(const VendorMad&, const VendorMad&) = default;
};

// What the device can do by this class. AttributeModifier 0.
struct GmpGeneralInfo {
  static constexpr VendorAttribute kAttribute = VendorAttribute::kGeneralInfo;
  static constexpr size_t kBytes = kVendorDataBytes;
  enum class Capability : uint8_t {
    kPerVlCounters = 6,
    kLlrCounters = 8,  // LLR: link-level retransmission.
    kVlXmitWaitExtended = 16,
    kDiagnosticData = 18,
    kAccessRegister = 20,
    kBerMonitoring = 30,
    kRawBerPerPhysicalLane = 35,
    kAccessRegisterTlv = 36,
    kCreditWatchdogCounters = 40,
    kFastRecoveryCounters = 41,
    kHistograms = 43,
    kHistogramsExtended = 44,
    kGeneralCounters = 46,
    kRecoveryCounters = 47,
    kDualVsKey = 48,
  };
  CapabilityBits<Capability> capabilities;

  static GmpGeneralInfo Decode(std::span<const uint8_t, kBytes> data);
  void Encode(std::span<uint8_t, kBytes> data) const;
  friend bool operator==(const GmpGeneralInfo&, const GmpGeneralInfo&) = default;
};

// Who may send requests of the class. AttributeModifier 0. To a request without its key a protected
// device returns key 0, or does not respond (§5.4 there).
struct KeyInfo {
  static constexpr VendorAttribute kAttribute = VendorAttribute::kKeyInfo;
  static constexpr size_t kBytes = kVendorDataBytes;
  VsKey key;
  bool protect = false;
  uint16_t lease_period = 0;  // Seconds.
  uint16_t violations = 0;

  static KeyInfo Decode(std::span<const uint8_t, kBytes> data);
  void Encode(std::span<uint8_t, kBytes> data) const;
  friend bool operator==(const KeyInfo&, const KeyInfo&) = default;
};

// One block of a register (registers.h), in a Get and in its response. AttributeModifier: the
// register's id. A request for any block carries the register's first bytes, which say what is
// asked for (its port, its page); the response to block n carries bytes 220 n to 220 n + 219.
struct AccessRegister {
  static constexpr VendorAttribute kAttribute = VendorAttribute::kAccessRegister;
  static constexpr size_t kBytes = kVendorDataBytes;
  static constexpr size_t kBlockBytes = 220;
  static constexpr uint16_t kMaxBlocks = 16;
  uint16_t block = 0;
  std::array<uint8_t, kBlockBytes> bytes{};

  static AccessRegister Decode(std::span<const uint8_t, kBytes> data);
  void Encode(std::span<uint8_t, kBytes> data) const;
  friend bool operator==(const AccessRegister&, const AccessRegister&) = default;
};

}  // namespace fabricd::wire
