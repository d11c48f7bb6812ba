// SPDX-License-Identifier: Apache-2.0
// The SMP and SA codecs against libibmad as oracle (libibmad_oracle.h).
#include <gtest/gtest.h>

#include "mad/wire/node_info.h"
#include "mad/wire/notice.h"
#include "mad/wire/port_info.h"
#include "mad/wire/port_info_extended.h"
#include "mad/wire/sa_header.h"
#include "mad/wire/sm_info.h"
#include "mad/wire/smp.h"
#include "mad/wire/switch_info.h"
#include "tests/unit/mad/wire/libibmad_oracle.h"
#include "tests/unit/mad/wire/random_block.h"

namespace fabricd::wire {
namespace {

using testing::CompareBothWays;
using testing::Field;
using testing::kRounds;
using testing::Of;
using testing::RandomNumber;
using testing::ToNumber;

TEST(LibibmadOracle, NodeInfo) {
  CompareBothWays<NodeInfo, kSmpDataBytes>({
      Of(IB_NODE_BASE_VERS_F, 8, &NodeInfo::base_version),
      Of(IB_NODE_CLASS_VERS_F, 8, &NodeInfo::class_version),
      Of(IB_NODE_TYPE_F, 8, &NodeInfo::node_type),
      Of(IB_NODE_NPORTS_F, 8, &NodeInfo::num_ports),
      Of(IB_NODE_SYSTEM_GUID_F, 64, &NodeInfo::system_image_guid),
      Of(IB_NODE_GUID_F, 64, &NodeInfo::node_guid),
      Of(IB_NODE_PORT_GUID_F, 64, &NodeInfo::port_guid),
      Of(IB_NODE_PARTITION_CAP_F, 16, &NodeInfo::partition_cap),
      Of(IB_NODE_DEVID_F, 16, &NodeInfo::device_id),
      Of(IB_NODE_REVISION_F, 32, &NodeInfo::revision),
      Of(IB_NODE_LOCAL_PORT_F, 8, &NodeInfo::local_port),
      Of(IB_NODE_VENDORID_F, 24, &NodeInfo::vendor_id),
  });
}

// LinkSpeedExt*2 are younger than this libibmad: tested in wire_test.cc.
TEST(LibibmadOracle, PortInfo) {
  using P = PortInfo;
  CompareBothWays<P, kSmpDataBytes>({
      Of(IB_PORT_MKEY_F, 64, &P::m_key),
      Of(IB_PORT_GID_PREFIX_F, 64, &P::gid_prefix),
      Of(IB_PORT_LID_F, 16, &P::lid),
      Of(IB_PORT_SMLID_F, 16, &P::master_sm_lid),
      Of(IB_PORT_CAPMASK_F, 32, &P::capability_mask),
      Of(IB_PORT_DIAG_F, 16, &P::diag_code),
      Of(IB_PORT_MKEY_LEASE_F, 16, &P::m_key_lease_period),
      Of(IB_PORT_LOCAL_PORT_F, 8, &P::local_port),
      Of(IB_PORT_LINK_WIDTH_ENABLED_F, 8, &P::link_width_enabled),
      Of(IB_PORT_LINK_WIDTH_SUPPORTED_F, 8, &P::link_width_supported),
      Of(IB_PORT_LINK_WIDTH_ACTIVE_F, 8, &P::link_width_active),
      Of(IB_PORT_LINK_SPEED_SUPPORTED_F, 4, &P::link_speed_supported),
      Of(IB_PORT_STATE_F, 4, &P::port_state),
      Of(IB_PORT_PHYS_STATE_F, 4, &P::port_physical_state),
      Of(IB_PORT_LINK_DOWN_DEF_F, 4, &P::link_down_default_state),
      Of(IB_PORT_MKEY_PROT_BITS_F, 2, &P::m_key_protect_bits),
      Of(IB_PORT_LMC_F, 3, &P::lmc),
      Of(IB_PORT_LINK_SPEED_ACTIVE_F, 4, &P::link_speed_active),
      Of(IB_PORT_LINK_SPEED_ENABLED_F, 4, &P::link_speed_enabled),
      Of(IB_PORT_NEIGHBOR_MTU_F, 4, &P::neighbor_mtu),
      Of(IB_PORT_SMSL_F, 4, &P::master_sm_sl),
      Of(IB_PORT_VL_CAP_F, 4, &P::vl_cap),
      Of(IB_PORT_INIT_TYPE_F, 4, &P::init_type),
      Of(IB_PORT_VL_HIGH_LIMIT_F, 8, &P::vl_high_limit),
      Of(IB_PORT_VL_ARBITRATION_HIGH_CAP_F, 8, &P::vl_arb_high_cap),
      Of(IB_PORT_VL_ARBITRATION_LOW_CAP_F, 8, &P::vl_arb_low_cap),
      Of(IB_PORT_INIT_TYPE_REPLY_F, 4, &P::init_type_reply),
      Of(IB_PORT_MTU_CAP_F, 4, &P::mtu_cap),
      Of(IB_PORT_VL_STALL_COUNT_F, 3, &P::vl_stall_count),
      Of(IB_PORT_HOQ_LIFE_F, 5, &P::hoq_life),
      Of(IB_PORT_OPER_VLS_F, 4, &P::operational_vls),
      Of(IB_PORT_PART_EN_INB_F, 1, &P::partition_enforcement_inbound),
      Of(IB_PORT_PART_EN_OUTB_F, 1, &P::partition_enforcement_outbound),
      Of(IB_PORT_FILTER_RAW_INB_F, 1, &P::filter_raw_inbound),
      Of(IB_PORT_FILTER_RAW_OUTB_F, 1, &P::filter_raw_outbound),
      Of(IB_PORT_MKEY_VIOL_F, 16, &P::m_key_violations),
      Of(IB_PORT_PKEY_VIOL_F, 16, &P::p_key_violations),
      Of(IB_PORT_QKEY_VIOL_F, 16, &P::q_key_violations),
      Of(IB_PORT_GUID_CAP_F, 8, &P::guid_cap),
      Of(IB_PORT_CLIENT_REREG_F, 1, &P::client_reregister),
      Of(IB_PORT_MCAST_PKEY_SUPR_ENAB_F, 2, &P::multicast_pkey_trap_suppression),
      Of(IB_PORT_SUBN_TIMEOUT_F, 5, &P::subnet_timeout),
      Of(IB_PORT_RESP_TIME_VAL_F, 5, &P::resp_time_value),
      Of(IB_PORT_LOCAL_PHYS_ERR_F, 4, &P::local_phy_errors),
      Of(IB_PORT_OVERRUN_ERR_F, 4, &P::overrun_errors),
      Of(IB_PORT_MAX_CREDIT_HINT_F, 16, &P::max_credit_hint),
      Of(IB_PORT_LINK_ROUND_TRIP_F, 24, &P::link_round_trip_latency),
      Of(IB_PORT_CAPMASK2_F, 16, &P::capability_mask2),
      Of(IB_PORT_LINK_SPEED_EXT_ACTIVE_F, 4, &P::link_speed_ext_active),
      Of(IB_PORT_LINK_SPEED_EXT_SUPPORTED_F, 4, &P::link_speed_ext_supported),
      Of(IB_PORT_LINK_SPEED_EXT_ENABLED_F, 5, &P::link_speed_ext_enabled),
  });
}

// libibmad's table gives the HDR and NDR fields in the other bit order than all 16-bit fields
// around them, so that it reads each from the wrong half of its 32-bit word (HDRFECModeSupported
// would be EDRFECModeEnabled). Only the fields before them can be compared; the HDR ones are in
// wire_ib_types_test.cc, the NDR ones follow them.
TEST(LibibmadOracle, PortInfoExtended) {
  using P = PortInfoExtended;
  CompareBothWays<P, kSmpDataBytes>({
      Of(IB_PORT_EXT_CAPMASK_F, 32, &P::cap_mask),
      Of(IB_PORT_EXT_FEC_MODE_ACTIVE_F, 16, &P::fec_mode_active),
      Of(IB_PORT_EXT_FDR_FEC_MODE_SUPPORTED_F, 16, &P::fdr_fec_mode_supported),
      Of(IB_PORT_EXT_FDR_FEC_MODE_ENABLED_F, 16, &P::fdr_fec_mode_enabled),
      Of(IB_PORT_EXT_EDR_FEC_MODE_SUPPORTED_F, 16, &P::edr_fec_mode_supported),
      Of(IB_PORT_EXT_EDR_FEC_MODE_ENABLED_F, 16, &P::edr_fec_mode_enabled),
  });
}

TEST(LibibmadOracle, SwitchInfo) {
  using S = SwitchInfo;
  CompareBothWays<S, kSmpDataBytes>({
      Of(IB_SW_LINEAR_FDB_CAP_F, 16, &S::linear_fdb_cap),
      Of(IB_SW_RANDOM_FDB_CAP_F, 16, &S::random_fdb_cap),
      Of(IB_SW_MCAST_FDB_CAP_F, 16, &S::multicast_fdb_cap),
      Of(IB_SW_LINEAR_FDB_TOP_F, 16, &S::linear_fdb_top),
      Of(IB_SW_DEF_PORT_F, 8, &S::default_port),
      Of(IB_SW_DEF_MCAST_PRIM_F, 8, &S::default_multicast_primary_port),
      Of(IB_SW_DEF_MCAST_NOT_PRIM_F, 8, &S::default_multicast_not_primary_port),
      Of(IB_SW_LIFE_TIME_F, 5, &S::life_time_value),
      Of(IB_SW_STATE_CHANGE_F, 1, &S::port_state_change),
      Of(IB_SW_OPT_SLTOVL_MAPPING_F, 2, &S::optimized_sl_to_vl),
      Of(IB_SW_LIDS_PER_PORT_F, 16, &S::lids_per_port),
      Of(IB_SW_PARTITION_ENFORCE_CAP_F, 16, &S::partition_enforcement_cap),
      Of(IB_SW_PARTITION_ENF_INB_F, 1, &S::inbound_enforcement_cap),
      Of(IB_SW_PARTITION_ENF_OUTB_F, 1, &S::outbound_enforcement_cap),
      Of(IB_SW_FILTER_RAW_INB_F, 1, &S::filter_raw_inbound_cap),
      Of(IB_SW_FILTER_RAW_OUTB_F, 1, &S::filter_raw_outbound_cap),
      Of(IB_SW_ENHANCED_PORT0_F, 1, &S::enhanced_port0),
      Of(IB_SW_MCAST_FDB_TOP_F, 16, &S::multicast_fdb_top),
  });
}

TEST(LibibmadOracle, SmInfo) {
  CompareBothWays<SmInfo, kSmpDataBytes>({
      Of(IB_SMINFO_GUID_F, 64, &SmInfo::guid),
      Of(IB_SMINFO_KEY_F, 64, &SmInfo::sm_key),
      Of(IB_SMINFO_ACT_F, 32, &SmInfo::activity_count),
      Of(IB_SMINFO_PRIO_F, 4, &SmInfo::priority),
      Of(IB_SMINFO_STATE_F, 4, &SmInfo::state),
  });
}

TEST(LibibmadOracle, Notice) {
  CompareBothWays<Notice, kSmpDataBytes>({
      Of(IB_NOTICE_IS_GENERIC_F, 1, &Notice::generic),
      Of(IB_NOTICE_TYPE_F, 7, &Notice::type),
      Of(IB_NOTICE_PRODUCER_F, 24, &Notice::producer),
      Of(IB_NOTICE_TRAP_NUMBER_F, 16, &Notice::trap),
      Of(IB_NOTICE_ISSUER_LID_F, 16, &Notice::issuer_lid),
      Of(IB_NOTICE_TOGGLE_F, 1, &Notice::toggle),
      Of(IB_NOTICE_COUNT_F, 15, &Notice::count),
  });
}

TEST(LibibmadOracle, NoticeSubjects) {
  SmpData block{};
  mad_set_field(block.data(), 0, IB_NOTICE_IS_GENERIC_F, 1);
  mad_set_field(block.data(), 0, IB_NOTICE_DATA_LID_F, 0x1234);
  mad_set_field(block.data(), 0, IB_NOTICE_DATA_144_LID_F, 0x2345);
  mad_set_field(block.data(), 0, IB_NOTICE_TRAP_NUMBER_F, kTrapLinkStateChange);
  EXPECT_EQ(Notice::Decode(block).subject_lid(), Lid(0x1234));
  mad_set_field(block.data(), 0, IB_NOTICE_TRAP_NUMBER_F, kTrapCapabilityMaskChanged);
  EXPECT_EQ(Notice::Decode(block).subject_lid(), Lid(0x2345));
}

TEST(LibibmadOracle, SaHeader) {
  using S = SaHeader;
  const auto rmpp = [](MAD_FIELDS field, int bits, auto member) {
    return Field<S>{field, bits, [member](const S& value) { return ToNumber(value.rmpp.*member); },
                    [member](S& value, uint64_t number) {
                      using Member = std::remove_reference_t<decltype(value.rmpp.*member)>;
                      value.rmpp.*member = static_cast<Member>(number);
                    }};
  };
  const auto mad = [](MAD_FIELDS field, int bits, auto member) {
    return Field<S>{field, bits, [member](const S& value) { return ToNumber(value.mad.*member); },
                    [member](S& value, uint64_t number) {
                      using Member = std::remove_reference_t<decltype(value.mad.*member)>;
                      value.mad.*member = static_cast<Member>(number);
                    }};
  };
  CompareBothWays<S, kMadBytes>({
      mad(IB_MAD_BASEVER_F, 8, &MadHeader::base_version),
      mad(IB_MAD_MGMTCLASS_F, 8, &MadHeader::management_class),
      mad(IB_MAD_CLASSVER_F, 8, &MadHeader::class_version),
      mad(IB_MAD_METHOD_F, 7, &MadHeader::method),
      mad(IB_MAD_STATUS_F, 16, &MadHeader::status),
      mad(IB_MAD_TRID_F, 64, &MadHeader::transaction_id),
      mad(IB_MAD_ATTRID_F, 16, &MadHeader::attribute),
      mad(IB_MAD_ATTRMOD_F, 32, &MadHeader::modifier),
      rmpp(IB_SA_RMPP_VERS_F, 8, &RmppHeader::version),
      rmpp(IB_SA_RMPP_TYPE_F, 8, &RmppHeader::type),
      rmpp(IB_SA_RMPP_RESP_F, 5, &RmppHeader::response_time_value),
      rmpp(IB_SA_RMPP_FLAGS_F, 3, &RmppHeader::flags),
      rmpp(IB_SA_RMPP_STATUS_F, 8, &RmppHeader::status),
      rmpp(IB_SA_RMPP_D1_F, 32, &RmppHeader::data1),
      rmpp(IB_SA_RMPP_D2_F, 32, &RmppHeader::data2),
      Of(IB_SA_MKEY_F, 64, &S::sm_key),
      Of(IB_SA_ATTROFFS_F, 16, &S::attribute_offset),
      Of(IB_SA_COMPMASK_F, 64, &S::component_mask),
  });
}

TEST(LibibmadOracle, DirectedRouteSmp) {
  Rng rng(6);
  for (int round = 0; round < kRounds; ++round) {
    Smp smp;
    smp.method = Method::kGetResp;
    smp.status = static_cast<uint16_t>(RandomNumber(rng, 15));
    smp.returning = rng.Chance(0.5);
    smp.hop_pointer = static_cast<uint8_t>(RandomNumber(rng, 8));
    smp.tid = TransactionId(static_cast<uint32_t>(rng.Next()));
    smp.tid_high = static_cast<uint32_t>(rng.Next());
    smp.m_key = MKey(rng.Next());
    smp.dr_slid = static_cast<uint16_t>(rng.Next());
    smp.dr_dlid = static_cast<uint16_t>(rng.Next());
    const auto ports = testing::RandomBytes<DirectedPath::kMaxHops>(rng);
    smp.path = DirectedPath::FromPorts(std::span(ports).first(rng.Below(ports.size() + 1)));
    MadBytes sent;
    smp.Encode(sent);
    EXPECT_EQ(mad_get_field(sent.data(), 0, IB_DRSMP_STATUS_F), smp.status);
    EXPECT_EQ(mad_get_field(sent.data(), 0, IB_DRSMP_DIRECTION_F) != 0, smp.returning);
    EXPECT_EQ(mad_get_field(sent.data(), 0, IB_DRSMP_HOPPTR_F), smp.hop_pointer);
    EXPECT_EQ(mad_get_field(sent.data(), 0, IB_DRSMP_HOPCNT_F), smp.path->hops());
    EXPECT_EQ(mad_get_field64(sent.data(), 0, IB_MAD_TRID_F),
              uint64_t{smp.tid_high} << 32 | smp.tid.value());
    EXPECT_EQ(mad_get_field64(sent.data(), 0, IB_MAD_MKEY_F), smp.m_key.value());
    EXPECT_EQ(mad_get_field(sent.data(), 0, IB_DRSMP_DRSLID_F), smp.dr_slid);
    EXPECT_EQ(mad_get_field(sent.data(), 0, IB_DRSMP_DRDLID_F), smp.dr_dlid);
    std::array<uint8_t, IB_SUBNET_PATH_HOPS_MAX> initial_path{};
    mad_get_array(sent.data(), 0, IB_DRSMP_PATH_F, initial_path.data());
    EXPECT_EQ(initial_path[0], 0);
    for (size_t hop = 0; hop < smp.path->hops(); ++hop) {
      EXPECT_EQ(initial_path[hop + 1], (*smp.path)[hop]);
    }
  }
}

}  // namespace
}  // namespace fabricd::wire
