// SPDX-License-Identifier: Apache-2.0
// The fields of each SA record in the order in which they stand in it, one call for each component
// (IBA vol 1 §15.2.5). One list gives the decoder, the encoder and the layout for component masks.
// Internal to mad/wire.
//
// A visitor has  Field(width, value)    a component of `width` bits
//                Split(high, low, value)  two that are the halves of one value
//                Reserved(width)        one that is sent as zero
//                Bytes(array)           one of whole bytes
//                Attribute(attribute, widths)  an SMP attribute, of components of those widths
#pragma once

#include <initializer_list>
#include <type_traits>

#include "mad/wire/sa_path_records.h"
#include "mad/wire/sa_records.h"
#include "mad/wire/sa_state_records.h"

namespace fabricd::wire {

template <typename T, typename Record>
concept IsA = std::is_same_v<std::remove_const_t<T>, Record>;

template <typename Visitor, IsA<NodeRecord> Record>
void VisitFields(Visitor& visit, Record& record) {
  visit.Field(16, record.lid);
  visit.Reserved(16);
  visit.Attribute(record.info, {8, 8, 8, 8, 64, 64, 64, 16, 16, 32, 8, 24});
  visit.Attribute(record.description, {512});
}

template <typename Visitor, IsA<PortInfoRecord> Record>
void VisitFields(Visitor& visit, Record& record) {
  visit.Field(16, record.lid);
  visit.Field(8, record.port);
  visit.Field(8, record.options);
  visit.Attribute(record.info, {64, 64, 16, 16, 32, 16, 16, 8, 8, 8,  8, 4,  4,  4, 4, 2, 3, 3,  4,
                                4,  4,  4,  4,  4,  8,  8,  8, 4, 4,  3, 5,  4,  1, 1, 1, 1, 16, 16,
                                16, 8,  1,  2,  5,  3,  5,  4, 4, 16, 8, 24, 16, 4, 4, 3, 5});
}

template <typename Visitor, IsA<SlToVlMappingTableRecord> Record>
void VisitFields(Visitor& visit, Record& record) {
  visit.Field(16, record.lid);
  visit.Field(8, record.in);
  visit.Field(8, record.out);
  visit.Reserved(32);
  visit.Attribute(record.table, {4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4});
}

template <typename Visitor, IsA<SwitchInfoRecord> Record>
void VisitFields(Visitor& visit, Record& record) {
  visit.Field(16, record.lid);
  visit.Reserved(16);
  visit.Attribute(record.info, {16, 16, 16, 16, 8, 8, 8, 5, 1, 2, 16, 16, 1, 1, 1, 1, 1, 3, 8, 16});
}

template <typename Visitor, IsA<LinearForwardingTableRecord> Record>
void VisitFields(Visitor& visit, Record& record) {
  visit.Field(16, record.lid);
  visit.Field(16, record.block);
  visit.Reserved(32);
  visit.Attribute(record.table, {512});
}

template <typename Visitor, IsA<MulticastForwardingTableRecord> Record>
void VisitFields(Visitor& visit, Record& record) {
  visit.Field(16, record.lid);
  visit.Field(4, record.position);
  visit.Reserved(3);
  visit.Field(9, record.block);
  visit.Reserved(32);
  visit.Attribute(record.table, {512});
}

template <typename Visitor, IsA<SmInfoRecord> Record>
void VisitFields(Visitor& visit, Record& record) {
  visit.Field(16, record.lid);
  visit.Reserved(16);
  visit.Attribute(record.info, {64, 64, 32, 4, 4});
}

template <typename Visitor, IsA<LinkRecord> Record>
void VisitFields(Visitor& visit, Record& record) {
  visit.Field(16, record.from_lid);
  visit.Field(8, record.from_port);
  visit.Field(8, record.to_port);
  visit.Field(16, record.to_lid);
}

template <typename Visitor, IsA<GuidInfoRecord> Record>
void VisitFields(Visitor& visit, Record& record) {
  visit.Field(16, record.lid);
  visit.Field(8, record.block);
  visit.Reserved(8);
  visit.Reserved(32);
  visit.Attribute(record.info, {64, 64, 64, 64, 64, 64, 64, 64});
}

template <typename Visitor, IsA<PKeyTableRecord> Record>
void VisitFields(Visitor& visit, Record& record) {
  visit.Field(16, record.lid);
  visit.Field(16, record.block);
  visit.Field(8, record.port);
  visit.Reserved(24);
  visit.Attribute(record.table, {512});
}

template <typename Visitor, IsA<VlArbitrationTableRecord> Record>
void VisitFields(Visitor& visit, Record& record) {
  visit.Field(16, record.lid);
  visit.Field(8, record.port);
  visit.Field(8, record.block);
  visit.Reserved(32);
  visit.Attribute(record.table, {512});
}

template <typename Record>
using TermsOf = std::conditional_t<std::is_const_v<Record>, const PathTerms, PathTerms>;

template <typename Visitor, IsA<PathTerms> Terms>
void VisitTerms(Visitor& visit, Terms& record) {
  visit.Field(1, record.raw_traffic);
  visit.Reserved(3);
  visit.Field(20, record.flow_label);
  visit.Field(8, record.hop_limit);
  visit.Field(8, record.traffic_class);
  visit.Field(1, record.reversible);
  visit.Field(7, record.numb_path);
  visit.Field(16, record.p_key);
  visit.Field(12, record.qos_class);
  visit.Field(4, record.sl);
  visit.Field(2, record.mtu_selector);
  visit.Field(6, record.mtu);
  visit.Field(2, record.rate_selector);
  visit.Field(6, record.rate);
  visit.Field(2, record.life_time_selector);
  visit.Field(6, record.packet_life_time);
}

template <typename Visitor, IsA<PathRecord> Record>
void VisitFields(Visitor& visit, Record& record) {
  visit.Split(8, 56, record.service_id);
  visit.Field(128, record.dgid);
  visit.Field(128, record.sgid);
  visit.Field(16, record.dlid);
  visit.Field(16, record.slid);
  VisitTerms(visit, static_cast<TermsOf<Record>&>(record));
  visit.Field(8, record.preference);
}

template <typename Visitor, IsA<MultiPathRecord> Record>
void VisitFields(Visitor& visit, Record& record) {
  VisitTerms(visit, static_cast<TermsOf<Record>&>(record));
  visit.Field(8, record.service_id_high);
  visit.Field(2, record.independence);
  visit.Reserved(6);
  visit.Field(8, record.sgid_count);
  visit.Field(8, record.dgid_count);
  visit.Field(56, record.service_id_low);
}

template <typename Visitor, IsA<TraceRecord> Record>
void VisitFields(Visitor& visit, Record& record) {
  visit.Field(64, record.gid_prefix);
  visit.Field(16, record.id_generation);
  visit.Reserved(8);
  visit.Field(8, record.node_type);
  visit.Field(64, record.node_id);
  visit.Field(64, record.chassis_id);
  visit.Field(64, record.entry_port_id);
  visit.Field(64, record.exit_port_id);
  visit.Field(8, record.entry_port);
  visit.Field(8, record.exit_port);
}

template <typename Visitor, IsA<ServiceRecord> Record>
void VisitFields(Visitor& visit, Record& record) {
  visit.Field(64, record.service_id);
  visit.Field(128, record.service_gid);
  visit.Field(16, record.p_key);
  visit.Reserved(16);
  visit.Field(32, record.lease);
  visit.Bytes(record.key);
  visit.Bytes(record.name);
  for (auto& value : record.data8) visit.Field(8, value);
  for (auto& value : record.data16) visit.Field(16, value);
  for (auto& value : record.data32) visit.Field(32, value);
  for (auto& value : record.data64) visit.Field(64, value);
}

template <typename Visitor, IsA<McMemberRecord> Record>
void VisitFields(Visitor& visit, Record& record) {
  visit.Field(128, record.mgid);
  visit.Field(128, record.port_gid);
  visit.Field(32, record.q_key);
  visit.Field(16, record.mlid);
  visit.Field(2, record.mtu_selector);
  visit.Field(6, record.mtu);
  visit.Field(8, record.traffic_class);
  visit.Field(16, record.p_key);
  visit.Field(2, record.rate_selector);
  visit.Field(6, record.rate);
  visit.Field(2, record.life_time_selector);
  visit.Field(6, record.packet_life_time);
  visit.Field(4, record.sl);
  visit.Field(20, record.flow_label);
  visit.Field(8, record.hop_limit);
  visit.Field(4, record.scope);
  visit.Field(4, record.join_state);
  visit.Field(1, record.proxy_join);
}

template <typename Visitor, IsA<InformInfo> Record>
void VisitFields(Visitor& visit, Record& record) {
  visit.Field(128, record.gid);
  visit.Field(16, record.lid_range_begin);
  visit.Field(16, record.lid_range_end);
  visit.Reserved(16);
  visit.Field(8, record.is_generic);
  visit.Field(8, record.subscribe);
  visit.Field(16, record.type);
  visit.Field(16, record.trap_number);
  visit.Field(24, record.qpn);
  visit.Reserved(3);
  visit.Field(5, record.resp_time_value);
  visit.Reserved(8);
  visit.Field(24, record.producer_type);
}

template <typename Visitor, IsA<InformInfoRecord> Record>
void VisitFields(Visitor& visit, Record& record) {
  visit.Field(128, record.subscriber_gid);
  visit.Field(16, record.number);
  visit.Reserved(48);
  VisitFields(visit, record.info);
}

}  // namespace fabricd::wire
