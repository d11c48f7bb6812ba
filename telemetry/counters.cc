// SPDX-License-Identifier: Apache-2.0
#include "telemetry/counters.h"

namespace fabricd::telemetry {
namespace {

constexpr bool kError = true, kTraffic = false;

constexpr std::array<CounterInfo, kCounters> kInfos = {{
    {"PortXmitData", "xmit_data", "transmit_data_bytes_total", kTraffic, 32},
    {"PortRcvData", "rcv_data", "receive_data_bytes_total", kTraffic, 32},
    {"PortXmitPkts", "xmit_pkts", "transmit_packets_total", kTraffic, 32},
    {"PortRcvPkts", "rcv_pkts", "receive_packets_total", kTraffic, 32},
    {"PortUnicastXmitPkts", "unicast_xmit_pkts", "unicast_transmit_packets_total", kTraffic, 0},
    {"PortUnicastRcvPkts", "unicast_rcv_pkts", "unicast_receive_packets_total", kTraffic, 0},
    {"PortMulticastXmitPkts", "multicast_xmit_pkts", "multicast_transmit_packets_total", kTraffic,
     0},
    {"PortMulticastRcvPkts", "multicast_rcv_pkts", "multicast_receive_packets_total", kTraffic, 0},
    {"SymbolErrorCounter", "symbol_errors", "symbol_error_total", kError, 16},
    {"LinkErrorRecoveryCounter", "link_error_recovery", "link_error_recovery_total", kError, 8},
    {"LinkDownedCounter", "link_downed", "link_downed_total", kError, 8},
    {"PortRcvErrors", "rcv_errors", "receive_errors_total", kError, 16},
    {"PortRcvRemotePhysicalErrors", "rcv_remote_physical_errors",
     "receive_remote_physical_errors_total", kError, 16},
    {"PortRcvSwitchRelayErrors", "rcv_switch_relay_errors", "receive_switch_relay_errors_total",
     kError, 16},
    {"PortXmitDiscards", "xmit_discards", "transmit_discards_total", kError, 16},
    {"PortXmitConstraintErrors", "xmit_constraint_errors", "transmit_constraint_errors_total",
     kError, 8},
    {"PortRcvConstraintErrors", "rcv_constraint_errors", "receive_constraint_errors_total", kError,
     8},
    {"LocalLinkIntegrityErrors", "local_link_integrity_errors", "local_link_integrity_errors_total",
     kError, 4},
    {"ExcessiveBufferOverrunErrors", "excessive_buffer_overrun_errors",
     "excessive_buffer_overrun_errors_total", kError, 4},
    {"VL15Dropped", "vl15_dropped", "vl15_dropped_total", kError, 16},
    {"PortXmitWait", "xmit_wait", "transmit_wait_total", kTraffic, 32},
    {"QP1Dropped", "qp1_dropped", "qp1_dropped_total", kError, 16},
    {"PortLocalPhysicalErrors", "rcv_local_physical_errors", "local_physical_errors_total", kError,
     0},
    {"PortMalformedPktErrors", "rcv_malformed_pkt_errors", "malformed_packet_errors_total", kError,
     0},
    {"PortBufferOverrunErrors", "rcv_buffer_overrun_errors", "buffer_overrun_errors_total", kError,
     0},
    {"PortDLIDMappingErrors", "rcv_dlid_mapping_errors", "dli_mapping_errors_total", kError, 0},
    {"PortVLMappingErrors", "rcv_vl_mapping_errors", "vl_mapping_errors_total", kError, 0},
    {"PortLoopingErrors", "rcv_looping_errors", "looping_errors_total", kError, 0},
    {"PortInactiveDiscards", "xmit_inactive_discards", "inactive_discards_total", kError, 0},
    {"PortNeighborMTUDiscards", "xmit_neighbor_mtu_discards", "neighbor_mtu_discards_total", kError,
     0},
    {"PortSwLifetimeLimitDiscards", "xmit_sw_lifetime_discards",
     "software_lifetime_limit_discards_total", kError, 0},
    {"PortSwHOQLifetimeLimitDiscards", "xmit_sw_hoq_lifetime_discards",
     "software_hoq_lifetime_limit_discards_total", kError, 0},
    {"ReceivedBits", "rcv_bits", "", kTraffic, 0},
    {"PhySymbolErrors", "phy_symbol_errors", "", kError, 0},
    {"PhyCorrectedBits", "corrected_bits", "", kTraffic, 0},
    {"PhyRawErrors", "raw_errors", "", kTraffic, 0},
    {"PhyEffectiveErrors", "effective_errors", "", kError, 0},
    {"FecCorrectedBlocks", "fec_corrected_blocks", "", kTraffic, 0},
    {"FecUncorrectableBlocks", "fec_uncorrectable_blocks", "", kError, 0},
    {"LinkDownEvents", "link_down_events", "", kError, 0},
    {"SuccessfulRecoveries", "successful_recoveries", "", kError, 0},
    {"UnintentionalLinkDowns", "unintentional_link_downs", "", kError, 0},
    {"IntentionalLinkDowns", "intentional_link_downs", "", kTraffic, 0},
}};

}  // namespace

std::string_view SourceName(Source source) {
  switch (source) {
    case Source::kPortCountersExtended: return "PortCountersExtended";
    case Source::kPortCounters: return "PortCounters";
    case Source::kPortRcvErrorDetails: return "PortRcvErrorDetails";
    case Source::kPortXmitDiscardDetails: return "PortXmitDiscardDetails";
    case Source::kPpcntStatistical: return "PPCNT 0x16";
    case Source::kPpcntPhysical:
    case Source::kPpcntLinkDowns: return "PPCNT 0x12";
  }
  return "unknown";
}

const CounterInfo& InfoOf(Counter counter) { return kInfos[Index(counter)]; }

std::optional<Counter> FindCounter(std::string_view name) {
  for (size_t i = 0; i < kCounters; ++i) {
    if (kInfos[i].key == name || kInfos[i].name == name) return static_cast<Counter>(i);
  }
  return std::nullopt;
}

}  // namespace fabricd::telemetry
