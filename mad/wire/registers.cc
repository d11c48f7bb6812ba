// SPDX-License-Identifier: Apache-2.0
#include "mad/wire/registers.h"

#include <algorithm>
#include <cmath>

#include "mad/wire/bytes.h"

namespace fabricd::wire {

namespace {

// The port is by its IB port number (pnat).
constexpr unsigned kByIbPortNumber = 1;

// Where counter set and page begin, and the next block.
constexpr size_t kSetAt = 8;
constexpr size_t kSecondBlockAt = AccessRegister::kBlockBytes;
constexpr size_t kLinkDownsAt = kSetAt + 0xF0 - kSecondBlockAt;

// The first two bytes of the port's word are its own and its addressing's; the others differ.
RegisterPort LoadPort(const uint8_t* at) {
  return static_cast<RegisterPort>(Bits(at[2], 4, 2) << 8 | at[1]);
}

void StorePort(uint8_t* at, RegisterPort port) {
  at[1] = static_cast<uint8_t>(port);
  at[2] = static_cast<uint8_t>(PlaceBits(kByIbPortNumber, 6, 2) | PlaceBits(port >> 8u, 4, 2));
}

void ClearBlock(RegisterBytes block) { std::fill(block.begin(), block.end(), uint8_t{0}); }

// All behind the request.
void ClearSet(RegisterBytes block, size_t request_bytes = kSetAt) {
  std::fill(block.begin() + static_cast<ptrdiff_t>(request_bytes), block.end(), uint8_t{0});
}

template <size_t kCount>
void LoadAll64(const uint8_t* at, std::array<uint64_t, kCount>& values) {
  for (size_t i = 0; i < kCount; ++i) values[i] = Load64(at + 8 * i);
}

template <size_t kCount>
void StoreAll64(uint8_t* at, const std::array<uint64_t, kCount>& values) {
  for (size_t i = 0; i < kCount; ++i) Store64(at + 8 * i, values[i]);
}

template <size_t kCount>
void LoadAll16(const uint8_t* at, std::array<uint16_t, kCount>& values) {
  for (size_t i = 0; i < kCount; ++i) values[i] = Load16(at + 2 * i);
}

template <size_t kCount>
void StoreAll16(uint8_t* at, const std::array<uint16_t, kCount>& values) {
  for (size_t i = 0; i < kCount; ++i) Store16(at + 2 * i, values[i]);
}

BerValue LoadBer(const uint8_t* at) { return {Bits(at[3], 0, 4), at[2]}; }

void StoreBer(uint8_t* at, BerValue ber) {
  at[2] = ber.magnitude;
  at[3] = PlaceBits(ber.coefficient, 0, 4);
}

// Filled up with spaces; some modules fill with zeros.
std::string LoadText(const uint8_t* at) {
  std::string text(reinterpret_cast<const char*>(at), PddrModule::kTextBytes);
  text.resize(std::min(text.find('\0'), text.size()));
  text.resize(text.find_last_not_of(' ') + 1);
  return text;
}

void StoreText(uint8_t* at, const std::string& text) {
  const size_t length = std::min(text.size(), PddrModule::kTextBytes);
  std::fill(std::copy_n(text.begin(), length, at), at + PddrModule::kTextBytes, uint8_t{' '});
}

int16_t Load16Signed(const uint8_t* at) { return static_cast<int16_t>(Load16(at)); }
void Store16Signed(uint8_t* at, int16_t value) { Store16(at, static_cast<uint16_t>(value)); }

}  // namespace

std::string_view RegisterName(RegisterId id) {
  switch (id) {
    case RegisterId::kPpcnt: return "PPCNT";
    case RegisterId::kPddr: return "PDDR";
    case RegisterId::kPpbmc: return "PPBMC";
  }
  return "unknown";
}

double BerValue::value() const { return coefficient * std::pow(10.0, -int{magnitude}); }

// ---- PPCNT

PpcntRequest PpcntRequest::Decode(ConstRegisterBytes block) {
  const uint8_t* at = block.data();
  PpcntRequest request;
  request.port = LoadPort(at);
  request.group = static_cast<PpcntGroup>(Bits(at[3], 0, 6));
  request.plane = Bits(at[6], 0, 4);
  return request;
}

void PpcntRequest::Encode(RegisterBytes block) const {
  ClearBlock(block);
  uint8_t* at = block.data();
  StorePort(at, port);
  at[3] = PlaceBits(static_cast<uint8_t>(group), 0, 6);
  at[6] = PlaceBits(plane, 0, 4);
}

bool ClearsCounters(ConstRegisterBytes ppcnt_request) { return Bits(ppcnt_request[4], 7, 1) != 0; }

PpcntPhysical PpcntPhysical::Decode(ConstRegisterBytes block) {
  const uint8_t* at = block.data() + kSetAt;
  PpcntPhysical counters;
  counters.milliseconds_since_clear = Load64(at);
  counters.symbol_errors = Load64(at + 0x08);
  counters.sync_header_errors = Load64(at + 0x10);
  counters.rs_fec_corrected_blocks = Load64(at + 0x78);
  counters.rs_fec_uncorrectable_blocks = Load64(at + 0x80);
  counters.rs_fec_error_free_blocks = Load64(at + 0x88);
  counters.rs_fec_corrected_symbols = Load64(at + 0x98);
  LoadAll64(at + 0xA0, counters.rs_fec_corrected_symbols_of_physical_lane);
  counters.link_down_events = Load32(at + 0xC0);
  counters.successful_recoveries = Load32(at + 0xC4);
  return counters;
}

void PpcntPhysical::Encode(RegisterBytes block) const {
  ClearSet(block);
  uint8_t* at = block.data() + kSetAt;
  Store64(at, milliseconds_since_clear);
  Store64(at + 0x08, symbol_errors);
  Store64(at + 0x10, sync_header_errors);
  Store64(at + 0x78, rs_fec_corrected_blocks);
  Store64(at + 0x80, rs_fec_uncorrectable_blocks);
  Store64(at + 0x88, rs_fec_error_free_blocks);
  Store64(at + 0x98, rs_fec_corrected_symbols);
  StoreAll64(at + 0xA0, rs_fec_corrected_symbols_of_physical_lane);
  Store32(at + 0xC0, link_down_events);
  Store32(at + 0xC4, successful_recoveries);
}

PpcntLinkDowns PpcntLinkDowns::Decode(ConstRegisterBytes block) {
  PpcntLinkDowns counters;
  counters.unintentional = Load32(block.data() + kLinkDownsAt);
  counters.intentional = Load32(block.data() + kLinkDownsAt + 4);
  return counters;
}

void PpcntLinkDowns::Encode(RegisterBytes block) const {
  ClearBlock(block);
  Store32(block.data() + kLinkDownsAt, unintentional);
  Store32(block.data() + kLinkDownsAt + 4, intentional);
}

PpcntStatistical PpcntStatistical::Decode(ConstRegisterBytes block) {
  const uint8_t* at = block.data() + kSetAt;
  PpcntStatistical counters;
  counters.milliseconds_since_clear = Load64(at);
  counters.received_bits = Load64(at + 0x08);
  counters.symbol_errors = Load64(at + 0x10);
  counters.corrected_bits = Load64(at + 0x18);
  LoadAll64(at + 0x20, counters.raw_errors_of_physical_lane);
  counters.raw_ber = LoadBer(at + 0x60);
  counters.effective_ber = LoadBer(at + 0x64);
  counters.symbol_ber = LoadBer(at + 0x68);
  counters.effective_errors = Load64(at + 0x7C);
  return counters;
}

void PpcntStatistical::Encode(RegisterBytes block) const {
  ClearSet(block);
  uint8_t* at = block.data() + kSetAt;
  Store64(at, milliseconds_since_clear);
  Store64(at + 0x08, received_bits);
  Store64(at + 0x10, symbol_errors);
  Store64(at + 0x18, corrected_bits);
  StoreAll64(at + 0x20, raw_errors_of_physical_lane);
  StoreBer(at + 0x60, raw_ber);
  StoreBer(at + 0x64, effective_ber);
  StoreBer(at + 0x68, symbol_ber);
  Store64(at + 0x7C, effective_errors);
}

PpcntRecovery PpcntRecovery::Decode(ConstRegisterBytes block) {
  const uint8_t* at = block.data() + kSetAt;
  PpcntRecovery counters;
  counters.successful_recoveries = Load32(at);
  counters.unintentional_recoveries = Load32(at + 4);
  counters.intentional_recoveries = Load32(at + 8);
  return counters;
}

void PpcntRecovery::Encode(RegisterBytes block) const {
  ClearSet(block);
  uint8_t* at = block.data() + kSetAt;
  Store32(at, successful_recoveries);
  Store32(at + 4, unintentional_recoveries);
  Store32(at + 8, intentional_recoveries);
}

// ---- PDDR

PddrRequest PddrRequest::Decode(ConstRegisterBytes block) {
  const uint8_t* at = block.data();
  PddrRequest request;
  request.port = LoadPort(at);
  request.plane = Bits(at[2], 0, 4);
  request.page = static_cast<PddrPage>(at[7]);
  request.powers_in_microwatts = Bits(at[4], 5, 2) == 1;
  return request;
}

void PddrRequest::Encode(RegisterBytes block) const {
  ClearBlock(block);
  uint8_t* at = block.data();
  StorePort(at, port);
  at[2] |= PlaceBits(plane, 0, 4);
  at[4] = PlaceBits(powers_in_microwatts, 5, 2);
  at[7] = static_cast<uint8_t>(page);
}

std::string_view PddrFecModeName(PddrFecMode mode) {
  switch (mode) {
    case PddrFecMode::kNone: return "none";
    case PddrFecMode::kFireCode: return "FireCode";
    case PddrFecMode::kRs528: return "RS(528,514)";
    case PddrFecMode::kLowLatencyRs271: return "low-latency RS(271,257)";
    case PddrFecMode::kQuadInterleavedRs544: return "quad-interleaved RS(544,514)";
    case PddrFecMode::kQuadInterleavedRs544Plr: return "quad-interleaved RS(544,514) + PLR";
    case PddrFecMode::kInterleavedRs544: return "interleaved RS(544,514)";
    case PddrFecMode::kRs544: return "RS(544,514)";
    case PddrFecMode::kOctetInterleavedRs544Plr: return "octet-interleaved RS(544,514) + PLR";
    case PddrFecMode::kLowLatencyRs272: return "low-latency RS(272,257+1)";
    case PddrFecMode::kInterleavedLowLatencyRs272: return "interleaved low-latency RS(272,257+1)";
    case PddrFecMode::kInterleavedRs544Plr: return "interleaved RS(544,514) + PLR";
    case PddrFecMode::kRs544Plr: return "RS(544,514) + PLR";
    case PddrFecMode::kLowLatencyRs271Plr: return "low-latency RS(271,257) + PLR";
    case PddrFecMode::kLowLatencyRs272Plr: return "low-latency RS(272,257+1) + PLR";
    case PddrFecMode::kInterleavedLowLatencyRs272Plr:
      return "interleaved low-latency RS(272,257+1) + PLR";
    case PddrFecMode::kHalfKp4Plr: break;
  }
  const auto number = static_cast<uint16_t>(mode);
  return number >= 16 && number <= 18 ? "half-KP4 RS(288,258) + PLR" : "unknown";
}

bool HasRetransmission(PddrFecMode mode) {
  const auto number = static_cast<uint16_t>(mode);
  return mode == PddrFecMode::kQuadInterleavedRs544Plr ||
         mode == PddrFecMode::kOctetInterleavedRs544Plr || (number >= 11 && number <= 18);
}

PddrOperational PddrOperational::Decode(ConstRegisterBytes block) {
  const uint8_t* at = block.data() + kSetAt;
  PddrOperational page;
  page.fec_mode_active = static_cast<PddrFecMode>(Load16(at + 0x1C));
  page.fec_mode_request = static_cast<PddrFecMode>(Load16(at + 0x1E));
  return page;
}

void PddrOperational::Encode(RegisterBytes block) const {
  ClearSet(block);
  uint8_t* at = block.data() + kSetAt;
  Store16(at + 0x1C, static_cast<uint16_t>(fec_mode_active));
  Store16(at + 0x1E, static_cast<uint16_t>(fec_mode_request));
}

bool PddrModule::IsCmis() const {
  switch (identifier) {
    case Identifier::kSfpDd:
    case Identifier::kQsfpDd:
    case Identifier::kQsfpCmis:
    case Identifier::kOsfp:
    case Identifier::kDsfp: return true;
    default: return false;
  }
}

std::optional<double> PddrModule::length_metres() const {
  constexpr double kCmisUnits[] = {0.1, 1, 10, 100};
  const double metres = IsCmis() ? kCmisUnits[length >> 6] * (length & 0x3F) : length;
  return metres == 0 ? std::nullopt : std::optional(metres);
}

std::optional<double> PddrModule::max_power_watts() const {
  constexpr double kQsfp[] = {1.0, 1.5, 2.0, 2.5, 3.5, 4.0, 4.5, 5.0};
  constexpr double kSfpDd[] = {0.5, 1.0, 1.5, 2.0, 3.5, 5.0};
  constexpr double kOsfp[] = {0, 1.5, 3.5, 7.0, 8.0, 10, 12, 14};
  constexpr uint8_t kByMaxPower = 8;
  constexpr double kMaxPowerUnit = 0.25;  // CMIS, page 00h byte 201.
  if (power_class == kByMaxPower) {
    return IsCmis() && max_power != 0 ? std::optional(kMaxPowerUnit * max_power) : std::nullopt;
  }
  const bool is_sfp_dd = identifier == Identifier::kSfpDd;
  const std::span<const double> watts = is_sfp_dd  ? std::span<const double>(kSfpDd)
                                        : IsCmis() ? kOsfp
                                                   : kQsfp;
  if (power_class >= watts.size() || watts[power_class] == 0) return std::nullopt;
  return watts[power_class];
}

std::optional<double> PddrModule::temperature_celsius() const {
  return temperature == 0 ? std::nullopt : std::optional(temperature / 256.0);
}

PddrModule PddrModule::Decode(ConstRegisterBytes block) {
  const uint8_t* at = block.data() + kSetAt;
  PddrModule page;
  page.cable_type = static_cast<CableType>(Bits(at[0x04], 4, 4));
  page.length = at[0x05];
  page.identifier = static_cast<Identifier>(at[0x06]);
  page.power_class = at[0x07];
  page.max_power = at[0x08];
  page.vendor_name = LoadText(at + 0x14);
  page.part_number = LoadText(at + 0x24);
  page.serial_number = LoadText(at + 0x3C);
  page.temperature = Load16Signed(at + 0x4C);
  page.voltage = Load16(at + 0x4E);
  LoadAll16(at + 0x50, page.rx_power);
  LoadAll16(at + 0x60, page.tx_power);
  page.temperature_alarm_high = Load16Signed(at + 0x80);
  page.temperature_alarm_low = Load16Signed(at + 0x82);
  return page;
}

void PddrModule::Encode(RegisterBytes block) const {
  ClearSet(block);
  uint8_t* at = block.data() + kSetAt;
  at[0x04] = PlaceBits(static_cast<uint8_t>(cable_type), 4, 4);
  at[0x05] = length;
  at[0x06] = static_cast<uint8_t>(identifier);
  at[0x07] = power_class;
  at[0x08] = max_power;
  StoreText(at + 0x14, vendor_name);
  StoreText(at + 0x24, part_number);
  StoreText(at + 0x3C, serial_number);
  Store16Signed(at + 0x4C, temperature);
  Store16(at + 0x4E, voltage);
  StoreAll16(at + 0x50, rx_power);
  StoreAll16(at + 0x60, tx_power);
  Store16Signed(at + 0x80, temperature_alarm_high);
  Store16Signed(at + 0x82, temperature_alarm_low);
}

std::string_view CableTypeName(PddrModule::CableType type) {
  switch (type) {
    case PddrModule::CableType::kUnidentified: return "unidentified";
    case PddrModule::CableType::kActive: return "active";
    case PddrModule::CableType::kOpticalModule: return "optical module";
    case PddrModule::CableType::kPassiveCopper: return "passive copper";
    case PddrModule::CableType::kUnplugged: return "unplugged";
    case PddrModule::CableType::kTwistedPair: return "twisted pair";
  }
  return "unknown";
}

std::string_view CableIdentifierName(PddrModule::Identifier name) {
  switch (name) {
    case PddrModule::Identifier::kQsfp28: return "QSFP28";
    case PddrModule::Identifier::kQsfpPlus: return "QSFP+";
    case PddrModule::Identifier::kSfp: return "SFP28 or SFP+";
    case PddrModule::Identifier::kQsa: return "QSA";
    case PddrModule::Identifier::kBackplane: return "backplane";
    case PddrModule::Identifier::kSfpDd: return "SFP-DD";
    case PddrModule::Identifier::kQsfpDd: return "QSFP-DD";
    case PddrModule::Identifier::kQsfpCmis: return "QSFP (CMIS)";
    case PddrModule::Identifier::kOsfp: return "OSFP";
    case PddrModule::Identifier::kChipToChip: return "chip-to-chip";
    case PddrModule::Identifier::kDsfp: return "DSFP";
    case PddrModule::Identifier::kQsfpSplit: return "QSFP split cable";
  }
  return "unknown";
}

std::string_view LinkDownReasonName(LinkDownReason reason) {
  switch (reason) {
    case LinkDownReason::kNone: return "none";
    case LinkDownReason::kUnknown: return "unknown";
    case LinkDownReason::kHighBer: return "high BER";
    case LinkDownReason::kBlockLockLoss: return "block lock lost";
    case LinkDownReason::kAlignmentLoss: return "alignment lost";
    case LinkDownReason::kFecSyncLoss: return "FEC synchronisation lost";
    case LinkDownReason::kPllLockLoss: return "PLL lock lost";
    case LinkDownReason::kFifoOverflow: return "FIFO overflow";
    case LinkDownReason::kFalseSkip: return "false SKIP";
    case LinkDownReason::kMinorErrorThreshold: return "minor error threshold";
    case LinkDownReason::kRetransmissionTimeout: return "retransmission timeout";
    case LinkDownReason::kHeartbeatErrors: return "heartbeat errors";
    case LinkDownReason::kCreditWatchdog: return "credit watchdog";
    case LinkDownReason::kLinkIntegrity: return "link integrity threshold";
    case LinkDownReason::kBufferOverrun: return "buffer overrun";
    case LinkDownReason::kOutOfBandCommand: return "out-of-band command";
    case LinkDownReason::kOutOfBandCommandHighBer: return "out-of-band command, high BER";
    case LinkDownReason::kInBandCommand: return "in-band command";
    case LinkDownReason::kInBandCommandHighBer: return "in-band command, high BER";
    case LinkDownReason::kVerification: return "verification";
    case LinkDownReason::kRemoteFault: return "remote fault";
    case LinkDownReason::kReceivedTs1: return "peer restarted training";
    case LinkDownReason::kManagementCommand: return "management command";
    case LinkDownReason::kCableUnplugged: return "cable unplugged";
    case LinkDownReason::kCableAccess: return "cable access";
    case LinkDownReason::kThermalShutdown: return "thermal shutdown";
    case LinkDownReason::kCurrent: return "current";
    case LinkDownReason::kPowerBudget: return "power budget";
    case LinkDownReason::kFastRecoveryRawBer: return "fast recovery, raw BER";
    case LinkDownReason::kFastRecoveryEffectiveBer: return "fast recovery, effective BER";
    case LinkDownReason::kFastRecoverySymbolBer: return "fast recovery, symbol BER";
    case LinkDownReason::kFastRecoveryCreditWatchdog: return "fast recovery, credit watchdog";
    case LinkDownReason::kTimeout: return "timeout";
    case LinkDownReason::kPeerDisabled: return "peer disabled";
    case LinkDownReason::kPeerReset: return "peer reset";
    case LinkDownReason::kTooManyRecoveries: return "too many recoveries";
    case LinkDownReason::kContain: return "contained";
    case LinkDownReason::kHighSer: return "high symbol error ratio";
  }
  return "unknown";
}

PddrLinkDown PddrLinkDown::Decode(ConstRegisterBytes block) {
  const uint8_t* at = block.data() + kSetAt;
  PddrLinkDown page;
  page.blame = static_cast<Blame>(Bits(at[0x03], 0, 4));
  page.intent = static_cast<Intent>(Bits(at[0x03], 4, 4));
  page.recovery_entry_reason = at[0x05];
  page.local_reason = static_cast<LinkDownReason>(at[0x07]);
  page.remote_reason = static_cast<LinkDownReason>(at[0x0B]);
  return page;
}

void PddrLinkDown::Encode(RegisterBytes block) const {
  ClearSet(block);
  uint8_t* at = block.data() + kSetAt;
  at[0x03] =
      PlaceBits(static_cast<uint8_t>(blame), 0, 4) | PlaceBits(static_cast<uint8_t>(intent), 4, 4);
  at[0x05] = recovery_entry_reason;
  at[0x07] = static_cast<uint8_t>(local_reason);
  at[0x0B] = static_cast<uint8_t>(remote_reason);
}

// ---- PPBMC

PpbmcRequest PpbmcRequest::Decode(ConstRegisterBytes block) { return {LoadPort(block.data())}; }

void PpbmcRequest::Encode(RegisterBytes block) const {
  ClearBlock(block);
  StorePort(block.data(), port);
}

Ppbmc Ppbmc::Decode(ConstRegisterBytes block) {
  Ppbmc monitor;
  monitor.monitored = Bits(block[2], 0, 4);
  monitor.state = static_cast<State>(block[7]);
  return monitor;
}

// What it monitors is in the word of the request.
void Ppbmc::Encode(RegisterBytes block) const {
  ClearSet(block, PpbmcRequest::kBytes);
  block[2] = static_cast<uint8_t>((block[2] & 0xF0) | PlaceBits(monitored, 0, 4));
  block[7] = static_cast<uint8_t>(state);
}

}  // namespace fabricd::wire
