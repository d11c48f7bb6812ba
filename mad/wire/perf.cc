// SPDX-License-Identifier: Apache-2.0
#include "mad/wire/perf.h"

#include <algorithm>

#include "mad/wire/bytes.h"

namespace fabricd::wire {

namespace {

constexpr size_t kDataAt = 64;
constexpr size_t kExtendedCountersAt = 8;
constexpr size_t kDetailsAt = 4;
constexpr size_t kErrorDetectionAt = 20;
constexpr size_t kFecCorrectableAt = 44;
constexpr size_t kFecUncorrectableAt = 92;
constexpr size_t kRsFecTotalsAt = 140;

// In the order in which they are sent, 8 bytes each.
constexpr uint64_t PortCountersExtended::*kExtendedCounters[] = {
    &PortCountersExtended::xmit_data,
    &PortCountersExtended::rcv_data,
    &PortCountersExtended::xmit_pkts,
    &PortCountersExtended::rcv_pkts,
    &PortCountersExtended::unicast_xmit_pkts,
    &PortCountersExtended::unicast_rcv_pkts,
    &PortCountersExtended::multicast_xmit_pkts,
    &PortCountersExtended::multicast_rcv_pkts,
    &PortCountersExtended::symbol_error,
    &PortCountersExtended::link_error_recovery,
    &PortCountersExtended::link_downed,
    &PortCountersExtended::rcv_errors,
    &PortCountersExtended::rcv_remote_physical_errors,
    &PortCountersExtended::rcv_switch_relay_errors,
    &PortCountersExtended::xmit_discards,
    &PortCountersExtended::xmit_constraint_errors,
    &PortCountersExtended::rcv_constraint_errors,
    &PortCountersExtended::local_link_integrity_errors,
    &PortCountersExtended::excessive_buffer_overrun_errors,
    &PortCountersExtended::vl15_dropped,
    &PortCountersExtended::xmit_wait,
    &PortCountersExtended::qp1_dropped,
};

// 2 bytes each.
constexpr uint16_t PortRcvErrorDetails::*kRcvErrorDetails[] = {
    &PortRcvErrorDetails::local_physical_errors, &PortRcvErrorDetails::malformed_packet_errors,
    &PortRcvErrorDetails::buffer_overrun_errors, &PortRcvErrorDetails::dlid_mapping_errors,
    &PortRcvErrorDetails::vl_mapping_errors,     &PortRcvErrorDetails::looping_errors,
};
constexpr uint16_t PortXmitDiscardDetails::*kXmitDiscardDetails[] = {
    &PortXmitDiscardDetails::inactive_discards,
    &PortXmitDiscardDetails::neighbor_mtu_discards,
    &PortXmitDiscardDetails::sw_lifetime_limit_discards,
    &PortXmitDiscardDetails::sw_hoq_lifetime_limit_discards,
};

void Clear(std::span<uint8_t, kPerfDataBytes> data) {
  std::fill(data.begin(), data.end(), uint8_t{0});
}

template <typename Details, size_t kCount>
Details DecodeDetails(const uint8_t* at, uint16_t Details::*const (&counters)[kCount]) {
  Details details;
  details.port_select = at[1];
  details.counter_select = Load16(at + 2);
  for (size_t i = 0; i < kCount; ++i) details.*counters[i] = Load16(at + kDetailsAt + 2 * i);
  return details;
}

template <typename Details, size_t kCount>
void EncodeDetails(const Details& details, uint8_t* at,
                   uint16_t Details::*const (&counters)[kCount]) {
  at[1] = details.port_select;
  Store16(at + 2, details.counter_select);
  for (size_t i = 0; i < kCount; ++i) Store16(at + kDetailsAt + 2 * i, details.*counters[i]);
}

void LoadPhysicalLanes(const uint8_t* at, std::array<uint32_t, kMaxPhysicalLanes>& counters) {
  for (size_t i = 0; i < counters.size(); ++i) counters[i] = Load32(at + 4 * i);
}

void StorePhysicalLanes(uint8_t* at, const std::array<uint32_t, kMaxPhysicalLanes>& counters) {
  for (size_t i = 0; i < counters.size(); ++i) Store32(at + 4 * i, counters[i]);
}

// What both forms of PortExtendedSpeedsCounters begin with.
template <typename Counters>
void DecodeSpeedsHead(const uint8_t* at, Counters& counters) {
  counters.port_select = at[1];
  counters.counter_select = Load64(at + 8);
  counters.sync_header_errors = Load16(at + 16);
  counters.unknown_blocks = Load16(at + 18);
}

template <typename Counters>
void EncodeSpeedsHead(const Counters& counters, uint8_t* at) {
  at[1] = counters.port_select;
  Store64(at + 8, counters.counter_select);
  Store16(at + 16, counters.sync_header_errors);
  Store16(at + 18, counters.unknown_blocks);
}

}  // namespace

std::string_view PerfAttributeName(PerfAttribute attribute) {
  switch (attribute) {
    case PerfAttribute::kClassPortInfo: return "ClassPortInfo";
    case PerfAttribute::kPortSamplesControl: return "PortSamplesControl";
    case PerfAttribute::kPortSamplesResult: return "PortSamplesResult";
    case PerfAttribute::kPortCounters: return "PortCounters";
    case PerfAttribute::kPortRcvErrorDetails: return "PortRcvErrorDetails";
    case PerfAttribute::kPortXmitDiscardDetails: return "PortXmitDiscardDetails";
    case PerfAttribute::kPortOpRcvCounters: return "PortOpRcvCounters";
    case PerfAttribute::kPortFlowCtlCounters: return "PortFlowCtlCounters";
    case PerfAttribute::kPortVlOpPackets: return "PortVLOpPackets";
    case PerfAttribute::kPortVlOpData: return "PortVLOpData";
    case PerfAttribute::kPortVlXmitFlowCtlUpdateErrors: return "PortVLXmitFlowCtlUpdateErrors";
    case PerfAttribute::kPortVlXmitWaitCounters: return "PortVLXmitWaitCounters";
    case PerfAttribute::kPortCountersExtended: return "PortCountersExtended";
    case PerfAttribute::kPortSamplesResultExtended: return "PortSamplesResultExtended";
    case PerfAttribute::kPortExtendedSpeedsCounters: return "PortExtendedSpeedsCounters";
  }
  return "unknown";
}

std::optional<PerfMad> PerfMad::Decode(std::span<const uint8_t, kMadBytes> bytes) {
  const MadHeader header = MadHeader::Decode(bytes);
  if (header.management_class != ManagementClass::kPerf) return std::nullopt;
  std::optional<PerfMad> mad(std::in_place);
  mad->class_version = header.class_version;
  mad->method = header.method;
  mad->status = header.status;
  mad->transaction_id = header.transaction_id;
  mad->attribute = static_cast<PerfAttribute>(header.attribute);
  mad->modifier = header.modifier;
  std::copy_n(bytes.begin() + kDataAt, kPerfDataBytes, mad->data.begin());
  return mad;
}

void PerfMad::Encode(std::span<uint8_t, kMadBytes> bytes) const {
  std::fill(bytes.begin(), bytes.end(), uint8_t{0});
  MadHeader header;
  header.management_class = ManagementClass::kPerf;
  header.class_version = class_version;
  header.method = method;
  header.status = status;
  header.transaction_id = transaction_id;
  header.attribute = static_cast<AttributeId>(attribute);
  header.modifier = modifier;
  header.Encode(bytes);
  std::copy(data.begin(), data.end(), bytes.begin() + kDataAt);
}

PortSamplesControl PortSamplesControl::Decode(std::span<const uint8_t, kBytes> data) {
  const uint8_t* at = data.data();
  PortSamplesControl control;
  control.op_code = at[0];
  control.port_select = at[1];
  control.tick = at[2];
  control.counter_width = Bits(at[3], 0, 3);
  control.sample_mechanisms = at[10];
  control.sample_status = Bits(at[11], 0, 2);
  control.option_mask = Load64(at + 12);
  control.vendor_mask = Load64(at + 20);
  return control;
}

void PortSamplesControl::Encode(std::span<uint8_t, kBytes> data) const {
  Clear(data);
  uint8_t* at = data.data();
  at[0] = op_code;
  at[1] = port_select;
  at[2] = tick;
  at[3] = PlaceBits(counter_width, 0, 3);
  at[10] = sample_mechanisms;
  at[11] = PlaceBits(sample_status, 0, 2);
  Store64(at + 12, option_mask);
  Store64(at + 20, vendor_mask);
}

PortCounters PortCounters::Decode(std::span<const uint8_t, kBytes> data) {
  const uint8_t* at = data.data();
  PortCounters counters;
  counters.port_select = at[1];
  counters.counter_select = Load16(at + 2);
  counters.symbol_error = Load16(at + 4);
  counters.link_error_recovery = at[6];
  counters.link_downed = at[7];
  counters.rcv_errors = Load16(at + 8);
  counters.rcv_remote_physical_errors = Load16(at + 10);
  counters.rcv_switch_relay_errors = Load16(at + 12);
  counters.xmit_discards = Load16(at + 14);
  counters.xmit_constraint_errors = at[16];
  counters.rcv_constraint_errors = at[17];
  counters.counter_select2 = at[18];
  counters.local_link_integrity_errors = Bits(at[19], 4, 4);
  counters.excessive_buffer_overrun_errors = Bits(at[19], 0, 4);
  counters.qp1_dropped = Load16(at + 20);
  counters.vl15_dropped = Load16(at + 22);
  counters.xmit_data = Load32(at + 24);
  counters.rcv_data = Load32(at + 28);
  counters.xmit_pkts = Load32(at + 32);
  counters.rcv_pkts = Load32(at + 36);
  counters.xmit_wait = Load32(at + 40);
  return counters;
}

void PortCounters::Encode(std::span<uint8_t, kBytes> data) const {
  Clear(data);
  uint8_t* at = data.data();
  at[1] = port_select;
  Store16(at + 2, counter_select);
  Store16(at + 4, symbol_error);
  at[6] = link_error_recovery;
  at[7] = link_downed;
  Store16(at + 8, rcv_errors);
  Store16(at + 10, rcv_remote_physical_errors);
  Store16(at + 12, rcv_switch_relay_errors);
  Store16(at + 14, xmit_discards);
  at[16] = xmit_constraint_errors;
  at[17] = rcv_constraint_errors;
  at[18] = counter_select2;
  at[19] = PlaceBits(local_link_integrity_errors, 4, 4) |
           PlaceBits(excessive_buffer_overrun_errors, 0, 4);
  Store16(at + 20, qp1_dropped);
  Store16(at + 22, vl15_dropped);
  Store32(at + 24, xmit_data);
  Store32(at + 28, rcv_data);
  Store32(at + 32, xmit_pkts);
  Store32(at + 36, rcv_pkts);
  Store32(at + 40, xmit_wait);
}

PortCountersExtended PortCountersExtended::Decode(std::span<const uint8_t, kBytes> data) {
  const uint8_t* at = data.data();
  PortCountersExtended counters;
  counters.port_select = at[1];
  counters.counter_select = Load16(at + 2);
  counters.counter_select2 = Load32(at + 4);
  for (size_t i = 0; i < std::size(kExtendedCounters); ++i) {
    counters.*kExtendedCounters[i] = Load64(at + kExtendedCountersAt + 8 * i);
  }
  return counters;
}

void PortCountersExtended::Encode(std::span<uint8_t, kBytes> data) const {
  Clear(data);
  uint8_t* at = data.data();
  at[1] = port_select;
  Store16(at + 2, counter_select);
  Store32(at + 4, counter_select2);
  for (size_t i = 0; i < std::size(kExtendedCounters); ++i) {
    Store64(at + kExtendedCountersAt + 8 * i, this->*kExtendedCounters[i]);
  }
}

PortRcvErrorDetails PortRcvErrorDetails::Decode(std::span<const uint8_t, kBytes> data) {
  return DecodeDetails(data.data(), kRcvErrorDetails);
}

void PortRcvErrorDetails::Encode(std::span<uint8_t, kBytes> data) const {
  Clear(data);
  EncodeDetails(*this, data.data(), kRcvErrorDetails);
}

PortXmitDiscardDetails PortXmitDiscardDetails::Decode(std::span<const uint8_t, kBytes> data) {
  return DecodeDetails(data.data(), kXmitDiscardDetails);
}

void PortXmitDiscardDetails::Encode(std::span<uint8_t, kBytes> data) const {
  Clear(data);
  EncodeDetails(*this, data.data(), kXmitDiscardDetails);
}

PortExtendedSpeedsCounters PortExtendedSpeedsCounters::Decode(
    std::span<const uint8_t, kBytes> data) {
  const uint8_t* at = data.data();
  PortExtendedSpeedsCounters counters;
  DecodeSpeedsHead(at, counters);
  for (size_t i = 0; i < kMaxPhysicalLanes; ++i) {
    counters.error_detection[i] = Load16(at + kErrorDetectionAt + 2 * i);
  }
  LoadPhysicalLanes(at + kFecCorrectableAt, counters.fec_correctable_blocks);
  LoadPhysicalLanes(at + kFecUncorrectableAt, counters.fec_uncorrectable_blocks);
  return counters;
}

void PortExtendedSpeedsCounters::Encode(std::span<uint8_t, kBytes> data) const {
  Clear(data);
  uint8_t* at = data.data();
  EncodeSpeedsHead(*this, at);
  for (size_t i = 0; i < kMaxPhysicalLanes; ++i) {
    Store16(at + kErrorDetectionAt + 2 * i, error_detection[i]);
  }
  StorePhysicalLanes(at + kFecCorrectableAt, fec_correctable_blocks);
  StorePhysicalLanes(at + kFecUncorrectableAt, fec_uncorrectable_blocks);
}

PortExtendedSpeedsCountersRsFec PortExtendedSpeedsCountersRsFec::Decode(
    std::span<const uint8_t, kBytes> data) {
  const uint8_t* at = data.data();
  PortExtendedSpeedsCountersRsFec counters;
  DecodeSpeedsHead(at, counters);
  LoadPhysicalLanes(at + kFecCorrectableAt, counters.fec_corrected_symbols_of_physical_lane);
  counters.fec_correctable_blocks = Load32(at + kRsFecTotalsAt);
  counters.fec_uncorrectable_blocks = Load32(at + kRsFecTotalsAt + 4);
  counters.fec_corrected_symbols = Load32(at + kRsFecTotalsAt + 8);
  return counters;
}

void PortExtendedSpeedsCountersRsFec::Encode(std::span<uint8_t, kBytes> data) const {
  Clear(data);
  uint8_t* at = data.data();
  EncodeSpeedsHead(*this, at);
  StorePhysicalLanes(at + kFecCorrectableAt, fec_corrected_symbols_of_physical_lane);
  Store32(at + kRsFecTotalsAt, fec_correctable_blocks);
  Store32(at + kRsFecTotalsAt + 4, fec_uncorrectable_blocks);
  Store32(at + kRsFecTotalsAt + 8, fec_corrected_symbols);
}

}  // namespace fabricd::wire
