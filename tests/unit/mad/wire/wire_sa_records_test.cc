// SPDX-License-Identifier: Apache-2.0
// SA records and their components against iba/ib_types.h of OpenSM as oracle, and what must hold of
// every record: nothing but reserved bits is lost, and each component is where its field is.
#include <cstddef>
#include <cstring>
#include <map>

#include <gtest/gtest.h>
#include <iba/ib_types.h>

#include "mad/wire/class_port_info.h"
#include "mad/wire/sa_components.h"
#include "mad/wire/sa_path_records.h"
#include "mad/wire/sa_records.h"
#include "mad/wire/sa_state_records.h"
#include "tests/unit/mad/wire/random_block.h"

namespace fabricd::wire {
namespace {

constexpr int kRounds = 200;

template <typename Oracle, typename Record>
Oracle View(const RecordBytes<Record>& bytes) {
  static_assert(sizeof(Oracle) <= Record::kBytes);
  static_assert(Record::kBytes - sizeof(Oracle) < 8);
  Oracle oracle;
  std::memcpy(&oracle, bytes.data(), sizeof(oracle));
  return oracle;
}

// Compares a decoded random record with the oracle's view of the bytes, and the same of what it is
// encoded to.
template <typename Record, typename Oracle, typename Compare>
void CompareBothWays(Compare compare) {
  Rng rng(static_cast<uint64_t>(Record::kAttribute));
  for (int round = 0; round < kRounds && !::testing::Test::HasFailure(); ++round) {
    const auto received = testing::RandomBytes<Record::kBytes>(rng);
    const Record value = Record::Decode(received);
    auto sent = testing::RandomBytes<Record::kBytes>(rng);
    value.Encode(sent);
    EXPECT_EQ(Record::Decode(sent), value);
    compare(value, View<Oracle, Record>(received));
    compare(value, View<Oracle, Record>(sent));
  }
}

bool Equal(const Gid& gid, const ib_gid_t& oracle) {
  return gid.prefix == cl_ntoh64(ib_gid_get_subnet_prefix(&oracle)) &&
         gid.low == cl_ntoh64(ib_gid_get_guid(&oracle));
}

// The embedded attribute as its own codec reads it, which has its own oracle tests.
template <typename Attribute, typename Oracle>
Attribute Embedded(const Oracle& oracle) {
  SmpData data{};
  std::memcpy(data.data(), &oracle, sizeof(oracle));
  return Attribute::Decode(data);
}

TEST(SaRecordsOracle, OfDevices) {
  CompareBothWays<NodeRecord, ib_node_record_t>([](const auto& value, const auto& oracle) {
    EXPECT_EQ(value.lid.value(), cl_ntoh16(oracle.lid));
    EXPECT_EQ(value.info, Embedded<NodeInfo>(oracle.node_info));
    EXPECT_EQ(value.description, Embedded<NodeDescription>(oracle.node_desc));
  });
  CompareBothWays<PortInfoRecord, ib_portinfo_record_t>([](const auto& value, const auto& oracle) {
    EXPECT_EQ(value.lid.value(), cl_ntoh16(oracle.lid));
    EXPECT_EQ(value.port.value(), oracle.port_num);
    EXPECT_EQ(value.options, oracle.options);
    EXPECT_EQ(value.info, Embedded<PortInfo>(oracle.port_info));
  });
  CompareBothWays<SwitchInfoRecord, ib_switch_info_record_t>(
      [](const auto& value, const auto& oracle) {
        EXPECT_EQ(value.lid.value(), cl_ntoh16(oracle.lid));
        EXPECT_EQ(value.info, Embedded<SwitchInfo>(oracle.switch_info));
      });
  CompareBothWays<SmInfoRecord, ib_sminfo_record_t>([](const auto& value, const auto& oracle) {
    EXPECT_EQ(value.lid.value(), cl_ntoh16(oracle.lid));
    EXPECT_EQ(value.info, Embedded<SmInfo>(oracle.sm_info));
  });
  CompareBothWays<LinkRecord, ib_link_record_t>([](const auto& value, const auto& oracle) {
    EXPECT_EQ(value.from_lid.value(), cl_ntoh16(oracle.from_lid));
    EXPECT_EQ(value.from_port.value(), oracle.from_port_num);
    EXPECT_EQ(value.to_port.value(), oracle.to_port_num);
    EXPECT_EQ(value.to_lid.value(), cl_ntoh16(oracle.to_lid));
  });
}

TEST(SaRecordsOracle, OfTables) {
  CompareBothWays<LinearForwardingTableRecord, ib_lft_record_t>(
      [](const auto& value, const auto& oracle) {
        EXPECT_EQ(value.lid.value(), cl_ntoh16(oracle.lid));
        EXPECT_EQ(value.block, cl_ntoh16(oracle.block_num));
        EXPECT_EQ(std::memcmp(value.table.port.data(), oracle.lft, sizeof(oracle.lft)), 0);
      });
  CompareBothWays<MulticastForwardingTableRecord, ib_mft_record_t>(
      [](const auto& value, const auto& oracle) {
        EXPECT_EQ(value.lid.value(), cl_ntoh16(oracle.lid));
        EXPECT_EQ(value.position, cl_ntoh16(oracle.position_block_num) >> 12);
        EXPECT_EQ(value.block, cl_ntoh16(oracle.position_block_num) & IB_MCAST_BLOCK_ID_MASK_HO);
        EXPECT_EQ(value.table, Embedded<MulticastForwardingTable>(oracle.mft));
      });
  CompareBothWays<GuidInfoRecord, ib_guidinfo_record_t>([](const auto& value, const auto& oracle) {
    EXPECT_EQ(value.lid.value(), cl_ntoh16(oracle.lid));
    EXPECT_EQ(value.block, oracle.block_num);
    EXPECT_EQ(value.info, Embedded<GuidInfo>(oracle.guid_info));
  });
  CompareBothWays<PKeyTableRecord, ib_pkey_table_record_t>(
      [](const auto& value, const auto& oracle) {
        EXPECT_EQ(value.lid.value(), cl_ntoh16(oracle.lid));
        EXPECT_EQ(value.block, cl_ntoh16(oracle.block_num));
        EXPECT_EQ(value.port.value(), oracle.port_num);
        EXPECT_EQ(value.table, Embedded<PKeyTable>(oracle.pkey_tbl));
      });
  CompareBothWays<SlToVlMappingTableRecord, ib_slvl_table_record_t>(
      [](const auto& value, const auto& oracle) {
        EXPECT_EQ(value.lid.value(), cl_ntoh16(oracle.lid));
        EXPECT_EQ(value.in.value(), oracle.in_port_num);
        EXPECT_EQ(value.out.value(), oracle.out_port_num);
        EXPECT_EQ(value.table, Embedded<SlToVlMappingTable>(oracle.slvl_tbl));
      });
  CompareBothWays<VlArbitrationTableRecord, ib_vl_arb_table_record_t>(
      [](const auto& value, const auto& oracle) {
        EXPECT_EQ(value.lid.value(), cl_ntoh16(oracle.lid));
        EXPECT_EQ(value.port.value(), oracle.port_num);
        EXPECT_EQ(value.block, oracle.block_num);
        EXPECT_EQ(value.table, Embedded<VlArbitrationTable>(oracle.vl_arb_tbl));
      });
}

TEST(SaRecordsOracle, PathRecord) {
  CompareBothWays<PathRecord, ib_path_rec_t>([](const PathRecord& value, const auto& oracle) {
    EXPECT_EQ(value.service_id, cl_ntoh64(oracle.service_id));
    EXPECT_TRUE(Equal(value.dgid, oracle.dgid) && Equal(value.sgid, oracle.sgid));
    EXPECT_EQ(value.dlid.value(), cl_ntoh16(oracle.dlid));
    EXPECT_EQ(value.slid.value(), cl_ntoh16(oracle.slid));
    EXPECT_EQ(value.raw_traffic, cl_ntoh32(oracle.hop_flow_raw) >> 31);
    EXPECT_EQ(value.flow_label, ib_path_rec_flow_lbl(&oracle));
    EXPECT_EQ(value.hop_limit, ib_path_rec_hop_limit(&oracle));
    EXPECT_EQ(value.traffic_class, oracle.tclass);
    EXPECT_EQ(value.reversible, (oracle.num_path & 0x80) != 0);
    EXPECT_EQ(value.numb_path, ib_path_rec_num_path(&oracle));
    EXPECT_EQ(value.p_key.value(), cl_ntoh16(oracle.pkey));
    EXPECT_EQ(value.qos_class, ib_path_rec_qos_class(&oracle));
    EXPECT_EQ(value.sl.value(), ib_path_rec_sl(&oracle));
    EXPECT_EQ(static_cast<int>(value.mtu_selector), ib_path_rec_mtu_sel(&oracle));
    EXPECT_EQ(value.mtu, ib_path_rec_mtu(&oracle));
    EXPECT_EQ(static_cast<int>(value.rate_selector), ib_path_rec_rate_sel(&oracle));
    EXPECT_EQ(value.rate, ib_path_rec_rate(&oracle));
    EXPECT_EQ(static_cast<int>(value.life_time_selector), ib_path_rec_pkt_life_sel(&oracle));
    EXPECT_EQ(value.packet_life_time, ib_path_rec_pkt_life(&oracle));
    EXPECT_EQ(value.preference, oracle.preference);
  });
}

TEST(SaRecordsOracle, MultiPathRecord) {
  Rng rng(9);
  for (int round = 0; round < kRounds; ++round) {
    auto bytes = testing::RandomBytes<sizeof(ib_multipath_rec_t)>(rng);
    const auto received = std::span(bytes).first<MultiPathRecord::kBytes>();
    const MultiPathRecord value = MultiPathRecord::Decode(received);
    value.Encode(received);
    ib_multipath_rec_t oracle;
    std::memcpy(&oracle, bytes.data(), sizeof(oracle));
    EXPECT_EQ(MultiPathRecord::Decode(received), value);
    EXPECT_EQ(value.hop_limit, cl_ntoh32(oracle.hop_flow_raw) & 0xFF);
    EXPECT_EQ(value.reversible, (oracle.num_path & 0x80) != 0);
    EXPECT_EQ(value.numb_path, ib_multipath_rec_num_path(&oracle));
    EXPECT_EQ(value.p_key.value(), cl_ntoh16(oracle.pkey));
    EXPECT_EQ(value.qos_class, ib_multipath_rec_qos_class(&oracle));
    EXPECT_EQ(value.sl.value(), ib_multipath_rec_sl(&oracle));
    EXPECT_EQ(value.mtu, ib_multipath_rec_mtu(&oracle));
    EXPECT_EQ(value.rate, ib_multipath_rec_rate(&oracle));
    EXPECT_EQ(static_cast<int>(value.rate_selector), ib_multipath_rec_rate_sel(&oracle));
    EXPECT_EQ(value.packet_life_time, ib_multipath_rec_pkt_life(&oracle));
    EXPECT_EQ(value.independence, oracle.independence >> 6);
    EXPECT_EQ(value.sgid_count, oracle.sgid_count);
    EXPECT_EQ(value.dgid_count, oracle.dgid_count);
    EXPECT_EQ(uint64_t{value.service_id_high} << 56 | value.service_id_low,
              cl_ntoh64(ib_multipath_rec_service_id(&oracle)));
  }
  EXPECT_EQ(offsetof(ib_multipath_rec_t, gids), MultiPathRecord::kBytes);
}

TEST(SaRecordsOracle, OfClients) {
  CompareBothWays<ServiceRecord, ib_service_record_t>([](const auto& value, const auto& oracle) {
    EXPECT_EQ(value.service_id, cl_ntoh64(oracle.service_id));
    EXPECT_TRUE(Equal(value.service_gid, oracle.service_gid));
    EXPECT_EQ(value.p_key.value(), cl_ntoh16(oracle.service_pkey));
    EXPECT_EQ(value.lease, cl_ntoh32(oracle.service_lease));
    EXPECT_EQ(std::memcmp(value.key.data(), oracle.service_key, 16), 0);
    EXPECT_EQ(std::memcmp(value.name.data(), oracle.service_name, 64), 0);
    EXPECT_EQ(value.data8[15], oracle.service_data8[15]);
    EXPECT_EQ(value.data16[7], cl_ntoh16(oracle.service_data16[7]));
    EXPECT_EQ(value.data32[3], cl_ntoh32(oracle.service_data32[3]));
    EXPECT_EQ(value.data64[1], cl_ntoh64(oracle.service_data64[1]));
  });
  CompareBothWays<McMemberRecord, ib_member_rec_t>([](const auto& value, const auto& oracle) {
    uint8_t sl = 0, hop = 0, scope = 0, state = 0;
    uint32_t flow = 0;
    ib_member_get_sl_flow_hop(oracle.sl_flow_hop, &sl, &flow, &hop);
    ib_member_get_scope_state(oracle.scope_state, &scope, &state);
    EXPECT_TRUE(Equal(value.mgid, oracle.mgid) && Equal(value.port_gid, oracle.port_gid));
    EXPECT_EQ(value.q_key, cl_ntoh32(oracle.qkey));
    EXPECT_EQ(value.mlid.value(), cl_ntoh16(oracle.mlid));
    EXPECT_EQ(static_cast<unsigned>(value.mtu_selector) << 6 | value.mtu, oracle.mtu);
    EXPECT_EQ(value.traffic_class, oracle.tclass);
    EXPECT_EQ(value.p_key.value(), cl_ntoh16(oracle.pkey));
    EXPECT_EQ(static_cast<unsigned>(value.rate_selector) << 6 | value.rate, oracle.rate);
    EXPECT_EQ(static_cast<unsigned>(value.life_time_selector) << 6 | value.packet_life_time,
              oracle.pkt_life);
    EXPECT_EQ(value.sl.value(), sl);
    EXPECT_EQ(value.flow_label, flow);
    EXPECT_EQ(value.hop_limit, hop);
    EXPECT_EQ(value.scope, scope);
    EXPECT_EQ(value.join_state, state);
  });
}

void CompareInformInfo(const InformInfo& value, const ib_inform_info_t& oracle) {
  ib_net32_t qpn = 0;
  uint8_t response_time = 0;
  ib_inform_info_get_qpn_resp_time(oracle.g_or_v.generic.qpn_resp_time_val, &qpn, &response_time);
  EXPECT_TRUE(Equal(value.gid, oracle.gid));
  EXPECT_EQ(value.lid_range_begin.value(), cl_ntoh16(oracle.lid_range_begin));
  EXPECT_EQ(value.lid_range_end.value(), cl_ntoh16(oracle.lid_range_end));
  EXPECT_EQ(value.is_generic, oracle.is_generic);
  EXPECT_EQ(value.subscribe, oracle.subscribe);
  EXPECT_EQ(value.type, cl_ntoh16(oracle.trap_type));
  EXPECT_EQ(value.trap_number, cl_ntoh16(oracle.g_or_v.generic.trap_num));
  EXPECT_EQ(value.qpn, cl_ntoh32(qpn));
  EXPECT_EQ(value.resp_time_value, response_time);
  EXPECT_EQ(value.producer_type & 0xFFFF, cl_ntoh16(oracle.g_or_v.generic.node_type_lsb));
  EXPECT_EQ(value.producer_type >> 16, oracle.g_or_v.generic.node_type_msb);
}

TEST(SaRecordsOracle, InformInfoAndClassPortInfo) {
  CompareBothWays<InformInfo, ib_inform_info_t>(CompareInformInfo);
  CompareBothWays<InformInfoRecord, ib_inform_info_record_t>(
      [](const auto& value, const auto& oracle) {
        EXPECT_TRUE(Equal(value.subscriber_gid, oracle.subscriber_gid));
        EXPECT_EQ(value.number, cl_ntoh16(oracle.subscriber_enum));
        CompareInformInfo(value.info, oracle.inform_info);
      });
  CompareBothWays<ClassPortInfo, ib_class_port_info_t>([](const auto& value, auto oracle) {
    EXPECT_EQ(value.base_version, oracle.base_ver);
    EXPECT_EQ(value.class_version, oracle.class_ver);
    EXPECT_EQ(value.capability_mask, cl_ntoh16(oracle.cap_mask));
    EXPECT_EQ(value.capability_mask2, ib_class_cap_mask2(&oracle));
    EXPECT_EQ(value.response_time_value, ib_class_resp_time_val(&oracle));
    EXPECT_TRUE(Equal(value.redirect.gid, oracle.redir_gid));
    EXPECT_EQ(value.redirect.lid.value(), cl_ntoh16(oracle.redir_lid));
    EXPECT_EQ(value.redirect.q_key, cl_ntoh32(oracle.redir_qkey));
    EXPECT_TRUE(Equal(value.trap.gid, oracle.trap_gid));
    EXPECT_EQ(value.trap.p_key.value(), cl_ntoh16(oracle.trap_pkey));
    EXPECT_EQ(uint32_t{value.trap.hop_limit} << 24 | value.trap.qpn, cl_ntoh32(oracle.trap_hop_qp));
    EXPECT_EQ(value.trap.q_key, cl_ntoh32(oracle.trap_qkey));
  });
}

struct Expected {
  ib_net64_t mask;
  size_t bit;
};

void ExpectComponents(SaAttribute attribute, size_t count, std::initializer_list<Expected> list) {
  const RecordLayout* layout = LayoutOf(attribute);
  ASSERT_NE(layout, nullptr);
  EXPECT_EQ(layout->components.size(), count) << static_cast<int>(attribute);
  for (const Expected& expected : list) {
    const auto number = static_cast<size_t>(__builtin_ctzll(cl_ntoh64(expected.mask)));
    ASSERT_LT(number, layout->components.size());
    EXPECT_EQ(layout->components[number].at, expected.bit)
        << static_cast<int>(attribute) << " component " << number;
  }
}

// A wrong width anywhere moves every component behind it, so comparing the last ones is enough.
TEST(SaComponents, AreWhereTheOracleHasTheirFields) {
  constexpr size_t kInfo = offsetof(ib_portinfo_record_t, port_info);
  using A = SaAttribute;
  ExpectComponents(A::kNodeRecord, 15,
                   {{IB_NR_COMPMASK_NODEGUID, 8 * (4 + offsetof(ib_node_info_t, node_guid))},
                    {IB_NR_COMPMASK_NODEDESC, 8 * offsetof(ib_node_record_t, node_desc)}});
  ExpectComponents(
      A::kPortInfoRecord, 58,
      {{IB_PIR_COMPMASK_CAPMASK, 8 * (kInfo + offsetof(ib_port_info_t, capability_mask))},
       {IB_PIR_COMPMASK_LMC, 8 * (kInfo + offsetof(ib_port_info_t, mkey_lmc)) + 5},
       {IB_PIR_COMPMASK_MTUCAP, 8 * (kInfo + offsetof(ib_port_info_t, mtu_cap)) + 4},
       {IB_PIR_COMPMASK_GUIDCAP, 8 * (kInfo + offsetof(ib_port_info_t, guid_cap))},
       {IB_PIR_COMPMASK_CAPMASK2, 8 * (kInfo + offsetof(ib_port_info_t, capability_mask2))},
       {IB_PIR_COMPMASK_LINKSPDEXTENAB,
        8 * (kInfo + offsetof(ib_port_info_t, link_speed_ext_enabled)) + 3}});
  ExpectComponents(A::kSwitchInfoRecord, 22, {{IB_SWIR_COMPMASK_RESERVED1, 16}});
  EXPECT_EQ(LayoutOf(A::kSwitchInfoRecord)->components[21].at,
            8 * (4 + offsetof(ib_switch_info_t, mcast_top)));
  ExpectComponents(A::kLinearForwardingTableRecord, 4, {{IB_LFTR_COMPMASK_BLOCK, 16}});
  ExpectComponents(A::kMulticastForwardingTableRecord, 6,
                   {{IB_MFTR_COMPMASK_BLOCK, 23}, {IB_MFTR_COMPMASK_RESERVED2, 32}});
  ExpectComponents(A::kSmInfoRecord, 7, {{IB_SMIR_COMPMASK_SMSTATE, 8 * 24 + 4}});
  ExpectComponents(A::kLinkRecord, 4, {{IB_LR_COMPMASK_TO_LID, 32}});
  ExpectComponents(A::kGuidInfoRecord, 12, {{IB_GIR_COMPMASK_GID7, 8 * 64}});
  ExpectComponents(A::kPKeyTableRecord, 5, {{IB_PKEY_COMPMASK_PORT, 32}});
  ExpectComponents(A::kSlToVlMappingTableRecord, 20, {{IB_SLVL_COMPMASK_OUT_PORT, 24}});
  ExpectComponents(A::kVlArbitrationTableRecord, 5, {{IB_VLA_COMPMASK_BLOCK, 24}});
  ExpectComponents(A::kServiceRecord, 37,
                   {{IB_SR_COMPMASK_SNAME, 8 * offsetof(ib_service_record_t, service_name)},
                    {IB_SR_COMPMASK_SDATA64_1, 8 * 168}});
  ExpectComponents(A::kPathRecord, 23,
                   {{IB_PR_COMPMASK_SERVICEID_LSB, 8},
                    {IB_PR_COMPMASK_SLID, 8 * offsetof(ib_path_rec_t, slid)},
                    {IB_PR_COMPMASK_NUMBPATH, 8 * offsetof(ib_path_rec_t, num_path) + 1},
                    {IB_PR_COMPMASK_PKTLIFETIME, 8 * offsetof(ib_path_rec_t, pkt_life) + 2}});
  ExpectComponents(
      A::kMultiPathRecord, 22,
      {{IB_MPR_COMPMASK_SGIDCOUNT, 8 * offsetof(ib_multipath_rec_t, sgid_count)},
       {IB_MPR_COMPMASK_SERVICEID_LSB, 8 * offsetof(ib_multipath_rec_t, service_id_56lsb)}});
  ExpectComponents(A::kMcMemberRecord, 18,
                   {{IB_MCR_COMPMASK_LIFE, 8 * offsetof(ib_member_rec_t, pkt_life) + 2},
                    {IB_MCR_COMPMASK_PROXY, 8 * 49}});
  ExpectComponents(A::kInformInfoRecord, 16,
                   {{IB_IIR_COMPMASK_QPN, 8 * (24 + 28)}, {IB_IIR_COMPMASK_PRODTYPE, 8 * 57}});
}

// A record differs from itself with one bit of a component turned exactly when the mask has it.
TEST(SaComponents, MaskSelectsBits) {
  Rng rng(11);
  const RecordLayout& layout = *LayoutOf(SaAttribute::kPathRecord);
  const auto query = testing::RandomBytes<PathRecord::kBytes>(rng);
  for (size_t turned = 0; turned < layout.components.size(); ++turned) {
    const Component& component = layout.components[turned];
    auto record = query;
    const size_t bit = component.at + rng.Below(component.width);
    record[bit / 8] ^= static_cast<uint8_t>(0x80 >> bit % 8);
    const uint64_t all = ~uint64_t{0}, one = uint64_t{1} << turned;
    EXPECT_FALSE(RecordMatcher(layout, one, query).Matches(record));
    EXPECT_TRUE(RecordMatcher(layout, all & ~one, query).Matches(record));
    RecordMatcher careless(layout, all, query);
    EXPECT_FALSE(careless.Matches(record));
    careless.Ignore(component);
    EXPECT_TRUE(careless.Matches(record));
  }
  EXPECT_EQ(LayoutOf(SaAttribute::kClassPortInfo), nullptr);
  EXPECT_EQ(LayoutOf(static_cast<SaAttribute>(0x16)), nullptr);
}

}  // namespace
}  // namespace fabricd::wire
