// SPDX-License-Identifier: Apache-2.0
#include "fabric/opensm_dumps.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "fabric/text_cursor.h"

namespace fabricd::fabric {
namespace {

using wire::LinkSpeed;
using wire::NodeType;

constexpr uint8_t kNoPort = 255;
constexpr uint32_t kUnreached = std::numeric_limits<uint32_t>::max();
constexpr int kMaxHops = 64;  // Of a directed route, so of any path that could be discovered.

std::vector<const Node*> NodesByGuid(const FabricSnapshot& snapshot, bool switches_only) {
  std::vector<const Node*> nodes;
  snapshot.ForEachNode([&](const Node& node) {
    if (!switches_only || node.IsSwitch()) nodes.push_back(&node);
  });
  std::sort(nodes.begin(), nodes.end(),
            [](const Node* a, const Node* b) { return a->guid() < b->guid(); });
  return nodes;
}

// The end port whose LID a port uses: port 0 for a switch.
PortRef EndPortOf(const Node& node, PortNum port) {
  return {node.index, node.IsSwitch() ? PortNum(0) : port};
}

std::string_view SpeedText(LinkSpeed speed) {
  switch (speed) {
    case LinkSpeed::kUnknown: break;
    case LinkSpeed::kSdr: return "2.5";
    case LinkSpeed::kDdr: return "5";
    case LinkSpeed::kQdr: return "10";
    case LinkSpeed::kFdr10: return "FDR10";
    case LinkSpeed::kFdr: return "14";
    case LinkSpeed::kEdr: return "25";
    case LinkSpeed::kHdr: return "50";
    case LinkSpeed::kNdr: return "100";
    case LinkSpeed::kXdr: return "200";
  }
  return "?";
}

std::string_view StateText(wire::PortState state) {
  switch (state) {
    case wire::PortState::kNoChange: break;
    case wire::PortState::kDown: return "DWN";
    case wire::PortState::kInit: return "INI";
    case wire::PortState::kArmed: return "ARM";
    case wire::PortState::kActive: return "ACT";
  }
  return "?";
}

std::string_view TypeText(const Node& node) {
  if (node.IsSwitch()) return "SW";
  return node.info.node_type == NodeType::kRouter ? "Rt" : "CA";
}

std::string_view LongTypeText(const Node& node) {
  if (node.IsSwitch()) return "Switch";
  return node.info.node_type == NodeType::kRouter ? "Router" : "Channel Adapter";
}

// The record's own syntax is made of braces.
std::string WithoutBraces(std::string text) {
  std::replace(text.begin(), text.end(), '{', '(');
  std::replace(text.begin(), text.end(), '}', ')');
  return text;
}

template <typename... Args>
void Append(std::string& text, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(text), format, std::forward<Args>(args)...);
}

class SubnetLstWriter {
 public:
  SubnetLstWriter(const FabricSnapshot& snapshot, const LidTable& lids, NodeIndex sm_node)
      : snapshot_(snapshot), lids_(lids), sm_node_(sm_node) {}

  void Write(const TextSink& sink) const {
    for (const Node* node : NodesByGuid(snapshot_, false)) {
      std::string text;
      for (const auto& [ref, port] : node->LinkPorts()) {
        AppendLink(*node, ref.port, text);
      }
      sink(text);
    }
  }

 private:
  void AppendLink(const Node& node, PortNum number, std::string& text) const {
    const Port& port = node.port(number);
    const Node* peer = snapshot_.node(port.peer.node);
    if (!peer || !port.IsUp() || !peer->port(port.peer.port).IsUp()) return;
    AppendEnd(node, number, false, text);
    text += ' ';
    AppendEnd(*peer, port.peer.port, true, text);
    const int lanes = wire::ActiveWidth(port.info);
    Append(text, " PHY={}x LOG={} SPD={}\n", lanes ? fmt::format("{}", lanes) : "?",
           StateText(port.info.port_state), SpeedText(port.Speed()));
  }

  void AppendEnd(const Node& node, PortNum number, bool far, std::string& text) const {
    const PortRef end_port = EndPortOf(node, number);
    const Port& own = *snapshot_.port(end_port);
    const Lid assigned = lids_.Of(end_port).base;
    Append(text, "{{ {}{} Ports:{:02X} SystemGUID:{:016x} NodeGUID:{:016x} PortGUID:{:016x} ",
           TypeText(node), node.index == sm_node_ ? "-SM" : "", node.info.num_ports,
           node.info.system_image_guid.value(), node.guid().value(), own.guid.value());
    // OpenSM writes the far end's ids in other widths, the device id shifted; its readers expect
    // so.
    if (far) {
      Append(text, "VenID:{:08X} DevID:{:04X}0000", node.info.vendor_id, node.info.device_id);
    } else {
      Append(text, "VenID:{:06X} DevID:{:04X}", node.info.vendor_id, node.info.device_id);
    }
    Append(text, " Rev:{:08X} {{{}}} LID:{:04X} PN:{:02X} }}", node.info.revision,
           WithoutBraces(node.description), (assigned ? assigned : own.info.lid).value(),
           number.value());
  }

  const FabricSnapshot& snapshot_;
  const LidTable& lids_;
  const NodeIndex sm_node_;
};

// Hops from one switch: along the tables, and at least.
class HopCounter {
 public:
  HopCounter(const FabricSnapshot& snapshot, const LidTable& lids, const EgressPortOf& egress)
      : snapshot_(snapshot), lids_(lids), egress_(egress) {}

  void StartAt(const Node& source) {
    distance_.assign(snapshot_.node_index_end(), kUnreached);
    distance_[source.index.value()] = 0;
    queue_.assign(1, &source);
    for (size_t next = 0; next < queue_.size(); ++next) {
      const Node& node = *queue_[next];
      // Only switches pass traffic on.
      if (!node.IsSwitch()) continue;
      for (const Port& port : node.ports) {
        const Node* peer = snapshot_.node(port.peer.node);
        if (!peer || distance_[peer->index.value()] != kUnreached) continue;
        distance_[peer->index.value()] = distance_[node.index.value()] + 1;
        queue_.push_back(peer);
      }
    }
  }

  // kUnreached: the tables do not lead there.
  uint32_t Walk(const Node& source, Lid lid) const {
    const PortRef owner = lids_.Owner(lid);
    const Node* node = &source;
    for (uint32_t hops = 0; hops <= kMaxHops; ++hops) {
      if (node->index == owner.node) return hops;
      if (!node->IsSwitch()) return kUnreached;
      const Port* port = snapshot_.port({node->index, PortNum(egress_(node->index, lid))});
      node = port ? snapshot_.node(port->peer.node) : nullptr;
      if (!node) return kUnreached;
    }
    return kUnreached;
  }

  uint32_t Least(Lid lid) const {
    const PortRef owner = lids_.Owner(lid);
    const Node* node = snapshot_.node(owner.node);
    if (!node || node->IsSwitch()) return node ? distance_[node->index.value()] : kUnreached;
    // By the link of this very port: the adapter's others may be nearer.
    const Node* leaf = snapshot_.node(node->port(owner.port).peer.node);
    const uint32_t to_leaf = leaf ? distance_[leaf->index.value()] : kUnreached;
    return to_leaf == kUnreached ? kUnreached : to_leaf + 1;
  }

 private:
  const FabricSnapshot& snapshot_;
  const LidTable& lids_;
  const EgressPortOf& egress_;
  std::vector<uint32_t> distance_;  // [NodeIndex]
  std::vector<const Node*> queue_;
};

}  // namespace

void WriteSubnetLst(const FabricSnapshot& snapshot, const LidTable& lids, NodeIndex sm_node,
                    const TextSink& sink) {
  SubnetLstWriter(snapshot, lids, sm_node).Write(sink);
}

void WriteFdbs(const FabricSnapshot& snapshot, const LidTable& lids, const EgressPortOf& egress,
               const TextSink& sink) {
  HopCounter hops(snapshot, lids, egress);
  for (const Node* node : NodesByGuid(snapshot, true)) {
    hops.StartAt(*node);
    std::string text;
    Append(text, "dump_ucast_routes: Switch 0x{:016x}\nLID    : Port : Hops : Optimal\n",
           node->guid().value());
    for (uint32_t value = 1; value <= lids.top().value(); ++value) {
      const Lid lid(static_cast<uint16_t>(value));
      const uint8_t port = egress(node->index, lid);
      if (port == kNoPort || lids.Owner(lid).IsNone()) {
        Append(text, "0x{:04X} : UNREACHABLE\n", value);
        continue;
      }
      const uint32_t least = hops.Least(lid);
      const uint32_t walked = hops.Walk(*node, lid);
      Append(text, "0x{:04X} : {:03}  : {:02}   : {}\n", value, port,
             walked != kUnreached ? walked : 0, walked == least ? "yes" : "no");
    }
    sink(text);
  }
}

void WritePathSlDump(const FabricSnapshot& snapshot, const LidTable& lids,
                     const ServiceLevelOf& level, const TextSink& sink) {
  for (const Node* node : NodesByGuid(snapshot, false)) {
    for (const auto& [ref, port] : node->EndPorts()) {
      const Node* at = node->IsSwitch() ? node : snapshot.node(port.peer.node);
      if (at == nullptr || !at->IsSwitch() || (!node->IsSwitch() && !port.IsUp())) continue;
      std::string text;
      for (uint32_t value = 1; value <= lids.top().value(); ++value) {
        const Lid lid(static_cast<uint16_t>(value));
        if (lids.Owner(lid).IsNone()) continue;
        Append(text, "0x{:016x} {} {}\n", node->guid().value(), value, level(at->index, lid));
      }
      sink(text);
    }
  }
}

void WriteSl2vlDump(const FabricSnapshot& snapshot, uint8_t lanes, const TextSink& sink) {
  constexpr int kLevels = 16;
  for (const Node* node : NodesByGuid(snapshot, true)) {
    std::string text;
    for (size_t in = 0; in < node->ports.size(); ++in)
      for (size_t out = 1; out < node->ports.size(); ++out) {
        const int vls = wire::DataVls(node->ports[out].info.operational_vls);
        Append(text, "0x{:016x} {} {}", node->guid().value(), in, out);
        for (int sl = 0; sl < kLevels; ++sl) {
          const int lane = sl % lanes;
          Append(text, "{}{:x}", sl % 2 == 0 ? " 0x" : "", vls > 0 ? lane % vls : lane);
        }
        text += '\n';
      }
    sink(text);
  }
}

void WriteLftsDump(const FabricSnapshot& snapshot, const LidTable& lids, const EgressPortOf& egress,
                   const TextSink& sink) {
  const uint32_t top = lids.top().value();
  for (const Node* node : NodesByGuid(snapshot, true)) {
    std::string text;
    Append(text, "Unicast lids [0-{}] of switch Lid {} guid 0x{:016x} ('{}'):\n", top,
           lids.Of({node->index, PortNum(0)}).base, node->guid().value(), node->description);
    for (uint32_t value = 1; value <= top; ++value) {
      const Lid lid(static_cast<uint16_t>(value));
      const PortRef owner = lids.Owner(lid);
      const Node* owner_node = snapshot.node(owner.node);
      const uint8_t port = egress(node->index, lid);
      if (!owner_node || port == kNoPort) continue;
      Append(text, "0x{:04x} {:03} # {} portguid 0x{:016x}: '{}'\n", value, port,
             LongTypeText(*owner_node), owner_node->port(owner.port).guid.value(),
             owner_node->description);
    }
    Append(text, "{} lids dumped\n", top);
    sink(text);
  }
}

void WriteMcfdbs(const FabricSnapshot& snapshot, const MulticastEntriesOf& entries,
                 const TextSink& sink) {
  for (const Node* node : NodesByGuid(snapshot, true)) {
    const std::vector<MulticastEntry> own = entries(node->index);
    if (own.empty()) continue;
    std::string text;
    Append(text, "\nSwitch 0x{:016x}\nLID    : Out Port(s)\n", node->guid().value());
    for (const MulticastEntry& entry : own) {
      Append(text, "0x{:04X} :", entry.mlid.value());
      for (const PortNum port : entry.ports) Append(text, " 0x{:03X} ", port.value());
      text += '\n';
    }
    sink(text);
  }
}

namespace {

constexpr size_t kMaxQuotedBytes = 200;

// The switch's GUID in a heading of a table; 0: not a heading. What comes first counts: a
// description may say anything behind it.
Guid SwitchOfHeading(std::string_view line) {
  if (line.starts_with("0x")) return Guid(0);
  size_t first = std::string_view::npos;
  Guid found;
  for (const std::string_view before : {"Switch 0x", "guid 0x"}) {
    const size_t at = line.find(before);
    if (at >= first) continue;
    TextCursor cursor(line.substr(at + before.size()));
    uint64_t guid = 0;
    if (!cursor.EatNumber(16, guid)) continue;
    first = at;
    found = Guid(guid);
  }
  return found;
}

// Calls visit(number, line) for each line that is not blank.
template <typename Visit>
void ForEachLine(std::string_view text, const Visit& visit) {
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    const std::string_view line = TrimBlanks(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (!line.empty()) visit(number, line);
  }
}

// "0x000A", which every entry begins with.
bool EatTableLid(TextCursor& cursor, Lid& lid) {
  if (!cursor.rest().starts_with("0x")) return false;
  cursor.Advance(2);
  uint16_t value = 0;
  if (!cursor.EatNumber(16, value)) return false;
  lid = Lid(value);
  cursor.Eat(':');
  return true;
}

}  // namespace

UnicastTables ReadUnicastTables(std::string_view text) {
  UnicastTables result;
  ForEachLine(text, [&](size_t number, std::string_view line) {
    const auto skip = [&](const char* reason) {
      result.skipped.push_back({number, std::string(line.substr(0, kMaxQuotedBytes)), reason});
    };
    if (!line.starts_with("0x")) {
      if (const Guid guid = SwitchOfHeading(line)) {
        result.tables.push_back({guid, {}});
      } else if (!line.starts_with("LID ") && !line.starts_with("Lid ") &&
                 !line.starts_with("Port ") && !line.ends_with("lids dumped")) {
        skip("not a line of a forwarding table");
      }
      return;
    }
    TextCursor cursor(line);
    Lid lid;
    uint8_t port = kNoPort;
    if (result.tables.empty()) return skip("belongs to no switch");
    if (!EatTableLid(cursor, lid) || lid > kMaxUnicastLid) return skip("no unicast LID");
    if (!cursor.rest().starts_with("UNREACHABLE") && !cursor.EatNumber(10, port)) {
      return skip("no port number");
    }
    std::vector<uint8_t>& egress = result.tables.back().egress;
    if (egress.size() <= lid.value()) egress.resize(size_t{lid.value()} + 1, kNoPort);
    egress[lid.value()] = port;
  });
  return result;
}

MulticastTables ReadMcfdbs(std::string_view text) {
  MulticastTables result;
  ForEachLine(text, [&](size_t number, std::string_view line) {
    const auto skip = [&](const char* reason) {
      result.skipped.push_back({number, std::string(line.substr(0, kMaxQuotedBytes)), reason});
    };
    if (!line.starts_with("0x")) {
      if (const Guid guid = SwitchOfHeading(line)) {
        result.tables.push_back({guid, {}});
      } else if (!line.starts_with("LID ")) {
        skip("not a line of a multicast table");
      }
      return;
    }
    TextCursor cursor(line);
    MulticastEntry entry;
    if (result.tables.empty()) return skip("belongs to no switch");
    if (!EatTableLid(cursor, entry.mlid)) return skip("no LID");
    while (!cursor.AtEnd()) {
      uint64_t port = 0;
      if (!cursor.EatHex(port) || port > 254) return skip("bad port number");
      entry.ports.push_back(PortNum(static_cast<uint8_t>(port)));
    }
    result.tables.back().entries.push_back(std::move(entry));
  });
  return result;
}

}  // namespace fabricd::fabric
