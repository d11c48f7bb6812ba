// SPDX-License-Identifier: Apache-2.0
// The codecs against iba/ib_types.h of OpenSM as oracle: decoded random blocks, and encoded values,
// must show the same fields through its structures. (libibmad's mad.h is the second oracle, in a
// program of its own: the two headers do not compile in one translation unit.)
#include <cstring>
#include <map>

#include <gtest/gtest.h>
#include <iba/ib_types.h>

#include "mad/wire/node_info.h"
#include "mad/wire/notice.h"
#include "mad/wire/port_info.h"
#include "mad/wire/port_info_extended.h"
#include "mad/wire/sa_header.h"
#include "mad/wire/sm_info.h"
#include "mad/wire/smp.h"
#include "mad/wire/switch_info.h"
#include "mad/wire/tables.h"
#include "tests/unit/mad/wire/random_block.h"

namespace fabricd::wire {
namespace {

constexpr int kRounds = 500;

template <typename Oracle, size_t kBytes>
Oracle View(const std::array<uint8_t, kBytes>& bytes) {
  static_assert(sizeof(Oracle) <= kBytes);
  Oracle oracle;
  std::memcpy(&oracle, bytes.data(), sizeof(oracle));
  return oracle;
}

// Decode a random block, encode the value again, and compare the value with the oracle's view of
// both blocks.
template <typename Attribute, typename Oracle, typename Compare>
void CompareBothWays(Compare compare) {
  Rng rng(static_cast<uint64_t>(Attribute::kAttribute));
  for (int round = 0; round < kRounds; ++round) {
    const SmpData received = testing::RandomBlock(rng);
    const Attribute value = Attribute::Decode(received);
    SmpData sent = testing::RandomBlock(rng);
    value.Encode(sent);
    compare(value, View<Oracle>(received));
    compare(value, View<Oracle>(sent));
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(IbTypesOracle, NodeInfo) {
  CompareBothWays<NodeInfo, ib_node_info_t>(
      [](const NodeInfo& value, const ib_node_info_t& oracle) {
        EXPECT_EQ(value.base_version, oracle.base_version);
        EXPECT_EQ(value.class_version, oracle.class_version);
        EXPECT_EQ(static_cast<uint8_t>(value.node_type), oracle.node_type);
        EXPECT_EQ(value.num_ports, oracle.num_ports);
        EXPECT_EQ(value.system_image_guid.value(), cl_ntoh64(oracle.sys_guid));
        EXPECT_EQ(value.node_guid.value(), cl_ntoh64(oracle.node_guid));
        EXPECT_EQ(value.port_guid.value(), cl_ntoh64(oracle.port_guid));
        EXPECT_EQ(value.partition_cap, cl_ntoh16(oracle.partition_cap));
        EXPECT_EQ(value.device_id, cl_ntoh16(oracle.device_id));
        EXPECT_EQ(value.revision, cl_ntoh32(oracle.revision));
        EXPECT_EQ(value.local_port.value(), ib_node_info_get_local_port_num(&oracle));
        // The oracle leaves the 24 bits where they stand in the network-order word.
        EXPECT_EQ(value.vendor_id, cl_ntoh32(ib_node_info_get_vendor_id(&oracle)));
      });
}

void ComparePortInfoLink(const PortInfo& value, const ib_port_info_t& oracle) {
  EXPECT_EQ(value.link_width_enabled, oracle.link_width_enabled);
  EXPECT_EQ(value.link_width_supported, oracle.link_width_supported);
  EXPECT_EQ(value.link_width_active, oracle.link_width_active);
  EXPECT_EQ(value.link_speed_supported, ib_port_info_get_link_speed_sup(&oracle));
  EXPECT_EQ(static_cast<uint8_t>(value.port_state), ib_port_info_get_port_state(&oracle));
  EXPECT_EQ(static_cast<uint8_t>(value.port_physical_state),
            ib_port_info_get_port_phys_state(&oracle));
  EXPECT_EQ(static_cast<uint8_t>(value.link_down_default_state),
            ib_port_info_get_link_down_def_state(&oracle));
  EXPECT_EQ(value.link_speed_active, ib_port_info_get_link_speed_active(&oracle));
  EXPECT_EQ(value.link_speed_enabled, ib_port_info_get_link_speed_enabled(&oracle));
  EXPECT_EQ(value.link_speed_ext_active, ib_port_info_get_link_speed_ext_active(&oracle));
  EXPECT_EQ(value.link_speed_ext_supported, ib_port_info_get_link_speed_ext_sup(&oracle));
  EXPECT_EQ(value.link_speed_ext_enabled, ib_port_info_get_link_speed_ext_enabled(&oracle));
  EXPECT_EQ(value.neighbor_mtu, ib_port_info_get_neighbor_mtu(&oracle));
  EXPECT_EQ(value.mtu_cap, ib_port_info_get_mtu_cap(&oracle));
  EXPECT_EQ(value.link_round_trip_latency, cl_ntoh32(oracle.link_rt_latency) & 0xFFFFFF);
}

void ComparePortInfoLanes(const PortInfo& value, const ib_port_info_t& oracle) {
  EXPECT_EQ(value.vl_cap, ib_port_info_get_vl_cap(&oracle));
  EXPECT_EQ(value.init_type, ib_port_info_get_init_type(&oracle));
  EXPECT_EQ(value.vl_high_limit, oracle.vl_high_limit);
  EXPECT_EQ(value.vl_arb_high_cap, oracle.vl_arb_high_cap);
  EXPECT_EQ(value.vl_arb_low_cap, oracle.vl_arb_low_cap);
  EXPECT_EQ(value.init_type_reply, oracle.mtu_cap >> 4);
  EXPECT_EQ(value.vl_stall_count, ib_port_info_get_vl_stall_count(&oracle));
  EXPECT_EQ(value.hoq_life, ib_port_info_get_hoq_lifetime(&oracle));
  EXPECT_EQ(value.operational_vls, ib_port_info_get_op_vls(&oracle));
  EXPECT_EQ(value.partition_enforcement_inbound, (oracle.vl_enforce & 8) != 0);
  EXPECT_EQ(value.partition_enforcement_outbound, (oracle.vl_enforce & 4) != 0);
  EXPECT_EQ(value.filter_raw_inbound, (oracle.vl_enforce & 2) != 0);
  EXPECT_EQ(value.filter_raw_outbound, (oracle.vl_enforce & 1) != 0);
}

void ComparePortInfoRest(const PortInfo& value, const ib_port_info_t& oracle) {
  EXPECT_EQ(value.m_key.value(), cl_ntoh64(oracle.m_key));
  EXPECT_EQ(value.gid_prefix, cl_ntoh64(oracle.subnet_prefix));
  EXPECT_EQ(value.lid.value(), cl_ntoh16(oracle.base_lid));
  EXPECT_EQ(value.master_sm_lid.value(), cl_ntoh16(oracle.master_sm_base_lid));
  EXPECT_EQ(value.capability_mask, cl_ntoh32(oracle.capability_mask));
  EXPECT_EQ(value.diag_code, cl_ntoh16(oracle.diag_code));
  EXPECT_EQ(value.m_key_lease_period, cl_ntoh16(oracle.m_key_lease_period));
  EXPECT_EQ(value.local_port.value(), oracle.local_port_num);
  EXPECT_EQ(value.m_key_protect_bits, ib_port_info_get_mpb(&oracle));
  EXPECT_EQ(value.lmc, ib_port_info_get_lmc(&oracle));
  EXPECT_EQ(value.master_sm_sl, ib_port_info_get_master_smsl(&oracle));
  EXPECT_EQ(value.m_key_violations, cl_ntoh16(oracle.m_key_violations));
  EXPECT_EQ(value.p_key_violations, cl_ntoh16(oracle.p_key_violations));
  EXPECT_EQ(value.q_key_violations, cl_ntoh16(oracle.q_key_violations));
  EXPECT_EQ(value.guid_cap, oracle.guid_cap);
  EXPECT_EQ(value.client_reregister, ib_port_info_get_client_rereg(&oracle) != 0);
  EXPECT_EQ(value.multicast_pkey_trap_suppression,
            ib_port_info_get_mcast_pkey_trap_suppress(&oracle));
  EXPECT_EQ(value.subnet_timeout, ib_port_info_get_timeout(&oracle));
  EXPECT_EQ(value.resp_time_value, ib_port_info_get_resp_time_value(&oracle));
  EXPECT_EQ(value.local_phy_errors, ib_port_info_get_local_phy_err_thd(&oracle));
  EXPECT_EQ(value.overrun_errors, ib_port_info_get_overrun_err_thd(&oracle));
  EXPECT_EQ(value.max_credit_hint, cl_ntoh16(oracle.max_credit_hint));
  EXPECT_EQ(value.capability_mask2, cl_ntoh16(oracle.capability_mask2));
}

TEST(IbTypesOracle, PortInfo) {
  CompareBothWays<PortInfo, ib_port_info_t>(
      [](const PortInfo& value, const ib_port_info_t& oracle) {
        ComparePortInfoLink(value, oracle);
        ComparePortInfoLanes(value, oracle);
        ComparePortInfoRest(value, oracle);
      });
}

TEST(IbTypesOracle, PortInfoCapabilityBits) {
  EXPECT_EQ(kCapIsSm, cl_ntoh32(IB_PORT_CAP_IS_SM));
  EXPECT_EQ(kCapIsNotice, cl_ntoh32(IB_PORT_CAP_HAS_NOTICE));
  EXPECT_EQ(kCapIsTrap, cl_ntoh32(IB_PORT_CAP_HAS_TRAP));
  EXPECT_EQ(kCapIsExtendedSpeeds, cl_ntoh32(IB_PORT_CAP_HAS_EXT_SPEEDS));
  EXPECT_EQ(kCapIsCapabilityMask2, cl_ntoh32(IB_PORT_CAP_HAS_CAP_MASK2));
  EXPECT_EQ(kCapIsClientReregister, cl_ntoh32(IB_PORT_CAP_HAS_CLIENT_REREG));
  EXPECT_EQ(kCapIsMulticastFdbTop, cl_ntoh32(IB_PORT_CAP_HAS_MCAST_FDB_TOP));
  EXPECT_EQ(kCap2IsPortInfoExtended, cl_ntoh16(IB_PORT_CAP2_IS_PORT_INFO_EXT_SUPPORTED));
  EXPECT_EQ(kCap2IsSwitchPortStateTable, cl_ntoh16(IB_PORT_CAP2_IS_SWITCH_PORT_STATE_TBL_SUPP));
  EXPECT_EQ(kCap2IsLinkWidth2x, cl_ntoh16(IB_PORT_CAP2_IS_LINK_WIDTH_2X_SUPPORTED));
  EXPECT_EQ(kCap2IsLinkSpeedHdr, cl_ntoh16(IB_PORT_CAP2_IS_LINK_SPEED_HDR_SUPPORTED));
}

// IBA vol 1 §15.2.5.16, PathRecord.Rate: what the oracle says a link carries.
TEST(IbTypesOracle, SpeedTimesWidthIsThePathRate) {
  const std::map<uint8_t, double> gigabits = {
      {IB_PATH_RECORD_RATE_2_5_GBS, 2.5}, {IB_PATH_RECORD_RATE_5_GBS, 5},
      {IB_PATH_RECORD_RATE_10_GBS, 10},   {IB_PATH_RECORD_RATE_14_GBS, 14},
      {IB_PATH_RECORD_RATE_20_GBS, 20},   {IB_PATH_RECORD_RATE_25_GBS, 25},
      {IB_PATH_RECORD_RATE_28_GBS, 28},   {IB_PATH_RECORD_RATE_30_GBS, 30},
      {IB_PATH_RECORD_RATE_40_GBS, 40},   {IB_PATH_RECORD_RATE_50_GBS, 50},
      {IB_PATH_RECORD_RATE_56_GBS, 56},   {IB_PATH_RECORD_RATE_60_GBS, 60},
      {IB_PATH_RECORD_RATE_80_GBS, 80},   {IB_PATH_RECORD_RATE_100_GBS, 100},
      {IB_PATH_RECORD_RATE_112_GBS, 112}, {IB_PATH_RECORD_RATE_120_GBS, 120},
      {IB_PATH_RECORD_RATE_168_GBS, 168}, {IB_PATH_RECORD_RATE_200_GBS, 200},
      {IB_PATH_RECORD_RATE_300_GBS, 300}, {IB_PATH_RECORD_RATE_400_GBS, 400},
      {IB_PATH_RECORD_RATE_600_GBS, 600}};
  for (uint8_t width : {1, 2, 4, 8, 16}) {
    for (uint8_t speed : {1, 2, 4}) {
      for (uint8_t extended : {0, 1, 2, 4}) {
        PortInfo info;
        info.link_width_active = width;
        info.link_speed_active = speed;
        info.link_speed_ext_active = extended;
        SmpData block;
        info.Encode(block);
        const auto oracle = View<ib_port_info_t>(block);
        const auto rate = gigabits.find(ib_port_info_compute_rate(&oracle, extended != 0));
        ASSERT_NE(rate, gigabits.end());
        EXPECT_DOUBLE_EQ(RateOf(ActiveSpeed(info), ActiveWidth(info)).nominal, rate->second)
            << "width " << int{width} << " speed " << int{speed} << " ext " << int{extended};
      }
    }
  }
}

TEST(IbTypesOracle, PortInfoExtended) {
  CompareBothWays<PortInfoExtended, ib_port_info_ext_t>(
      [](const PortInfoExtended& value, const ib_port_info_ext_t& oracle) {
        EXPECT_EQ(value.cap_mask, cl_ntoh32(oracle.cap_mask));
        EXPECT_EQ(static_cast<uint16_t>(value.fec_mode_active), cl_ntoh16(oracle.fec_mode_active));
        EXPECT_EQ(value.fdr_fec_mode_supported, cl_ntoh16(oracle.fdr_fec_mode_sup));
        EXPECT_EQ(value.fdr_fec_mode_enabled, cl_ntoh16(oracle.fdr_fec_mode_enable));
        EXPECT_EQ(value.edr_fec_mode_supported, cl_ntoh16(oracle.edr_fec_mode_sup));
        EXPECT_EQ(value.edr_fec_mode_enabled, cl_ntoh16(oracle.edr_fec_mode_enable));
        EXPECT_EQ(value.hdr_fec_mode_supported, cl_ntoh16(oracle.hdr_fec_mode_sup));
        EXPECT_EQ(value.hdr_fec_mode_enabled, cl_ntoh16(oracle.hdr_fec_mode_enable));
      });
  EXPECT_EQ(static_cast<uint16_t>(FecMode::kFireCode),
            cl_ntoh16(IB_PORT_EXT_FIRE_CODE_FEC_MODE_ACTIVE));
  EXPECT_EQ(static_cast<uint16_t>(FecMode::kRs), cl_ntoh16(IB_PORT_EXT_RS_FEC_MODE_ACTIVE));
  EXPECT_EQ(static_cast<uint16_t>(FecMode::kLowLatencyRs),
            cl_ntoh16(IB_PORT_EXT_LOW_LATENCY_RS_FEC_MODE_ACTIVE));
  EXPECT_EQ(kExtCapIsFecModeSupported, cl_ntoh32(IB_PORT_EXT_CAP_IS_FEC_MODE_SUPPORTED));
}

TEST(IbTypesOracle, SwitchInfo) {
  CompareBothWays<SwitchInfo, ib_switch_info_t>(
      [](const SwitchInfo& value, const ib_switch_info_t& oracle) {
        EXPECT_EQ(value.linear_fdb_cap, cl_ntoh16(oracle.lin_cap));
        EXPECT_EQ(value.random_fdb_cap, cl_ntoh16(oracle.rand_cap));
        EXPECT_EQ(value.multicast_fdb_cap, cl_ntoh16(oracle.mcast_cap));
        EXPECT_EQ(value.linear_fdb_top, cl_ntoh16(oracle.lin_top));
        EXPECT_EQ(value.default_port, oracle.def_port);
        EXPECT_EQ(value.default_multicast_primary_port, oracle.def_mcast_pri_port);
        EXPECT_EQ(value.default_multicast_not_primary_port, oracle.def_mcast_not_port);
        EXPECT_EQ(value.life_time_value, oracle.life_state >> 3);
        EXPECT_EQ(value.port_state_change, ib_switch_info_get_state_change(&oracle) != 0);
        // The oracle reads the lower of the two bits only.
        EXPECT_EQ((value.optimized_sl_to_vl & 1) != 0,
                  ib_switch_info_get_opt_sl2vlmapping(&oracle) != 0);
        EXPECT_EQ(value.lids_per_port, cl_ntoh16(oracle.lids_per_port));
        EXPECT_EQ(value.partition_enforcement_cap, cl_ntoh16(oracle.enforce_cap));
        EXPECT_EQ(value.inbound_enforcement_cap, (oracle.flags & 0x80) != 0);
        EXPECT_EQ(value.outbound_enforcement_cap, (oracle.flags & 0x40) != 0);
        EXPECT_EQ(value.filter_raw_inbound_cap, (oracle.flags & 0x20) != 0);
        EXPECT_EQ(value.filter_raw_outbound_cap, (oracle.flags & 0x10) != 0);
        EXPECT_EQ(value.enhanced_port0, ib_switch_info_is_enhanced_port0(&oracle) != 0);
        EXPECT_EQ(value.multicast_fdb_top, cl_ntoh16(oracle.mcast_top));
      });
}

TEST(IbTypesOracle, SmInfo) {
  CompareBothWays<SmInfo, ib_sm_info_t>([](const SmInfo& value, const ib_sm_info_t& oracle) {
    EXPECT_EQ(value.guid.value(), cl_ntoh64(oracle.guid));
    EXPECT_EQ(value.sm_key.value(), cl_ntoh64(oracle.sm_key));
    EXPECT_EQ(value.activity_count, cl_ntoh32(oracle.act_count));
    EXPECT_EQ(value.priority, ib_sminfo_get_priority(&oracle));
    EXPECT_EQ(static_cast<uint8_t>(value.state), ib_sminfo_get_state(&oracle));
  });
}

TEST(IbTypesOracle, Notice) {
  struct Oracle : ib_mad_notice_attr_t {
  };  // The SA's form: 64 bytes of Notice and the issuer's GID.
  Rng rng(2);
  for (int round = 0; round < kRounds; ++round) {
    auto received = testing::RandomBytes<sizeof(Oracle)>(rng);
    const uint16_t traps[] = {128, 129, 130, 131, 144, 145};
    const uint16_t trap = traps[rng.Below(std::size(traps))];
    received[0] |= 0x80;
    received[4] = 0;
    received[5] = static_cast<uint8_t>(trap);
    const auto oracle = View<Oracle>(received);
    const Notice value = Notice::Decode(std::span(received).first<kSmpDataBytes>());
    EXPECT_EQ(value.generic, ib_notice_is_generic(&oracle) != 0);
    EXPECT_EQ(value.type, ib_notice_get_type(&oracle));
    EXPECT_EQ(value.producer, cl_ntoh32(ib_notice_get_prod_type(&oracle)));
    EXPECT_EQ(value.trap, cl_ntoh16(oracle.g_or_v.generic.trap_num));
    EXPECT_EQ(value.issuer_lid.value(), cl_ntoh16(oracle.issuer_lid));
    EXPECT_EQ(value.toggle, (cl_ntoh16(oracle.toggle_count) & 0x8000) != 0);
    EXPECT_EQ(value.count, cl_ntoh16(oracle.toggle_count) & 0x7FFF);
    const auto& details = oracle.data_details;
    switch (trap) {
      case 128:
        EXPECT_EQ(value.subject_lid().value(), cl_ntoh16(details.ntc_128.sw_lid));
        EXPECT_EQ(value.subject_port(), PortNum());
        break;
      case 144:
        EXPECT_EQ(value.subject_lid().value(), cl_ntoh16(details.ntc_144.lid));
        EXPECT_EQ(value.changes_sm_priority(),
                  (details.ntc_144.local_changes & TRAP_144_MASK_OTHER_LOCAL_CHANGES) != 0 &&
                      (details.ntc_144.change_flgs & TRAP_144_MASK_SM_PRIORITY_CHANGE) != 0);
        break;
      case 145: EXPECT_EQ(value.subject_lid().value(), cl_ntoh16(details.ntc_145.lid)); break;
      default:
        EXPECT_EQ(value.subject_lid().value(), cl_ntoh16(details.ntc_129_131.lid));
        EXPECT_EQ(value.subject_port().value(), details.ntc_129_131.port_num);
    }
  }
}

TEST(IbTypesOracle, SlToVlMappingTable) {
  CompareBothWays<SlToVlMappingTable, ib_slvl_table_t>(
      [](const SlToVlMappingTable& value, const ib_slvl_table_t& oracle) {
        for (uint8_t sl = 0; sl < 16; ++sl) EXPECT_EQ(value.vl[sl], ib_slvl_table_get(&oracle, sl));
      });
}

TEST(IbTypesOracle, VlArbitrationTable) {
  CompareBothWays<VlArbitrationTable, ib_vl_arb_table_t>(
      [](const VlArbitrationTable& value, const ib_vl_arb_table_t& oracle) {
        for (size_t i = 0; i < value.entries.size(); ++i) {
          EXPECT_EQ(value.entries[i].vl, oracle.vl_entry[i].vl & 0x0F);
          EXPECT_EQ(value.entries[i].weight, oracle.vl_entry[i].weight);
        }
      });
}

TEST(IbTypesOracle, PKeyTable) {
  CompareBothWays<PKeyTable, ib_pkey_table_t>(
      [](const PKeyTable& value, const ib_pkey_table_t& oracle) {
        for (size_t i = 0; i < PKeyTable::kEntries; ++i) {
          EXPECT_EQ(value.keys[i].value(), cl_ntoh16(oracle.pkey_entry[i]));
        }
      });
}

TEST(IbTypesOracle, GuidInfo) {
  CompareBothWays<GuidInfo, ib_guid_info_t>(
      [](const GuidInfo& value, const ib_guid_info_t& oracle) {
        for (size_t i = 0; i < GuidInfo::kEntries; ++i) {
          EXPECT_EQ(value.guids[i].value(), cl_ntoh64(oracle.guid[i]));
        }
      });
}

TEST(IbTypesOracle, MadHeader) {
  Rng rng(1);
  for (int round = 0; round < kRounds; ++round) {
    const auto received = testing::RandomBytes<kMadBytes>(rng);
    const MadHeader value = MadHeader::Decode(received);
    MadBytes sent{};
    value.Encode(sent);
    for (const MadBytes& bytes : {received, sent}) {
      const auto oracle = View<ib_mad_t>(bytes);
      EXPECT_EQ(value.base_version, oracle.base_ver);
      EXPECT_EQ(static_cast<uint8_t>(value.management_class), oracle.mgmt_class);
      EXPECT_EQ(value.class_version, oracle.class_ver);
      EXPECT_EQ(static_cast<uint8_t>(value.method), oracle.method);
      EXPECT_EQ(value.status, cl_ntoh16(oracle.status));
      EXPECT_EQ(value.class_specific, cl_ntoh16(oracle.class_spec));
      EXPECT_EQ(value.transaction_id, cl_ntoh64(oracle.trans_id));
      EXPECT_EQ(static_cast<uint16_t>(value.attribute), cl_ntoh16(oracle.attr_id));
      EXPECT_EQ(value.modifier, cl_ntoh32(oracle.attr_mod));
    }
  }
}

TEST(IbTypesOracle, SaHeader) {
  Rng rng(3);
  for (int round = 0; round < kRounds; ++round) {
    const auto received = testing::RandomBytes<kMadBytes>(rng);
    const SaHeader value = SaHeader::Decode(received);
    MadBytes sent{};
    value.Encode(sent);
    for (const MadBytes& bytes : {received, sent}) {
      const auto oracle = View<ib_sa_mad_t>(bytes);
      const auto rmpp = View<ib_rmpp_mad_t>(bytes);
      EXPECT_EQ(value.mad.transaction_id, cl_ntoh64(oracle.trans_id));
      EXPECT_EQ(value.rmpp.version, oracle.rmpp_version);
      EXPECT_EQ(static_cast<uint8_t>(value.rmpp.type), oracle.rmpp_type);
      EXPECT_EQ(value.rmpp.response_time_value, ib_rmpp_get_resp_time(&rmpp));
      EXPECT_EQ((value.rmpp.flags & kRmppActive) != 0,
                ib_rmpp_is_flag_set(&rmpp, IB_RMPP_FLAG_ACTIVE) != 0);
      EXPECT_EQ((value.rmpp.flags & kRmppFirst) != 0,
                ib_rmpp_is_flag_set(&rmpp, IB_RMPP_FLAG_FIRST) != 0);
      EXPECT_EQ((value.rmpp.flags & kRmppLast) != 0,
                ib_rmpp_is_flag_set(&rmpp, IB_RMPP_FLAG_LAST) != 0);
      EXPECT_EQ(value.rmpp.status, oracle.rmpp_status);
      EXPECT_EQ(value.rmpp.data1, cl_ntoh32(oracle.seg_num));
      EXPECT_EQ(value.rmpp.data2, cl_ntoh32(oracle.paylen_newwin));
      EXPECT_EQ(value.sm_key.value(), cl_ntoh64(oracle.sm_key));
      EXPECT_EQ(value.attribute_offset, cl_ntoh16(oracle.attr_offset));
      EXPECT_EQ(value.component_mask, cl_ntoh64(oracle.comp_mask));
    }
  }
  EXPECT_EQ(kSaDataAt, offsetof(ib_sa_mad_t, data));
  EXPECT_EQ(static_cast<int>(RmppType::kData), IB_RMPP_TYPE_DATA);
  EXPECT_EQ(static_cast<int>(RmppType::kAck), IB_RMPP_TYPE_ACK);
  EXPECT_EQ(static_cast<int>(RmppType::kStop), IB_RMPP_TYPE_STOP);
  EXPECT_EQ(static_cast<int>(RmppType::kAbort), IB_RMPP_TYPE_ABORT);
}

// A whole directed-route request, byte for byte (IBA vol 1 §14.2.1.2).
TEST(IbTypesOracle, DirectedRouteRequest) {
  Rng rng(4);
  for (uint8_t hops = 0; hops <= DirectedPath::kMaxHops; ++hops) {
    Smp smp;
    uint8_t initial_path[IB_SUBNET_PATH_HOPS_MAX] = {};
    smp.path.emplace();
    for (uint8_t hop = 1; hop <= hops; ++hop) {
      initial_path[hop] = static_cast<uint8_t>(rng.Below(255));
      smp.path = smp.path->Then(PortNum(initial_path[hop]));
    }
    smp.method = Method::kSet;
    smp.tid = TransactionId(static_cast<uint32_t>(rng.Next()));
    smp.attribute = AttributeId::kSwitchInfo;
    smp.modifier = static_cast<uint32_t>(rng.Next());
    smp.m_key = MKey(rng.Next());
    smp.data = testing::RandomBlock(rng);
    MadBytes sent;
    smp.Encode(sent);

    ib_smp_t expected;
    ib_smp_init_new(&expected, IB_MAD_METHOD_SET, cl_hton64(smp.tid.value()),
                    IB_MAD_ATTR_SWITCH_INFO, cl_hton32(smp.modifier), hops,
                    cl_hton64(smp.m_key.value()), initial_path, IB_LID_PERMISSIVE,
                    IB_LID_PERMISSIVE);
    std::memcpy(expected.data, smp.data.data(), smp.data.size());
    ASSERT_EQ(std::memcmp(&expected, sent.data(), sizeof(expected)), 0) << int{hops} << " hops";
  }
}

TEST(IbTypesOracle, SmpFields) {
  Rng rng(5);
  for (int round = 0; round < kRounds; ++round) {
    auto received = testing::RandomBytes<kMadBytes>(rng);
    received[1] = IB_MCLASS_SUBN_DIR;
    received[7] = static_cast<uint8_t>(rng.Below(DirectedPath::kMaxHops + 1));
    const auto oracle = View<ib_smp_t>(received);
    const std::optional<Smp> smp = Smp::Decode(received);
    ASSERT_TRUE(smp && smp->path);
    EXPECT_EQ(smp->status, cl_ntoh16(ib_smp_get_status(&oracle)));
    EXPECT_EQ(smp->returning, ib_smp_is_d(&oracle) != 0);
    EXPECT_EQ(smp->hop_pointer, oracle.hop_ptr);
    EXPECT_EQ(smp->path->hops(), oracle.hop_count);
    EXPECT_EQ(uint64_t{smp->tid_high} << 32 | smp->tid.value(), cl_ntoh64(oracle.trans_id));
    EXPECT_EQ(static_cast<uint16_t>(smp->attribute), cl_ntoh16(oracle.attr_id));
    EXPECT_EQ(smp->modifier, cl_ntoh32(oracle.attr_mod));
    EXPECT_EQ(smp->m_key.value(), cl_ntoh64(oracle.m_key));
    EXPECT_EQ(smp->dr_slid, cl_ntoh16(oracle.dr_slid));
    EXPECT_EQ(smp->dr_dlid, cl_ntoh16(oracle.dr_dlid));
    EXPECT_EQ(std::memcmp(smp->data.data(), oracle.data, sizeof(oracle.data)), 0);
    EXPECT_EQ(std::memcmp(smp->return_path.data(), oracle.return_path, sizeof(oracle.return_path)),
              0);
    for (size_t hop = 0; hop < smp->path->hops(); ++hop) {
      EXPECT_EQ((*smp->path)[hop], oracle.initial_path[hop + 1]);
    }
  }
}

}  // namespace
}  // namespace fabricd::wire
