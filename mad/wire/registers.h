// SPDX-License-Identifier: Apache-2.0
// Device registers that tell how good a link is, read by AccessRegister (vendor_mad.h): PPCNT
// (counters), PDDR (diagnostics), PPBMC (the device's own BER monitor). Layouts:
// reference/telemetry-and-adaptive.md §2.3, and the public register description
// Mellanox/mstflint tools_layouts/adb/prm/switch/ext/register_access_table.adb (Rev 1.55.167), of
// which only facts are used.
//
// A Get is a request (XRequest), encoded to the first bytes of a block; the response's block has
// the request in place and what was asked for behind it. Encoders of the latter, for simulated
// devices, leave the request's bytes as they are.
//
// Bits of a request that would clear counters or raise events exist even in Gets. No request here
// can set them.
#pragma once

#include <optional>
#include <string>

#include "mad/wire/vendor_mad.h"

namespace fabricd::wire {

using RegisterBlock = std::array<uint8_t, AccessRegister::kBlockBytes>;
using RegisterBytes = std::span<uint8_t, AccessRegister::kBlockBytes>;
using ConstRegisterBytes = std::span<const uint8_t, AccessRegister::kBlockBytes>;

// The AttributeModifier of an AccessRegister.
enum class RegisterId : uint16_t { kPpcnt = 0x5008, kPddr = 0x5031, kPpbmc = 0x5052 };
std::string_view RegisterName(RegisterId id);  // "PPCNT", or "unknown"

// A port by its IB port number, 10 bits: the other forms of addressing are not used.
using RegisterPort = uint16_t;

// A bit error ratio as devices compute it, since their counters were cleared.
struct BerValue {
  uint8_t coefficient = 0;  // 4 bits
  uint8_t magnitude = 0;
  double value() const;  // coefficient * 10^-magnitude
  friend bool operator==(const BerValue&, const BerValue&) = default;
};

// ---- PPCNT

enum class PpcntGroup : uint8_t { kPhysical = 0x12, kStatistical = 0x16, kRecovery = 0x1A };

struct PpcntRequest {
  static constexpr RegisterId kRegister = RegisterId::kPpcnt;
  static constexpr size_t kBytes = 8;
  RegisterPort port = 0;
  PpcntGroup group = PpcntGroup::kStatistical;  // Unknown codes survive as their number, 6 bits.
  uint8_t plane = 0;                            // 4 bits; 0: all planes of the port together.

  static PpcntRequest Decode(ConstRegisterBytes block);
  void Encode(RegisterBytes block) const;  // Writes the whole block.
  friend bool operator==(const PpcntRequest&, const PpcntRequest&) = default;
};
// Whether a received request has the bit that clears the group: for simulated devices, to show that
// nobody sets it.
bool ClearsCounters(ConstRegisterBytes ppcnt_request);

// Group kPhysical. Those of physical lanes are for the first four.
struct PpcntPhysical {
  static constexpr PpcntGroup kGroup = PpcntGroup::kPhysical;
  static constexpr size_t kPhysicalLanes = 4;
  uint64_t milliseconds_since_clear = 0;
  uint64_t symbol_errors = 0;
  uint64_t sync_header_errors = 0;
  uint64_t rs_fec_corrected_blocks = 0;
  uint64_t rs_fec_uncorrectable_blocks = 0;
  uint64_t rs_fec_error_free_blocks = 0;
  uint64_t rs_fec_corrected_symbols = 0;
  std::array<uint64_t, kPhysicalLanes> rs_fec_corrected_symbols_of_physical_lane{};
  uint32_t link_down_events = 0;  // Those with a local, unintentional cause: LinkDownedCounter.
  uint32_t successful_recoveries = 0;

  static PpcntPhysical Decode(ConstRegisterBytes block);
  void Encode(RegisterBytes block) const;
  friend bool operator==(const PpcntPhysical&, const PpcntPhysical&) = default;
};

// The rest of group kPhysical, local and remote causes together, in its second block. There is no
// request in that block of a response.
struct PpcntLinkDowns {
  static constexpr PpcntGroup kGroup = PpcntGroup::kPhysical;
  static constexpr uint16_t kBlock = 1;
  uint32_t unintentional = 0;
  uint32_t intentional = 0;

  static PpcntLinkDowns Decode(ConstRegisterBytes block);
  void Encode(RegisterBytes block) const;
  friend bool operator==(const PpcntLinkDowns&, const PpcntLinkDowns&) = default;
};

// Group kStatistical. The BER of a window is the difference of errors over that of received_bits.
struct PpcntStatistical {
  static constexpr PpcntGroup kGroup = PpcntGroup::kStatistical;
  static constexpr size_t kPhysicalLanes = 8;
  uint64_t milliseconds_since_clear = 0;
  uint64_t received_bits = 0;
  uint64_t symbol_errors = 0;  // Behind FEC and link-level retransmission.
  uint64_t corrected_bits = 0;
  std::array<uint64_t, kPhysicalLanes> raw_errors_of_physical_lane{};  // Before FEC.
  BerValue raw_ber;
  BerValue effective_ber;
  BerValue symbol_ber;
  uint64_t effective_errors = 0;  // Behind FEC.

  static PpcntStatistical Decode(ConstRegisterBytes block);
  void Encode(RegisterBytes block) const;
  friend bool operator==(const PpcntStatistical&, const PpcntStatistical&) = default;
};

// Group kRecovery.
struct PpcntRecovery {
  static constexpr PpcntGroup kGroup = PpcntGroup::kRecovery;
  uint32_t successful_recoveries = 0;
  uint32_t unintentional_recoveries = 0;
  uint32_t intentional_recoveries = 0;

  static PpcntRecovery Decode(ConstRegisterBytes block);
  void Encode(RegisterBytes block) const;
  friend bool operator==(const PpcntRecovery&, const PpcntRecovery&) = default;
};

// ---- PDDR

enum class PddrPage : uint8_t { kOperational = 0, kModule = 3, kLinkDown = 6 };

struct PddrRequest {
  static constexpr RegisterId kRegister = RegisterId::kPddr;
  static constexpr size_t kBytes = 8;
  RegisterPort port = 0;
  PddrPage page = PddrPage::kOperational;  // Unknown codes survive as their number.
  uint8_t plane = 0;                       // 4 bits; 0: all planes of the port together.
  // Page kModule: optical powers in microwatts, not in dBm, where the device can. What a device
  // that cannot returns here is not documented.
  bool powers_in_microwatts = false;

  static PddrRequest Decode(ConstRegisterBytes block);
  void Encode(RegisterBytes block) const;  // Writes the whole block.
  friend bool operator==(const PddrRequest&, const PddrRequest&) = default;
};

// PDDR's FEC modes, other numbers than those of wire::FecMode. With PLR: link-level retransmission.
enum class PddrFecMode : uint16_t {
  kNone = 0,
  kFireCode = 1,
  kRs528 = 2,
  kLowLatencyRs271 = 3,
  kQuadInterleavedRs544 = 4,
  kQuadInterleavedRs544Plr = 5,
  kInterleavedRs544 = 6,
  kRs544 = 7,
  kOctetInterleavedRs544Plr = 8,
  kLowLatencyRs272 = 9,
  kInterleavedLowLatencyRs272 = 10,
  kInterleavedRs544Plr = 11,
  kRs544Plr = 12,
  kLowLatencyRs271Plr = 13,
  kLowLatencyRs272Plr = 14,
  kInterleavedLowLatencyRs272Plr = 15,
  kHalfKp4Plr = 16,  // RS(288,258); 17 and 18 too.
};
std::string_view PddrFecModeName(PddrFecMode mode);  // "RS(544,514) + PLR", or "unknown"
bool HasRetransmission(PddrFecMode mode);            // PLR

// Page kOperational.
struct PddrOperational {
  static constexpr PddrPage kPage = PddrPage::kOperational;
  PddrFecMode fec_mode_request = PddrFecMode::kNone;
  PddrFecMode fec_mode_active = PddrFecMode::kNone;  // Unknown codes survive as their number.

  static PddrOperational Decode(ConstRegisterBytes block);
  void Encode(RegisterBytes block) const;
  friend bool operator==(const PddrOperational&, const PddrOperational&) = default;
};

// Page kModule: what is plugged into the port, and how it fares.
struct PddrModule {
  static constexpr PddrPage kPage = PddrPage::kModule;
  static constexpr size_t kTextBytes = 16;
  static constexpr size_t kPhysicalLanes = 8;
  enum class CableType : uint8_t {
    kUnidentified = 0,
    kActive = 1,  // Copper or optical, with its modules.
    kOpticalModule = 2,
    kPassiveCopper = 3,
    kUnplugged = 4,
    kTwistedPair = 5,
  };
  enum class Identifier : uint8_t {
    kQsfp28 = 0,
    kQsfpPlus = 1,
    kSfp = 2,
    kQsa = 3,
    kBackplane = 4,
    kSfpDd = 5,
    kQsfpDd = 6,
    kQsfpCmis = 7,
    kOsfp = 8,
    kChipToChip = 9,
    kDsfp = 10,
    kQsfpSplit = 11,
  };
  CableType cable_type = CableType::kUnidentified;  // 4 bits
  Identifier identifier = Identifier::kQsfp28;
  uint8_t length = 0;       // See length_metres().
  uint8_t power_class = 0;  // See max_power_watts().
  uint8_t max_power = 0;
  // Printable as the module has them; without the spaces and zeros that fill them up, at most
  // kTextBytes.
  std::string vendor_name;
  std::string part_number;
  std::string serial_number;
  int16_t temperature = 0;  // 1/256 degree Celsius.
  uint16_t voltage = 0;     // 100 uV
  // As PddrRequest::powers_in_microwatts asked for.
  std::array<uint16_t, kPhysicalLanes> rx_power{};
  std::array<uint16_t, kPhysicalLanes> tx_power{};
  int16_t temperature_alarm_high = 0;  // 1/256 degree Celsius; both 0: the module has none.
  int16_t temperature_alarm_low = 0;

  bool IsPlugged() const { return cable_type != CableType::kUnplugged; }
  bool IsCmis() const;  // By its identifier: fields follow CMIS, else SFF-8636 or SFF-8472.
  // nullopt where the module does not say. A temperature of exactly 0 is taken for that.
  std::optional<double> length_metres() const;
  std::optional<double> max_power_watts() const;
  std::optional<double> temperature_celsius() const;
  bool HasTemperatureAlarms() const {
    return temperature_alarm_high != 0 || temperature_alarm_low != 0;
  }

  static PddrModule Decode(ConstRegisterBytes block);
  void Encode(RegisterBytes block) const;
  friend bool operator==(const PddrModule&, const PddrModule&) = default;
};
std::string_view CableTypeName(PddrModule::CableType type);         // "passive copper", "unknown"
std::string_view CableIdentifierName(PddrModule::Identifier name);  // "OSFP", or "unknown"

// Why a link went down.
enum class LinkDownReason : uint8_t {
  kNone = 0,
  kUnknown = 1,
  kHighBer = 2,  // Or a high symbol error ratio.
  kBlockLockLoss = 3,
  kAlignmentLoss = 4,
  kFecSyncLoss = 5,
  kPllLockLoss = 6,
  kFifoOverflow = 7,
  kFalseSkip = 8,
  kMinorErrorThreshold = 9,
  kRetransmissionTimeout = 10,
  kHeartbeatErrors = 11,
  kCreditWatchdog = 12,
  kLinkIntegrity = 13,
  kBufferOverrun = 14,
  kOutOfBandCommand = 15,
  kOutOfBandCommandHighBer = 16,
  kInBandCommand = 17,
  kInBandCommandHighBer = 18,
  kVerification = 19,
  kRemoteFault = 20,
  kReceivedTs1 = 21,
  kManagementCommand = 22,
  kCableUnplugged = 23,
  kCableAccess = 24,
  kThermalShutdown = 25,
  kCurrent = 26,
  kPowerBudget = 27,
  kFastRecoveryRawBer = 28,
  kFastRecoveryEffectiveBer = 29,
  kFastRecoverySymbolBer = 30,
  kFastRecoveryCreditWatchdog = 31,
  kTimeout = 32,
  kPeerDisabled = 33,
  kPeerReset = 37,
  kTooManyRecoveries = 43,
  kContain = 44,
  kHighSer = 47,
};
std::string_view LinkDownReasonName(LinkDownReason reason);  // "cable unplugged", or "unknown"

// Page kLinkDown: the last time that the link went down.
struct PddrLinkDown {
  static constexpr PddrPage kPage = PddrPage::kLinkDown;
  enum class Blame : uint8_t { kUnknown = 0, kLocal = 1, kRemote = 2 };  // Whose receiver.
  enum class Intent : uint8_t { kUnknown = 0, kIntentional = 1, kUnintentional = 2 };
  Blame blame = Blame::kUnknown;                        // 4 bits
  Intent intent = Intent::kUnknown;                     // 4 bits; older firmware: always kUnknown.
  LinkDownReason local_reason = LinkDownReason::kNone;  // Unknown codes survive as their number.
  LinkDownReason remote_reason = LinkDownReason::kNone;
  uint8_t recovery_entry_reason = 0;

  static PddrLinkDown Decode(ConstRegisterBytes block);
  void Encode(RegisterBytes block) const;
  friend bool operator==(const PddrLinkDown&, const PddrLinkDown&) = default;
};

// ---- PPBMC

struct PpbmcRequest {
  static constexpr RegisterId kRegister = RegisterId::kPpbmc;
  static constexpr size_t kBytes = 4;
  RegisterPort port = 0;

  static PpbmcRequest Decode(ConstRegisterBytes block);
  void Encode(RegisterBytes block) const;  // Writes the whole block.
  friend bool operator==(const PpbmcRequest&, const PpbmcRequest&) = default;
};

// What the device itself thinks of the link's BER, by the thresholds that it was given.
struct Ppbmc {
  enum class State : uint8_t { kNotMonitored = 0, kNormal = 1, kWarning = 2, kAlarm = 3 };
  // Bits of monitored.
  static constexpr uint8_t kEffectiveBer = 1u << 0;  // Without FEC: the raw one.
  static constexpr uint8_t kRawBer = 1u << 1;
  static constexpr uint8_t kSymbolBer = 1u << 2;
  static constexpr uint8_t kEstimatedEffectiveBer = 1u << 3;
  State state = State::kNotMonitored;
  uint8_t monitored = 0;  // 4 bits

  static Ppbmc Decode(ConstRegisterBytes block);
  void Encode(RegisterBytes block) const;
  friend bool operator==(const Ppbmc&, const Ppbmc&) = default;
};

}  // namespace fabricd::wire
