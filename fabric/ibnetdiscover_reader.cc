// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include <absl/container/flat_hash_map.h>

#include "common/number_text.h"
#include "common/status.h"
#include "fabric/ibnetdiscover_text.h"
#include "fabric/snapshot_builder.h"
#include "fabric/text_cursor.h"
#include "fabric/topology_line.h"

namespace fabricd::fabric {
namespace {

using wire::LinkSpeed;
using wire::NodeType;

constexpr size_t kMaxQuotedBytes = 200;
constexpr size_t kNoRecord = SIZE_MAX;
constexpr uint8_t kMaxPorts = 254;  // Of a node; 255 is no port in a forwarding table.

constexpr LinkRate kDefaultRate{true, 4, LinkSpeed::kSdr};

struct PortRecord {
  size_t line = 0;  // 0: no line of its own.
  Guid guid;
  Lid lid;
  uint8_t lmc = 0;
  LinkRate rate;
  size_t peer = kNoRecord;
  PortNum peer_port;
  Guid peer_guid;  // What this line tells of the peer, for peers without a line.
  Lid peer_lid;
};

struct NodeRecord {
  size_t line = 0;
  NodeLine header;
  uint64_t vendor = 0, device = 0;
  Guid system_guid, guid, port0_guid;
  bool dropped = false;
  bool has_header = true;  // False: known only from others' lines; has the ports that these name.
  std::vector<std::pair<size_t, PortLine>> lines;  // With their line numbers.
  std::vector<PortRecord> ports;                   // [port number], as far as any was placed.

  bool IsSwitch() const { return header.type == NodeType::kSwitch; }
  PortRecord& Port(PortNum port) {
    if (ports.size() <= port.value()) ports.resize(size_t{port.value()} + 1);
    return ports[port.value()];
  }
};

// "S-0002c90100000000": the type and GUID that an id of ibnetdiscover spells.
std::optional<std::pair<NodeType, Guid>> DecodeId(std::string_view id) {
  if (id.size() != 18 || id[1] != '-') return std::nullopt;
  const uint64_t guid = ParseNumber<uint64_t>(id.substr(2), 16).value_or(0);
  if (guid == 0) return std::nullopt;
  switch (id[0]) {
    case 'S': return std::pair(NodeType::kSwitch, Guid(guid));
    case 'H': return std::pair(NodeType::kChannelAdapter, Guid(guid));
    case 'R': return std::pair(NodeType::kRouter, Guid(guid));
    default: return std::nullopt;
  }
}

uint8_t WidthBit(uint8_t lanes) {
  switch (lanes) {
    case 1: return 1;
    case 2: return 16;
    case 4: return 2;
    case 8: return 4;
    case 12: return 8;
    default: return 0;
  }
}

// The width and all speeds up to this one, as supported and enabled.
void SetSupported(const LinkRate& rate, wire::PortInfo& info) {
  info.link_width_supported = static_cast<uint8_t>(WidthBit(rate.lanes) | 1);
  info.link_width_enabled = info.link_width_supported;
  const auto from = [&](LinkSpeed speed, int bits) {
    return static_cast<uint8_t>(rate.speed >= speed ? bits : 0);
  };
  info.link_speed_supported = static_cast<uint8_t>(
      from(LinkSpeed::kSdr, 1) | from(LinkSpeed::kDdr, 2) | from(LinkSpeed::kQdr, 4));
  info.link_speed_enabled = info.link_speed_supported;
  info.link_speed_ext_supported =
      static_cast<uint8_t>(from(LinkSpeed::kFdr, 1) | from(LinkSpeed::kEdr, 2) |
                           from(LinkSpeed::kHdr, 4) | from(LinkSpeed::kNdr, 8));
  info.link_speed_ext_enabled = info.link_speed_ext_supported;
  info.link_speed_ext_supported2 = from(LinkSpeed::kXdr, 1);
  info.link_speed_ext_enabled2 = info.link_speed_ext_supported2;
}

void SetActive(const LinkRate& rate, wire::PortInfo& info) {
  info.link_width_active = WidthBit(rate.lanes);
  switch (rate.speed) {
    case LinkSpeed::kUnknown: info.link_speed_active = 0; return;
    case LinkSpeed::kSdr: info.link_speed_active = 1; return;
    case LinkSpeed::kDdr: info.link_speed_active = 2; return;
    case LinkSpeed::kQdr:
    case LinkSpeed::kFdr10: info.link_speed_active = 4; return;
    case LinkSpeed::kFdr: info.link_speed_ext_active = 1; break;
    case LinkSpeed::kEdr: info.link_speed_ext_active = 2; break;
    case LinkSpeed::kHdr: info.link_speed_ext_active = 4; break;
    case LinkSpeed::kNdr: info.link_speed_ext_active = 8; break;
    case LinkSpeed::kXdr: info.link_speed_ext_active2 = 1; break;
  }
  info.link_speed_active = 4;  // As devices report it beside an extended speed.
}

class TopologyReader {
 public:
  ReadResult Read(std::string_view text);

 private:
  void ReadLines(std::string_view text);
  void Add(const TopologyLine& parsed);
  void AddAttribute(const AttributeLine& line);
  void AddNode(const NodeLine& header);
  void AddLink(const LinkLine& line);
  size_t LinkNode(const LinkLine::End& end);
  void Skip(size_t line, std::string reason);

  void AssignGuids();
  size_t FindPeer(size_t line, const PortLine& port);
  void PlacePort(size_t index, size_t line, const PortLine& port);
  void CompleteLink(size_t index, PortNum port);
  void ResolveLinks();

  std::shared_ptr<const FabricSnapshot> Build();
  void PutPorts(SnapshotBuilder& builder, NodeIndex index, const NodeRecord& record) const;

  std::vector<std::string_view> lines_;  // [line number - 1]
  std::vector<NodeRecord> records_;
  absl::flat_hash_map<std::string_view, size_t, std::hash<std::string_view>> record_by_id_;
  absl::flat_hash_map<Guid, size_t> record_by_guid_;
  NodeRecord pending_;             // Attributes seen since the last record.
  size_t pending_line_ = 0;        // Of the last of them; 0: none.
  size_t current_ = kNoRecord;     // The record that port lines belong to.
  bool is_ibnetdiscover_ = false;  // Seen by now that ibnetdiscover has written the text.
  absl::Status status_;
  std::vector<SkippedLine> skipped_;
};

void TopologyReader::Skip(size_t line, std::string reason) {
  skipped_.push_back(
      {line, std::string(lines_[line - 1].substr(0, kMaxQuotedBytes)), std::move(reason)});
}

void TopologyReader::ReadLines(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const bool ends = end != std::string_view::npos;
    lines_.push_back(TrimBlanks(text.substr(0, end)));
    const TopologyLine parsed = ParseTopologyLine(lines_.back());
    const auto* node = std::get_if<NodeLine>(&parsed.content);
    const bool is_port = std::holds_alternative<PortLine>(parsed.content);
    // What is complete for ibsim may be the beginning of a line of ibnetdiscover.
    const bool lacks_comment = is_ibnetdiscover_ && (node || is_port) && !parsed.is_ibnetdiscover;
    if (!ends && (parsed.error || !parsed.whole || lacks_comment)) {
      status_ = InvalidArgument("line {}: the text ends in the middle of a record: \"{}\"",
                                lines_.size(), lines_.back().substr(0, kMaxQuotedBytes));
      return;
    }
    // Ibsim files too describe their adapters so.
    is_ibnetdiscover_ |= parsed.is_ibnetdiscover && !(node && node->type != NodeType::kSwitch);
    if (parsed.ends_record) current_ = kNoRecord;
    if (parsed.error) {
      Skip(lines_.size(), parsed.error);
    } else {
      Add(parsed);
    }
    text.remove_prefix(ends ? end + 1 : text.size());
  }
  if (pending_line_ != 0) {
    status_ = InvalidArgument("line {}: the text ends before the node that \"{}\" belongs to",
                              pending_line_, lines_[pending_line_ - 1].substr(0, kMaxQuotedBytes));
  }
}

void TopologyReader::Add(const TopologyLine& parsed) {
  const size_t line = lines_.size();
  if (const auto* attribute = std::get_if<AttributeLine>(&parsed.content)) {
    AddAttribute(*attribute);
  } else if (const auto* node = std::get_if<NodeLine>(&parsed.content)) {
    AddNode(*node);
    if (current_ == kNoRecord) Skip(line, "a node with this id was read before");
  } else if (const auto* port = std::get_if<PortLine>(&parsed.content)) {
    if (current_ == kNoRecord) {
      Skip(line, "belongs to no node");
    } else {
      records_[current_].lines.emplace_back(line, *port);
    }
  } else if (const auto* pair = std::get_if<LinkLine>(&parsed.content)) {
    AddLink(*pair);
  }
  if (!parsed.whole) Skip(line, "used without the end of it, which could not be read");
}

void TopologyReader::AddAttribute(const AttributeLine& line) {
  pending_line_ = lines_.size();
  switch (line.key) {
    case AttributeLine::Key::kVendor: pending_.vendor = line.value; break;
    case AttributeLine::Key::kDevice: pending_.device = line.value; break;
    case AttributeLine::Key::kSystemGuid: pending_.system_guid = Guid(line.value); break;
    case AttributeLine::Key::kNodeGuid:
      pending_.guid = Guid(line.value);
      pending_.port0_guid = line.port_guid;
      break;
  }
}

void TopologyReader::AddNode(const NodeLine& header) {
  NodeRecord record = std::exchange(pending_, NodeRecord{});
  pending_line_ = 0;
  if (!record_by_id_.emplace(header.id, records_.size()).second) return;
  current_ = records_.size();
  record.line = lines_.size();
  record.header = header;
  if (!record.header.description.data()) record.header.description = header.id;
  records_.push_back(std::move(record));
}

size_t TopologyReader::LinkNode(const LinkLine::End& end) {
  const auto [found, is_new] = record_by_guid_.emplace(end.node_guid, records_.size());
  if (is_new) {
    NodeRecord& record = records_.emplace_back();
    record.line = lines_.size();
    record.has_header = false;
    record.header.type = end.type;
    record.header.description = end.description;
    record.guid = end.node_guid;
    record.system_guid = end.system_guid;
    record.vendor = end.vendor;
    record.device = end.device;
    if (end.type == NodeType::kSwitch) {
      record.header.lid = end.lid;
      record.port0_guid = end.port_guid;
    }
  }
  NodeRecord& record = records_[found->second];
  record.header.ports = std::max({record.header.ports, end.ports, end.port.value()});
  PortRecord& port = record.Port(end.port);
  if (!record.IsSwitch()) {
    port.guid = end.port_guid;
    port.lid = end.lid;
  }
  return found->second;
}

void TopologyReader::AddLink(const LinkLine& line) {
  const auto is_port = [](PortNum port) { return port && port.value() <= kMaxPorts; };
  if (!is_port(line.near.port) || (line.far.node_guid && !is_port(line.far.port))) {
    return Skip(lines_.size(), "no port number from 1 to 254");
  }
  const size_t near = LinkNode(line.near);
  const size_t far = line.far.node_guid ? LinkNode(line.far) : kNoRecord;
  PortRecord& port = records_[near].Port(line.near.port);
  if (port.line != 0) return Skip(lines_.size(), "a line for this port was read before");
  port.line = lines_.size();
  if (far == kNoRecord) return;
  port.rate = line.rate;
  port.peer = far;
  port.peer_port = line.far.port;
  port.peer_guid = line.far.port_guid;
  port.peer_lid = line.far.lid;
}

void TopologyReader::AssignGuids() {
  // ibsim counts on from the last GUID of a node of the same kind; these are its beginnings, but
  // for routers, which all get 0 there.
  uint64_t next_adapter = 0x100000, next_switch = 0x200000, next_router = 0x300000;
  for (size_t i = 0; i < records_.size(); ++i) {
    NodeRecord& record = records_[i];
    uint64_t& next = record.IsSwitch()                         ? next_switch
                     : record.header.type == NodeType::kRouter ? next_router
                                                               : next_adapter;
    if (record.has_header) {
      if (!record.guid) {
        const auto spelled = DecodeId(record.header.id);
        record.guid = spelled ? spelled->second : Guid(next);
      }
      if (!record_by_guid_.emplace(record.guid, i).second) {
        record.dropped = true;
        Skip(record.line,
             fmt::format("left out with its ports: a node with its GUID {} was read before",
                         record.guid));
      }
    }
    next = record.guid.value() + (record.IsSwitch() ? 1 : uint64_t{record.header.ports} + 1);
  }
}

// The record that the line's peer is, made if need be; kNoRecord: none can be.
size_t TopologyReader::FindPeer(size_t line, const PortLine& port) {
  if (const auto found = record_by_id_.find(port.peer_id); found != record_by_id_.end()) {
    return records_[found->second].dropped ? kNoRecord : found->second;
  }
  const auto spelled = DecodeId(port.peer_id);
  if (!spelled) return kNoRecord;
  const auto [found, is_new] = record_by_guid_.emplace(spelled->second, records_.size());
  if (!is_new) return found->second;
  record_by_id_.emplace(port.peer_id, records_.size());
  NodeRecord& record = records_.emplace_back();
  record.line = line;
  record.has_header = false;
  record.header.type = spelled->first;
  record.header.id = port.peer_id;
  record.header.description = port.peer_description;
  record.guid = spelled->second;
  if (record.IsSwitch()) record.header.lid = port.peer_lid;
  Skip(line, "its peer has no record: made from what this line tells of it");
  return records_.size() - 1;
}

void TopologyReader::PlacePort(size_t index, size_t line, const PortLine& port) {
  if (!port.port || port.port.value() > records_[index].header.ports) {
    return Skip(line, "the node has no port of this number");
  }
  if (records_[index].Port(port.port).line != 0) {
    return Skip(line, "a line for this port was read before");
  }
  size_t peer = kNoRecord;
  if (!port.peer_port || port.peer_port.value() > kMaxPorts) {
    Skip(line, "port left unlinked: no port of the peer from 1 to 254");
  } else {
    peer = FindPeer(line, port);
    if (peer == kNoRecord) Skip(line, "port left unlinked: its peer has no record");
  }
  PortRecord& own = records_[index].Port(port.port);
  own.line = line;
  own.guid = port.guid;
  own.lid = port.lid;
  own.lmc = port.lmc;
  own.rate = port.rate.told ? port.rate : kDefaultRate;
  own.peer = peer;
  own.peer_port = port.peer_port;
  own.peer_guid = port.peer_guid;
  own.peer_lid = port.peer_lid;
  if (peer != kNoRecord && !records_[peer].has_header) {
    NodeLine& header = records_[peer].header;
    header.ports = std::max(header.ports, port.peer_port.value());
  }
}

// Makes the peer's side agree with this one, or cuts this one where it cannot.
void TopologyReader::CompleteLink(size_t index, PortNum number) {
  PortRecord& own = records_[index].ports[number.value()];
  NodeRecord& peer = records_[own.peer];
  const auto cut = [&](const char* reason) {
    own.peer = kNoRecord;
    Skip(own.line, reason);
  };
  if (own.peer_port.value() > peer.header.ports) {
    return cut("port left unlinked: the peer has no port of this number");
  }
  if (own.peer == index && own.peer_port == number) {
    return cut("port left unlinked: its peer is itself");
  }
  peer.Port(own.peer_port);  // May move the ports of this same node.
  PortRecord& mine = records_[index].ports[number.value()];
  PortRecord& other = peer.ports[mine.peer_port.value()];
  if (!other.guid) other.guid = mine.peer_guid;
  if (!other.lid) other.lid = mine.peer_lid;
  if (other.peer == index && other.peer_port == number) return;
  if (other.line != 0 || other.peer != kNoRecord) {
    mine.peer = kNoRecord;
    return Skip(mine.line, "port left unlinked: its peer is linked elsewhere");
  }
  if (peer.has_header) Skip(mine.line, "the peer's record has no line for this link");
  other.peer = index;
  other.peer_port = number;
  other.rate = mine.rate;
}

void TopologyReader::ResolveLinks() {
  const size_t read = records_.size();  // PlacePort makes more, which have no lines.
  for (size_t i = 0; i < read; ++i) {
    if (records_[i].dropped) continue;
    const auto lines = std::move(records_[i].lines);
    for (const auto& [line, port] : lines) PlacePort(i, line, port);
  }
  for (size_t i = 0; i < records_.size(); ++i) {
    if (records_[i].dropped) continue;
    for (size_t port = 1; port < records_[i].ports.size(); ++port) {
      if (records_[i].ports[port].peer == kNoRecord) continue;
      CompleteLink(i, PortNum(static_cast<uint8_t>(port)));
    }
  }
}

void TopologyReader::PutPorts(SnapshotBuilder& builder, NodeIndex index,
                              const NodeRecord& record) const {
  LinkRate fastest = kDefaultRate;
  for (const PortRecord& port : record.ports) {
    if (port.peer != kNoRecord && port.rate.speed > fastest.speed) fastest = port.rate;
  }
  for (uint8_t number = 1; number <= record.header.ports; ++number) {
    const PortRef ref{index, PortNum(number)};
    const PortRecord port = number < record.ports.size() ? record.ports[number] : PortRecord{};
    const bool linked = port.peer != kNoRecord;
    wire::PortInfo info;
    if (!record.IsSwitch()) {
      info.lid = port.lid;
      info.lmc = port.lmc;
      builder.SetPortGuid(ref, port.guid ? port.guid : Guid(record.guid.value() + number));
    }
    SetSupported(linked ? port.rate : fastest, info);
    if (linked) SetActive(port.rate, info);
    info.port_state = linked ? wire::PortState::kInit : wire::PortState::kDown;
    info.port_physical_state =
        linked ? wire::PortPhysicalState::kLinkUp : wire::PortPhysicalState::kPolling;
    builder.SetPortInfo(ref, info);
    builder.SetPortFdr10(ref, linked && port.rate.speed == LinkSpeed::kFdr10);
  }
}

std::shared_ptr<const FabricSnapshot> TopologyReader::Build() {
  SnapshotBuilder builder;
  std::vector<NodeIndex> indices;
  for (const NodeRecord& record : records_) {
    wire::NodeInfo info;
    info.node_type = record.header.type;
    info.num_ports = record.header.ports;
    info.system_image_guid = record.system_guid;
    info.node_guid = record.guid;
    info.vendor_id = static_cast<uint32_t>(record.vendor & 0xFFFFFF);
    info.device_id = static_cast<uint16_t>(record.device);
    if (record.dropped) {
      indices.push_back(NodeIndex::None());
      continue;
    }
    const NodeIndex index = builder.PutNode(info);
    indices.push_back(index);
    builder.SetDescription(index, std::string(record.header.description));
    PutPorts(builder, index, record);
    if (!record.IsSwitch()) continue;
    wire::SwitchInfo switch_info;
    switch_info.linear_fdb_cap = kMaxUnicastLid.value() + 1;
    switch_info.multicast_fdb_cap = 0xFFFF - 0xC000;
    switch_info.enhanced_port0 = record.header.enhanced_port0;
    builder.SetSwitchInfo(index, switch_info);
    wire::PortInfo port0;
    port0.lid = record.header.lid;
    port0.lmc = record.header.lmc;
    port0.port_state = wire::PortState::kActive;
    port0.port_physical_state = wire::PortPhysicalState::kLinkUp;
    builder.SetPortInfo({index, PortNum(0)}, port0);
    builder.SetPortGuid({index, PortNum(0)}, record.port0_guid ? record.port0_guid : record.guid);
  }
  for (size_t i = 0; i < records_.size(); ++i) {
    for (size_t port = 1; port < records_[i].ports.size(); ++port) {
      const PortRecord& own = records_[i].ports[port];
      if (own.peer == kNoRecord) continue;
      builder.Link({indices[i], PortNum(static_cast<uint8_t>(port))},
                   {indices[own.peer], own.peer_port});
    }
  }
  return builder.Build();
}

ReadResult TopologyReader::Read(std::string_view text) {
  ReadLines(text);
  if (status_.ok() && records_.empty()) {
    status_ = InvalidArgument("line {}: the text ends without a node record", lines_.size());
  }
  ReadResult result;
  if (status_.ok()) {
    AssignGuids();
    ResolveLinks();
    result.snapshot = Build();
  }
  result.status = std::move(status_);
  std::stable_sort(skipped_.begin(), skipped_.end(),
                   [](const SkippedLine& a, const SkippedLine& b) { return a.line < b.line; });
  result.skipped = std::move(skipped_);
  return result;
}

}  // namespace

ReadResult ReadTopology(std::string_view text) { return TopologyReader().Read(text); }

}  // namespace fabricd::fabric
