// SPDX-License-Identifier: Apache-2.0
// The PerfMgt codecs, and what it knows of ExtPortInfo, against libibmad as oracle
// (libibmad_oracle.h). It takes QP1Dropped of PortCounters from the bytes of VL15Dropped: that
// field is tested by perf_test.cc alone.
#include <gtest/gtest.h>

#include "mad/wire/class_port_info.h"
#include "mad/wire/perf.h"
#include "mad/wire/vendor_smp.h"
#include "tests/unit/mad/wire/libibmad_oracle.h"

namespace fabricd::wire {
namespace {

using testing::CompareBothWays;
using testing::Field;
using testing::Of;
using testing::ToNumber;

MAD_FIELDS Next(MAD_FIELDS field, size_t by) { return static_cast<MAD_FIELDS>(field + by); }

template <typename Member>
Field<ClassPortInfo> OfTarget(MAD_FIELDS field, int bits,
                              ClassPortInfo::Target ClassPortInfo::*target,
                              Member ClassPortInfo::Target::*member) {
  return {field, bits, [=](const ClassPortInfo& value) { return ToNumber(value.*target.*member); },
          [=](ClassPortInfo& value, uint64_t number) {
            if constexpr (requires { (value.*target.*member).value(); }) {
              value.*target.*member = Member(static_cast<typename Member::Value>(number));
            } else {
              value.*target.*member = static_cast<Member>(number);
            }
          }};
}

// GIDs are arrays to libibmad: compared in wire_ib_types_test.
TEST(PerfLibibmadOracle, ClassPortInfo) {
  using C = ClassPortInfo;
  using T = C::Target;
  CompareBothWays<C, C::kBytes>({
      Of(IB_CPI_BASEVER_F, 8, &C::base_version),
      Of(IB_CPI_CLASSVER_F, 8, &C::class_version),
      Of(IB_CPI_CAPMASK_F, 16, &C::capability_mask),
      Of(IB_CPI_CAPMASK2_F, 27, &C::capability_mask2),
      Of(IB_CPI_RESP_TIME_VALUE_F, 5, &C::response_time_value),
      OfTarget(IB_CPI_REDIRECT_TC_F, 8, &C::redirect, &T::traffic_class),
      OfTarget(IB_CPI_REDIRECT_SL_F, 4, &C::redirect, &T::sl),
      OfTarget(IB_CPI_REDIRECT_FL_F, 20, &C::redirect, &T::flow_label),
      OfTarget(IB_CPI_REDIRECT_LID_F, 16, &C::redirect, &T::lid),
      OfTarget(IB_CPI_REDIRECT_PKEY_F, 16, &C::redirect, &T::p_key),
      OfTarget(IB_CPI_REDIRECT_QP_F, 24, &C::redirect, &T::qpn),
      OfTarget(IB_CPI_REDIRECT_QKEY_F, 32, &C::redirect, &T::q_key),
      OfTarget(IB_CPI_TRAP_TC_F, 8, &C::trap, &T::traffic_class),
      OfTarget(IB_CPI_TRAP_SL_F, 4, &C::trap, &T::sl),
      OfTarget(IB_CPI_TRAP_FL_F, 20, &C::trap, &T::flow_label),
      OfTarget(IB_CPI_TRAP_LID_F, 16, &C::trap, &T::lid),
      OfTarget(IB_CPI_TRAP_PKEY_F, 16, &C::trap, &T::p_key),
      OfTarget(IB_CPI_TRAP_HL_F, 8, &C::trap, &T::hop_limit),
      OfTarget(IB_CPI_TRAP_QP_F, 24, &C::trap, &T::qpn),
      OfTarget(IB_CPI_TRAP_QKEY_F, 32, &C::trap, &T::q_key),
  });
}

TEST(PerfLibibmadOracle, PortSamplesControl) {
  using P = PortSamplesControl;
  CompareBothWays<P, kPerfDataBytes>({
      Of(IB_PSC_OPCODE_F, 8, &P::op_code),
      Of(IB_PSC_PORT_SELECT_F, 8, &P::port_select),
      Of(IB_PSC_TICK_F, 8, &P::tick),
      Of(IB_PSC_COUNTER_WIDTH_F, 3, &P::counter_width),
      Of(IB_PSC_SAMPLE_MECHS_F, 8, &P::sample_mechanisms),
      Of(IB_PSC_SAMPLE_STATUS_F, 2, &P::sample_status),
      Of(IB_PSC_OPTION_MASK_F, 64, &P::option_mask),
      Of(IB_PSC_VENDOR_MASK_F, 64, &P::vendor_mask),
  });
}

TEST(PerfLibibmadOracle, PortCounters) {
  using P = PortCounters;
  CompareBothWays<P, kPerfDataBytes>({
      Of(IB_PC_PORT_SELECT_F, 8, &P::port_select),
      Of(IB_PC_COUNTER_SELECT_F, 16, &P::counter_select),
      Of(IB_PC_ERR_SYM_F, 16, &P::symbol_error),
      Of(IB_PC_LINK_RECOVERS_F, 8, &P::link_error_recovery),
      Of(IB_PC_LINK_DOWNED_F, 8, &P::link_downed),
      Of(IB_PC_ERR_RCV_F, 16, &P::rcv_errors),
      Of(IB_PC_ERR_PHYSRCV_F, 16, &P::rcv_remote_physical_errors),
      Of(IB_PC_ERR_SWITCH_REL_F, 16, &P::rcv_switch_relay_errors),
      Of(IB_PC_XMT_DISCARDS_F, 16, &P::xmit_discards),
      Of(IB_PC_ERR_XMTCONSTR_F, 8, &P::xmit_constraint_errors),
      Of(IB_PC_ERR_RCVCONSTR_F, 8, &P::rcv_constraint_errors),
      Of(IB_PC_COUNTER_SELECT2_F, 8, &P::counter_select2),
      Of(IB_PC_ERR_LOCALINTEG_F, 4, &P::local_link_integrity_errors),
      Of(IB_PC_ERR_EXCESS_OVR_F, 4, &P::excessive_buffer_overrun_errors),
      Of(IB_PC_VL15_DROPPED_F, 16, &P::vl15_dropped),
      Of(IB_PC_XMT_BYTES_F, 32, &P::xmit_data),
      Of(IB_PC_RCV_BYTES_F, 32, &P::rcv_data),
      Of(IB_PC_XMT_PKTS_F, 32, &P::xmit_pkts),
      Of(IB_PC_RCV_PKTS_F, 32, &P::rcv_pkts),
      Of(IB_PC_XMT_WAIT_F, 32, &P::xmit_wait),
  });
}

TEST(PerfLibibmadOracle, PortCountersExtended) {
  using P = PortCountersExtended;
  CompareBothWays<P, kPerfDataBytes>({
      Of(IB_PC_EXT_PORT_SELECT_F, 8, &P::port_select),
      Of(IB_PC_EXT_COUNTER_SELECT_F, 16, &P::counter_select),
      Of(IB_PC_EXT_COUNTER_SELECT2_F, 32, &P::counter_select2),
      Of(IB_PC_EXT_XMT_BYTES_F, 64, &P::xmit_data),
      Of(IB_PC_EXT_RCV_BYTES_F, 64, &P::rcv_data),
      Of(IB_PC_EXT_XMT_PKTS_F, 64, &P::xmit_pkts),
      Of(IB_PC_EXT_RCV_PKTS_F, 64, &P::rcv_pkts),
      Of(IB_PC_EXT_XMT_UPKTS_F, 64, &P::unicast_xmit_pkts),
      Of(IB_PC_EXT_RCV_UPKTS_F, 64, &P::unicast_rcv_pkts),
      Of(IB_PC_EXT_XMT_MPKTS_F, 64, &P::multicast_xmit_pkts),
      Of(IB_PC_EXT_RCV_MPKTS_F, 64, &P::multicast_rcv_pkts),
      Of(IB_PC_EXT_ERR_SYM_F, 64, &P::symbol_error),
      Of(IB_PC_EXT_LINK_RECOVERS_F, 64, &P::link_error_recovery),
      Of(IB_PC_EXT_LINK_DOWNED_F, 64, &P::link_downed),
      Of(IB_PC_EXT_ERR_RCV_F, 64, &P::rcv_errors),
      Of(IB_PC_EXT_ERR_PHYSRCV_F, 64, &P::rcv_remote_physical_errors),
      Of(IB_PC_EXT_ERR_SWITCH_REL_F, 64, &P::rcv_switch_relay_errors),
      Of(IB_PC_EXT_XMT_DISCARDS_F, 64, &P::xmit_discards),
      Of(IB_PC_EXT_ERR_XMTCONSTR_F, 64, &P::xmit_constraint_errors),
      Of(IB_PC_EXT_ERR_RCVCONSTR_F, 64, &P::rcv_constraint_errors),
      Of(IB_PC_EXT_ERR_LOCALINTEG_F, 64, &P::local_link_integrity_errors),
      Of(IB_PC_EXT_ERR_EXCESS_OVR_F, 64, &P::excessive_buffer_overrun_errors),
      Of(IB_PC_EXT_VL15_DROPPED_F, 64, &P::vl15_dropped),
      Of(IB_PC_EXT_XMT_WAIT_F, 64, &P::xmit_wait),
      Of(IB_PC_EXT_QP1_DROP_F, 64, &P::qp1_dropped),
  });
}

TEST(PerfLibibmadOracle, PortRcvErrorDetails) {
  using P = PortRcvErrorDetails;
  CompareBothWays<P, kPerfDataBytes>({
      Of(IB_PC_PORT_SELECT_F, 8, &P::port_select),
      Of(IB_PC_COUNTER_SELECT_F, 16, &P::counter_select),
      Of(IB_PC_RCV_LOCAL_PHY_ERR_F, 16, &P::local_physical_errors),
      Of(IB_PC_RCV_MALFORMED_PKT_ERR_F, 16, &P::malformed_packet_errors),
      Of(IB_PC_RCV_BUF_OVR_ERR_F, 16, &P::buffer_overrun_errors),
      Of(IB_PC_RCV_DLID_MAP_ERR_F, 16, &P::dlid_mapping_errors),
      Of(IB_PC_RCV_VL_MAP_ERR_F, 16, &P::vl_mapping_errors),
      Of(IB_PC_RCV_LOOPING_ERR_F, 16, &P::looping_errors),
  });
}

TEST(PerfLibibmadOracle, PortXmitDiscardDetails) {
  using P = PortXmitDiscardDetails;
  CompareBothWays<P, kPerfDataBytes>({
      Of(IB_PC_PORT_SELECT_F, 8, &P::port_select),
      Of(IB_PC_COUNTER_SELECT_F, 16, &P::counter_select),
      Of(IB_PC_XMT_INACT_DISC_F, 16, &P::inactive_discards),
      Of(IB_PC_XMT_NEIGH_MTU_DISC_F, 16, &P::neighbor_mtu_discards),
      Of(IB_PC_XMT_SW_LIFE_DISC_F, 16, &P::sw_lifetime_limit_discards),
      Of(IB_PC_XMT_SW_HOL_DISC_F, 16, &P::sw_hoq_lifetime_limit_discards),
  });
}

template <typename Value, typename Number>
void AddPhysicalLanes(MAD_FIELDS first, std::array<Number, kMaxPhysicalLanes> Value::*counters,
                      std::vector<Field<Value>>& fields) {
  for (size_t i = 0; i < kMaxPhysicalLanes; ++i) {
    fields.push_back({Next(first, i), static_cast<int>(8 * sizeof(Number)),
                      [=](const Value& value) { return uint64_t{(value.*counters)[i]}; },
                      [=](Value& value, uint64_t number) {
                        (value.*counters)[i] = static_cast<Number>(number);
                      }});
  }
}

TEST(PerfLibibmadOracle, PortExtendedSpeedsCounters) {
  using P = PortExtendedSpeedsCounters;
  std::vector<Field<P>> fields = {
      Of(IB_PESC_PORT_SELECT_F, 8, &P::port_select),
      Of(IB_PESC_COUNTER_SELECT_F, 64, &P::counter_select),
      Of(IB_PESC_SYNC_HDR_ERR_CTR_F, 16, &P::sync_header_errors),
      Of(IB_PESC_UNK_BLOCK_CTR_F, 16, &P::unknown_blocks),
  };
  // The fields of the physical lanes follow, twelve of each kind.
  MAD_FIELDS first = Next(IB_PESC_UNK_BLOCK_CTR_F, 1);
  AddPhysicalLanes(first, &P::error_detection, fields);
  AddPhysicalLanes(first = Next(first, kMaxPhysicalLanes), &P::fec_correctable_blocks, fields);
  AddPhysicalLanes(Next(first, kMaxPhysicalLanes), &P::fec_uncorrectable_blocks, fields);
  CompareBothWays<P, kPerfDataBytes>(fields);
}

TEST(PerfLibibmadOracle, PortExtendedSpeedsCountersRsFec) {
  using P = PortExtendedSpeedsCountersRsFec;
  std::vector<Field<P>> fields = {
      Of(IB_PESC_RSFEC_PORT_SELECT_F, 8, &P::port_select),
      Of(IB_PESC_RSFEC_COUNTER_SELECT_F, 64, &P::counter_select),
      Of(IB_PESC_RSFEC_SYNC_HDR_ERR_CTR_F, 16, &P::sync_header_errors),
      Of(IB_PESC_RSFEC_UNK_BLOCK_CTR_F, 16, &P::unknown_blocks),
      Of(IB_PESC_PORT_FEC_CORR_BLOCK_CTR_F, 32, &P::fec_correctable_blocks),
      Of(IB_PESC_PORT_FEC_UNCORR_BLOCK_CTR_F, 32, &P::fec_uncorrectable_blocks),
      Of(IB_PESC_PORT_FEC_CORR_SYMBOL_CTR_F, 32, &P::fec_corrected_symbols),
  };
  AddPhysicalLanes(Next(IB_PESC_RSFEC_UNK_BLOCK_CTR_F, 1),
                   &P::fec_corrected_symbols_of_physical_lane, fields);
  CompareBothWays<P, kPerfDataBytes>(fields);
}

TEST(PerfLibibmadOracle, ExtPortInfo) {
  using E = ExtPortInfo;
  CompareBothWays<E, kSmpDataBytes>({
      Of(IB_MLNX_EXT_PORT_STATE_CHG_ENABLE_F, 8, &E::state_change_enable),
      Of(IB_MLNX_EXT_PORT_LINK_SPEED_SUPPORTED_F, 8, &E::link_speed_supported),
      Of(IB_MLNX_EXT_PORT_LINK_SPEED_ENABLED_F, 8, &E::link_speed_enabled),
      Of(IB_MLNX_EXT_PORT_LINK_SPEED_ACTIVE_F, 8, &E::link_speed_active),
  });
}

}  // namespace
}  // namespace fabricd::wire
