// SPDX-License-Identifier: Apache-2.0
// Performance management (IBA vol 1 §16.1; class 0x04 version 1, GMPs to QP 1): the counters of a
// port. Layouts: reference/telemetry-and-adaptive.md §1.2.
//
// A Get of a counter attribute names its port by port_select and leaves all else 0;
// AttributeModifier is 0. A Set with select bits clears the counters that they select. fabricd
// sends no Set (counters have other readers); the encoders of selects and counters are for
// simulated devices and tools.
//
// Counters stick at their maximum, all ones of their width: they do not wrap (§1.3 there).
#pragma once

#include <optional>

#include "mad/wire/class_port_info.h"
#include "mad/wire/mad_header.h"

namespace fabricd::wire {

inline constexpr size_t kPerfDataBytes = 192;  // From MAD byte 64 to the end.
using PerfData = std::array<uint8_t, kPerfDataBytes>;
inline constexpr uint8_t kPerfClassVersion = 1;
// PortSelect of all ports of a switch together, where kPerfAllPortSelect is set.
inline constexpr uint8_t kAllPortSelect = 0xFF;

// §1.1 there says which ports have them. Those without a decoder here are named for logs only.
enum class PerfAttribute : uint16_t {
  kClassPortInfo = 0x0001,
  kPortSamplesControl = 0x0010,
  kPortSamplesResult = 0x0011,
  kPortCounters = 0x0012,
  kPortRcvErrorDetails = 0x0015,
  kPortXmitDiscardDetails = 0x0016,
  kPortOpRcvCounters = 0x0017,
  kPortFlowCtlCounters = 0x0018,
  kPortVlOpPackets = 0x0019,
  kPortVlOpData = 0x001A,
  kPortVlXmitFlowCtlUpdateErrors = 0x001B,
  kPortVlXmitWaitCounters = 0x001C,
  kPortCountersExtended = 0x001D,
  kPortSamplesResultExtended = 0x001E,
  kPortExtendedSpeedsCounters = 0x001F,
};
// "PortCountersExtended"; "unknown" for what the enum does not name.
std::string_view PerfAttributeName(PerfAttribute attribute);

// ClassPortInfo.CapabilityMask of this class.
inline constexpr uint16_t kPerfAllPortSelect = 1u << 8;
inline constexpr uint16_t kPerfExtendedWidth = 1u << 9;  // PortCountersExtended
// PortCountersExtended without the unicast and multicast counters.
inline constexpr uint16_t kPerfExtendedWidthNoIetf = 1u << 10;
inline constexpr uint16_t kPerfSamplesOnly = 1u << 11;
inline constexpr uint16_t kPerfXmitWait = 1u << 12;
inline constexpr uint16_t kPerfMulticastPKeyTrapSuppression = 1u << 13;
inline constexpr uint16_t kPerfRsFec = 1u << 14;  // PortExtendedSpeedsCountersRsFec
inline constexpr uint16_t kPerfQp1Dropped = 1u << 15;
// ClassPortInfo.CapabilityMask2 of this class.
inline constexpr uint32_t kPerf2PmKey = 1u << 0;
inline constexpr uint32_t kPerf2ExtendedErrors = 1u << 1;  // Second half of PortCountersExtended.
inline constexpr uint32_t kPerf2Virtualization = 1u << 2;

// One GMP of the class.
struct PerfMad {
  uint8_t class_version = kPerfClassVersion;
  Method method = Method::kGet;
  uint16_t status = 0;
  uint64_t transaction_id = 0;  // A response repeats all 64 bits, the kernel's upper half too.
  PerfAttribute attribute{};
  uint32_t modifier = 0;
  PerfData data{};

  TransactionId tid() const { return TransactionId(static_cast<uint32_t>(transaction_id)); }
  // nullopt where the class is another one. The 40 bytes between header and data are reserved.
  static std::optional<PerfMad> Decode(std::span<const uint8_t, kMadBytes> bytes);
  void Encode(std::span<uint8_t, kMadBytes> bytes) const;  // Writes all 256 bytes.
  friend bool operator==(const PerfMad&, const PerfMad&) = default;
};

// The decoders below take what they know and drop what is reserved; Encode writes 0 there.

// How samples are taken (IBA vol 1 §16.1.3.2). Only what describes the port; what starts a sample
// is not kept.
struct PortSamplesControl {
  static constexpr PerfAttribute kAttribute = PerfAttribute::kPortSamplesControl;
  static constexpr size_t kBytes = kPerfDataBytes;
  uint8_t op_code = 0;
  uint8_t port_select = 0;
  uint8_t tick = 0;           // PortXmitWait counts once in tick + 1 byte times.
  uint8_t counter_width = 0;  // 3 bits
  uint8_t sample_mechanisms = 0;
  uint8_t sample_status = 0;  // 2 bits
  uint64_t option_mask = 0;   // Which optional counters the port has.
  uint64_t vendor_mask = 0;

  static PortSamplesControl Decode(std::span<const uint8_t, kBytes> data);
  void Encode(std::span<uint8_t, kBytes> data) const;
  friend bool operator==(const PortSamplesControl&, const PortSamplesControl&) = default;
};

// IBA vol 1 §16.1.3.5. Data counters are in units of 4 bytes. XmitWait and QP1Dropped mean
// something where kPerfXmitWait and kPerfQp1Dropped are set.
struct PortCounters {
  static constexpr PerfAttribute kAttribute = PerfAttribute::kPortCounters;
  static constexpr size_t kBytes = kPerfDataBytes;
  // Bits of counter_select, then of counter_select2.
  static constexpr uint16_t kSelectSymbolError = 1u << 0;
  static constexpr uint16_t kSelectLinkErrorRecovery = 1u << 1;
  static constexpr uint16_t kSelectLinkDowned = 1u << 2;
  static constexpr uint16_t kSelectRcvErrors = 1u << 3;
  static constexpr uint16_t kSelectRcvRemotePhysicalErrors = 1u << 4;
  static constexpr uint16_t kSelectRcvSwitchRelayErrors = 1u << 5;
  static constexpr uint16_t kSelectXmitDiscards = 1u << 6;
  static constexpr uint16_t kSelectXmitConstraintErrors = 1u << 7;
  static constexpr uint16_t kSelectRcvConstraintErrors = 1u << 8;
  static constexpr uint16_t kSelectLocalLinkIntegrityErrors = 1u << 9;
  static constexpr uint16_t kSelectExcessiveBufferOverrunErrors = 1u << 10;
  static constexpr uint16_t kSelectVl15Dropped = 1u << 11;
  static constexpr uint16_t kSelectXmitData = 1u << 12;
  static constexpr uint16_t kSelectRcvData = 1u << 13;
  static constexpr uint16_t kSelectXmitPkts = 1u << 14;
  static constexpr uint16_t kSelectRcvPkts = 1u << 15;
  static constexpr uint8_t kSelect2XmitWait = 1u << 0;

  uint8_t port_select = 0;
  uint16_t counter_select = 0;
  uint8_t counter_select2 = 0;
  uint16_t symbol_error = 0;
  uint8_t link_error_recovery = 0;
  uint8_t link_downed = 0;
  uint16_t rcv_errors = 0;
  uint16_t rcv_remote_physical_errors = 0;
  uint16_t rcv_switch_relay_errors = 0;
  uint16_t xmit_discards = 0;
  uint8_t xmit_constraint_errors = 0;
  uint8_t rcv_constraint_errors = 0;
  uint8_t local_link_integrity_errors = 0;      // 4 bits
  uint8_t excessive_buffer_overrun_errors = 0;  // 4 bits
  uint16_t qp1_dropped = 0;
  uint16_t vl15_dropped = 0;
  uint32_t xmit_data = 0;
  uint32_t rcv_data = 0;
  uint32_t xmit_pkts = 0;
  uint32_t rcv_pkts = 0;
  uint32_t xmit_wait = 0;  // In units of PortSamplesControl.Tick.

  static PortCounters Decode(std::span<const uint8_t, kBytes> data);
  void Encode(std::span<uint8_t, kBytes> data) const;
  friend bool operator==(const PortCounters&, const PortCounters&) = default;
};

// The same in 64 bits (IBA vol 1 §16.1.4.11). The counters from symbol_error on mean something only
// where kPerf2ExtendedErrors is set, and the four unicast and multicast ones where
// kPerfExtendedWidth is (not kPerfExtendedWidthNoIetf): devices without them send anything there.
struct PortCountersExtended {
  static constexpr PerfAttribute kAttribute = PerfAttribute::kPortCountersExtended;
  static constexpr size_t kBytes = kPerfDataBytes;
  // Bits of counter_select.
  static constexpr uint16_t kSelectXmitData = 1u << 0;
  static constexpr uint16_t kSelectRcvData = 1u << 1;
  static constexpr uint16_t kSelectXmitPkts = 1u << 2;
  static constexpr uint16_t kSelectRcvPkts = 1u << 3;
  static constexpr uint16_t kSelectUnicastXmitPkts = 1u << 4;
  static constexpr uint16_t kSelectUnicastRcvPkts = 1u << 5;
  static constexpr uint16_t kSelectMulticastXmitPkts = 1u << 6;
  static constexpr uint16_t kSelectMulticastRcvPkts = 1u << 7;

  uint8_t port_select = 0;
  uint16_t counter_select = 0;
  uint32_t counter_select2 = 0;
  uint64_t xmit_data = 0;  // In units of 4 bytes, as is rcv_data.
  uint64_t rcv_data = 0;
  uint64_t xmit_pkts = 0;
  uint64_t rcv_pkts = 0;
  uint64_t unicast_xmit_pkts = 0;
  uint64_t unicast_rcv_pkts = 0;
  uint64_t multicast_xmit_pkts = 0;
  uint64_t multicast_rcv_pkts = 0;
  uint64_t symbol_error = 0;
  uint64_t link_error_recovery = 0;
  uint64_t link_downed = 0;
  uint64_t rcv_errors = 0;
  uint64_t rcv_remote_physical_errors = 0;
  uint64_t rcv_switch_relay_errors = 0;
  uint64_t xmit_discards = 0;
  uint64_t xmit_constraint_errors = 0;
  uint64_t rcv_constraint_errors = 0;
  uint64_t local_link_integrity_errors = 0;
  uint64_t excessive_buffer_overrun_errors = 0;
  uint64_t vl15_dropped = 0;
  uint64_t xmit_wait = 0;
  uint64_t qp1_dropped = 0;

  static PortCountersExtended Decode(std::span<const uint8_t, kBytes> data);
  void Encode(std::span<uint8_t, kBytes> data) const;
  friend bool operator==(const PortCountersExtended&, const PortCountersExtended&) = default;
};

// What PortCounters.rcv_errors and rcv_switch_relay_errors consist of (IBA vol 1 §16.1.4.1).
struct PortRcvErrorDetails {
  static constexpr PerfAttribute kAttribute = PerfAttribute::kPortRcvErrorDetails;
  static constexpr size_t kBytes = kPerfDataBytes;
  uint8_t port_select = 0;
  uint16_t counter_select = 0;
  uint16_t local_physical_errors = 0;
  uint16_t malformed_packet_errors = 0;
  uint16_t buffer_overrun_errors = 0;
  uint16_t dlid_mapping_errors = 0;
  uint16_t vl_mapping_errors = 0;
  uint16_t looping_errors = 0;

  static PortRcvErrorDetails Decode(std::span<const uint8_t, kBytes> data);
  void Encode(std::span<uint8_t, kBytes> data) const;
  friend bool operator==(const PortRcvErrorDetails&, const PortRcvErrorDetails&) = default;
};

// What PortCounters.xmit_discards consists of (IBA vol 1 §16.1.4.2).
struct PortXmitDiscardDetails {
  static constexpr PerfAttribute kAttribute = PerfAttribute::kPortXmitDiscardDetails;
  static constexpr size_t kBytes = kPerfDataBytes;
  uint8_t port_select = 0;
  uint16_t counter_select = 0;
  uint16_t inactive_discards = 0;
  uint16_t neighbor_mtu_discards = 0;
  uint16_t sw_lifetime_limit_discards = 0;
  uint16_t sw_hoq_lifetime_limit_discards = 0;

  static PortXmitDiscardDetails Decode(std::span<const uint8_t, kBytes> data);
  void Encode(std::span<uint8_t, kBytes> data) const;
  friend bool operator==(const PortXmitDiscardDetails&, const PortXmitDiscardDetails&) = default;
};

inline constexpr size_t kMaxPhysicalLanes = 12;

// PortExtendedSpeedsCounters of a port without RS-FEC: per physical lane.
struct PortExtendedSpeedsCounters {
  static constexpr PerfAttribute kAttribute = PerfAttribute::kPortExtendedSpeedsCounters;
  static constexpr size_t kBytes = kPerfDataBytes;
  uint8_t port_select = 0;
  uint64_t counter_select = 0;
  uint16_t sync_header_errors = 0;
  uint16_t unknown_blocks = 0;
  std::array<uint16_t, kMaxPhysicalLanes> error_detection{};
  std::array<uint32_t, kMaxPhysicalLanes> fec_correctable_blocks{};
  std::array<uint32_t, kMaxPhysicalLanes> fec_uncorrectable_blocks{};

  static PortExtendedSpeedsCounters Decode(std::span<const uint8_t, kBytes> data);
  void Encode(std::span<uint8_t, kBytes> data) const;
  friend bool operator==(const PortExtendedSpeedsCounters&,
                         const PortExtendedSpeedsCounters&) = default;
};

// The same attribute of a port with RS-FEC: where kPerfRsFec is set and PortInfoExtended (SMP)
// reports FecMode::kRs or kRs2. Nothing in the data tells the two forms apart.
struct PortExtendedSpeedsCountersRsFec {
  static constexpr PerfAttribute kAttribute = PerfAttribute::kPortExtendedSpeedsCounters;
  static constexpr size_t kBytes = kPerfDataBytes;
  uint8_t port_select = 0;
  uint64_t counter_select = 0;
  uint16_t sync_header_errors = 0;
  uint16_t unknown_blocks = 0;
  std::array<uint32_t, kMaxPhysicalLanes> fec_corrected_symbols_of_physical_lane{};
  uint32_t fec_correctable_blocks = 0;
  uint32_t fec_uncorrectable_blocks = 0;
  uint32_t fec_corrected_symbols = 0;

  static PortExtendedSpeedsCountersRsFec Decode(std::span<const uint8_t, kBytes> data);
  void Encode(std::span<uint8_t, kBytes> data) const;
  friend bool operator==(const PortExtendedSpeedsCountersRsFec&,
                         const PortExtendedSpeedsCountersRsFec&) = default;
};

}  // namespace fabricd::wire
