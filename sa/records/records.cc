// SPDX-License-Identifier: Apache-2.0
#include "sa/records/records.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>

#include "mad/wire/sa_records.h"

namespace fabricd::sa {
namespace {

using wire::SaAttribute;

// Numbers of PortInfoRecord's components.
constexpr unsigned kOptions = 2, kCapabilityMask = 7, kCapabilityMask2 = 53;
constexpr uint32_t kMatchCapabilityBits = 1u << 31;  // AttributeModifier

// One query on its way through the end ports.
class Collector {
 public:
  Collector(const SaView& view, const Asker& asker, wire::RecordMatcher matcher, RecordTable& table)
      : view_(view), asker_(asker), matcher_(matcher), table_(table) {}

  const SaView& view() const { return view_; }
  const Asker& asker() const { return asker_; }
  wire::RecordMatcher& matcher() { return matcher_; }
  uint32_t wanted_capabilities = 0;
  uint16_t wanted_capabilities2 = 0;

  // Numbers of ports are of switches only: of a host or a router, which has one end port, they are
  // not looked at.
  void IgnorePortsOfHosts(const wire::RecordLayout& layout, std::initializer_list<unsigned> which) {
    of_hosts_ = matcher_;
    for (const unsigned number : which) of_hosts_->Ignore(layout.components[number]);
  }

  template <typename Record>
  void Offer(const Record& record, const EndPort* owner = nullptr) {
    const bool of_host = of_hosts_ && owner != nullptr && owner->ref.port != PortNum(0);
    wire::RecordBytes<Record> bytes;
    record.Encode(bytes);
    if (!(of_host ? *of_hosts_ : matcher_).Matches(bytes)) return;
    if (uint8_t* at = table_.Add(bytes.size())) std::copy(bytes.begin(), bytes.end(), at);
  }

 private:
  const SaView& view_;
  const Asker& asker_;
  wire::RecordMatcher matcher_;
  std::optional<wire::RecordMatcher> of_hosts_;
  RecordTable& table_;
};

void OfferNode(Collector& out, const EndPort& end) {
  const fabric::Node& node = out.view().NodeOf(end);
  wire::NodeRecord record;
  record.lid = Lid(end.base_lid);
  record.info = node.info;
  record.info.port_guid = end.guid;
  record.info.local_port = end.ref.port;
  record.description.text = node.description;
  out.Offer(record);
}

void OfferPorts(Collector& out, const EndPort& end) {
  const fabric::Node& node = out.view().NodeOf(end);
  for (const auto& [ref, port] : node.AllPorts()) {
    if (!port.known || (!node.IsSwitch() && ref != end.ref)) continue;
    wire::PortInfoRecord record{Lid(end.base_lid), ref.port, 0, port.info};
    if (!out.asker().trusted) record.info.m_key = MKey();
    if ((port.info.capability_mask & out.wanted_capabilities) == out.wanted_capabilities &&
        (port.info.capability_mask2 & out.wanted_capabilities2) == out.wanted_capabilities2)
      out.Offer(record);
  }
}

void OfferSwitch(Collector& out, const EndPort& end) {
  const fabric::Node& node = out.view().NodeOf(end);
  if (node.switch_info) out.Offer(wire::SwitchInfoRecord{Lid(end.base_lid), *node.switch_info});
}

void OfferForwarding(Collector& out, const EndPort& end) {
  const routing::RoutingPlan* plan = out.view().input().plan.get();
  if (plan == nullptr || !plan->HasRow(end.ref.node)) return;
  const routing::Row& row = *plan->rows[end.ref.node.value()];
  const size_t blocks = std::min(row.blocks(), plan->lid_top.value() / routing::Row::kBlock + 1);
  wire::LinearForwardingTableRecord record;
  record.lid = Lid(end.base_lid);
  for (size_t block = 0; block < blocks; ++block) {
    record.block = static_cast<uint16_t>(block);
    std::copy_n(row.block(block), routing::Row::kBlock, record.table.port.begin());
    out.Offer(record);
  }
}

// All blocks up to the highest that has an entry, at all its ports.
void OfferMulticast(Collector& out, const EndPort& end) {
  const routing::MulticastPlan* plan = out.view().input().multicast.get();
  const routing::MulticastRow* row = plan == nullptr ? nullptr : plan->Row(end.ref.node);
  if (row == nullptr || row->blocks.empty()) return;
  const auto last =
      std::max_element(row->blocks.begin(), row->blocks.end(),
                       [](const auto& a, const auto& b) { return a.first.block < b.first.block; });
  constexpr size_t kPorts = 16;  // Of one position.
  wire::MulticastForwardingTableRecord record;
  record.lid = Lid(end.base_lid);
  for (size_t first = 0; first < out.view().NodeOf(end).ports.size(); first += kPorts)
    for (record.block = 0; record.block <= last->first.block; ++record.block) {
      record.position = static_cast<uint8_t>(first / kPorts);
      record.table.port_mask = row->At({record.block, record.position});
      out.Offer(record);
    }
}

void OfferManagers(Collector& out, const EndPort& end) {
  for (const SmFacts::Seen& seen : out.view().sm().managers) {
    if (seen.port != end.ref) continue;
    wire::SmInfoRecord record{Lid(end.base_lid), seen.info};
    if (!out.asker().trusted) record.info.sm_key = SmKey();
    out.Offer(record);
  }
}

void OfferLinks(Collector& out, const EndPort& end) {
  const SaView& view = out.view();
  const fabric::Node& node = view.NodeOf(end);
  for (const auto& [ref, port] : node.LinkPorts()) {
    if (port.peer.IsNone() || !port.IsUp() || (!node.IsSwitch() && ref != end.ref)) continue;
    const fabric::Node* far = view.snapshot().node(port.peer.node);
    if (far == nullptr) continue;
    const PortRef far_end{far->index, far->IsSwitch() ? PortNum(0) : port.peer.port};
    const uint32_t to = view.ends().FindLid(view.input().lids->Of(far_end).base);
    if (to == EndPorts::kNone || !out.asker().MaySee(view, view.ends()[to])) continue;
    out.Offer(wire::LinkRecord{Lid(end.base_lid), ref.port, port.peer.port,
                               Lid(view.ends()[to].base_lid)});
  }
}

// The ports' own GUIDs, and the aliases that they were given here.
void OfferGuids(Collector& out, const EndPort& end) {
  const fabric::Port& port = out.view().NodeOf(end).port(end.ref.port);
  constexpr int kEntries = wire::GuidInfo::kEntries;
  std::span<const fabric::AliasBlock> said;
  if (out.asker().aliases != nullptr) said = out.asker().aliases->Of(end.guid);
  for (int block = 0; block * kEntries < std::max<int>(port.info.guid_cap, 1); ++block) {
    wire::GuidInfoRecord record{Lid(end.base_lid), static_cast<uint8_t>(block), {}};
    for (const fabric::AliasBlock& each : said)
      if (each.block == block) record.info = each.info;
    if (block == 0) record.info.guids[0] = end.guid;
    out.Offer(record);
  }
}

void OfferPKeys(Collector& out, const EndPort& end) {
  const fabric::PortTables* tables = out.view().TablesOf(end.ref);
  if (tables == nullptr) return;
  for (const fabric::PortTables::PKeys& block : tables->p_keys)
    out.Offer(wire::PKeyTableRecord{Lid(end.base_lid), block.block, block.port, block.table}, &end);
}

void OfferLanes(Collector& out, const EndPort& end) {
  const fabric::PortTables* tables = out.view().TablesOf(end.ref);
  if (tables == nullptr) return;
  for (const fabric::PortTables::Lanes& map : tables->lanes)
    out.Offer(wire::SlToVlMappingTableRecord{Lid(end.base_lid), map.in, map.out, map.table}, &end);
}

void OfferArbitration(Collector& out, const EndPort& end) {
  const fabric::PortTables* tables = out.view().TablesOf(end.ref);
  if (tables == nullptr) return;
  for (const fabric::PortTables::Arbitration& block : tables->arbitration)
    out.Offer(
        wire::VlArbitrationTableRecord{Lid(end.base_lid), block.port, block.block, block.table},
        &end);
}

// Component 0 of each is a LID of the end port that the record belongs to.
struct Source {
  SaAttribute attribute;
  void (*offer)(Collector&, const EndPort&);
  bool trusted_only = false;
};
constexpr Source kSources[] = {
    {SaAttribute::kNodeRecord, OfferNode},
    {SaAttribute::kPortInfoRecord, OfferPorts},
    {SaAttribute::kSwitchInfoRecord, OfferSwitch},
    {SaAttribute::kLinearForwardingTableRecord, OfferForwarding},
    {SaAttribute::kMulticastForwardingTableRecord, OfferMulticast},
    {SaAttribute::kSmInfoRecord, OfferManagers},
    {SaAttribute::kLinkRecord, OfferLinks},
    {SaAttribute::kGuidInfoRecord, OfferGuids},
    {SaAttribute::kPKeyTableRecord, OfferPKeys, true},
    {SaAttribute::kSlToVlMappingTableRecord, OfferLanes},
    {SaAttribute::kVlArbitrationTableRecord, OfferArbitration},
};

const Source* FindSource(SaAttribute attribute) {
  const auto* found = std::find_if(std::begin(kSources), std::end(kSources),
                                   [&](const Source& s) { return s.attribute == attribute; });
  return found == std::end(kSources) ? nullptr : found;
}

bool IsOfLanes(SaAttribute attribute) {
  return attribute == SaAttribute::kSlToVlMappingTableRecord ||
         attribute == SaAttribute::kVlArbitrationTableRecord;
}

bool HasAllLanes(const SaView& view, const EndPort& end) {
  const fabric::PortTables* tables = view.TablesOf(end.ref);
  return tables != nullptr && tables->has_all_lanes;
}

// What the components of a PortInfoRecord mean beyond being equal.
void PreparePortInfo(const wire::SaHeader& header, const wire::RecordLayout& layout,
                     const wire::PortInfoRecord& wanted, Collector& out) {
  out.matcher().Ignore(layout.components[kOptions]);  // Says how to answer, not what to find.
  if ((header.mad.modifier & kMatchCapabilityBits) == 0) return;
  const auto given = [&](unsigned number) { return (header.component_mask >> number & 1) != 0; };
  out.matcher().Ignore(layout.components[kCapabilityMask]);
  out.matcher().Ignore(layout.components[kCapabilityMask2]);
  if (given(kCapabilityMask)) out.wanted_capabilities = wanted.info.capability_mask;
  if (given(kCapabilityMask2)) out.wanted_capabilities2 = wanted.info.capability_mask2;
}

}  // namespace

bool IsDeviceAttribute(SaAttribute attribute) { return FindSource(attribute) != nullptr; }

uint16_t CollectRecords(const SaView& view, const Asker& asker, const wire::SaHeader& header,
                        std::span<const uint8_t> query, RecordTable& table,
                        std::vector<NodeIndex>* unread) {
  const Source& source = *FindSource(header.attribute());
  if (source.trusted_only && !asker.trusted) return wire::kSaStatusRequestInvalid;
  const wire::RecordLayout& layout = *wire::LayoutOf(source.attribute);
  Collector out(view, asker, wire::RecordMatcher(layout, header.component_mask, query), table);
  if (source.attribute == SaAttribute::kPortInfoRecord) {
    const auto wanted = wire::PortInfoRecord::Decode(query.first<wire::PortInfoRecord::kBytes>());
    PreparePortInfo(header, layout, wanted, out);
  }
  uint32_t first = 0, last = view.ends().size();
  if ((header.component_mask & 1) != 0) {
    out.matcher().Ignore(layout.components[0]);
    first = view.ends().FindLid(wire::LidOfRecord(query));
    last = first == EndPorts::kNone ? first : first + 1;
  }
  if (source.attribute == SaAttribute::kPKeyTableRecord) out.IgnorePortsOfHosts(layout, {2});
  if (source.attribute == SaAttribute::kSlToVlMappingTableRecord)
    out.IgnorePortsOfHosts(layout, {1, 2});
  if (source.attribute == SaAttribute::kVlArbitrationTableRecord)
    out.IgnorePortsOfHosts(layout, {1});
  const bool of_lanes = unread != nullptr && IsOfLanes(source.attribute);
  size_t tables = 0;
  for (uint32_t number = first; number < last && !table.is_full(); ++number) {
    const EndPort& end = view.ends()[number];
    if (!asker.MaySee(view, end)) continue;
    source.offer(out, end);
    if (!of_lanes || HasAllLanes(view, end)) continue;
    const size_t ports = view.NodeOf(end).ports.size();
    tables += view.NodeOf(end).IsSwitch() ? ports * ports : ports;
    if (tables > kMostUnread) return wire::kSaStatusNoResources;
    unread->push_back(end.ref.node);
  }
  return table.is_full() ? wire::kSaStatusNoResources : wire::kStatusOk;
}

}  // namespace fabricd::sa
