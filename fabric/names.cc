// SPDX-License-Identifier: Apache-2.0
#include "fabric/names.h"

#include <algorithm>
#include <optional>

#include "common/status.h"
#include "fabric/text_cursor.h"

namespace fabricd::fabric {
namespace {

// absl's string_view is not std's here (DESIGN §5), so lookups need a std::string.
using NameKey = std::string;

// Managed switches describe themselves as "MF0;name:model/U1": the name inside, else empty.
std::string_view SwitchNameInside(std::string_view description) {
  const size_t begin = description.find(';');
  if (begin == std::string_view::npos) return {};
  const size_t end = description.find(':', begin + 1);
  if (end == std::string_view::npos) return {};
  return description.substr(begin + 1, end - begin - 1);
}

struct SplitPort {
  std::string_view node;
  PortNum port;
};

// "name/17" or "name:17"; none when there is no such ending.
std::optional<SplitPort> SplitOffPort(std::string_view text) {
  const size_t at = text.find_last_of("/:");
  uint8_t port = 0;
  if (at == std::string_view::npos || at == 0 || !ParseNumber(text.substr(at + 1), 10, port)) {
    return std::nullopt;
  }
  return SplitPort{text.substr(0, at), PortNum(port)};
}

// Decimal, or hex with 0x and at most 4 digits (longer is a GUID). 0: not a LID.
Lid ParseLid(std::string_view text) {
  uint16_t value = 0;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    if (text.size() > 6 || !ParseNumber(text.substr(2), 16, value)) return Lid(0);
  } else if (!ParseNumber(text, 10, value)) {
    return Lid(0);
  }
  return Lid(value);
}

}  // namespace

NodeNameMap NodeNameMap::Parse(std::string_view text) {
  NodeNameMap map;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    const std::string_view line = TrimBlanks(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.empty() || line.front() == '#') continue;
    const auto skip = [&](const char* reason) { map.skipped.push_back({number, reason}); };
    TextCursor cursor(line);
    uint64_t guid = 0;
    std::string_view name;
    if (!ParseHex(cursor.Word(), guid) || guid == 0) {
      skip("no GUID at its beginning");
    } else if (!cursor.EatQuoted(name) || name.empty()) {
      skip("no name in quotation marks");
    } else if (!map.by_guid_.emplace(Guid(guid), name).second) {
      skip("a name for this GUID was read before");
    }
  }
  return map;
}

std::string_view NodeNameMap::Find(Guid node_guid) const {
  const auto found = by_guid_.find(node_guid);
  return found == by_guid_.end() ? std::string_view() : std::string_view(found->second);
}

std::string DisplayName(const Node& node, const NodeNameMap* map) {
  if (map) {
    if (const std::string_view name = map->Find(node.guid()); !name.empty()) {
      return std::string(name);
    }
  }
  const std::string_view description = TrimBlanks(node.description);
  return description.empty() ? fmt::format("{}", node.guid()) : std::string(description);
}

std::string PortName(const Node& node, PortNum port, const NodeNameMap* map) {
  return fmt::format("{}/{}", DisplayName(node, map), port);
}

Guid ParseGuid(std::string_view text) {
  uint64_t value = 0;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    // Up to 4 digits are a LID.
    return text.size() > 6 && text.size() <= 18 && ParseHex(text, value) ? Guid(value) : Guid(0);
  }
  if (text.find(':') == std::string_view::npos) {
    return text.size() >= 14 && text.size() <= 16 && ParseNumber(text, 16, value) ? Guid(value)
                                                                                  : Guid(0);
  }
  // Four groups of up to four digits, or eight of two.
  std::vector<std::string_view> groups;
  while (true) {
    const size_t at = text.find(':');
    groups.push_back(text.substr(0, at));
    if (at == std::string_view::npos) break;
    text.remove_prefix(at + 1);
  }
  if (groups.size() != 4 && groups.size() != 8) return Guid(0);
  const size_t digits = 16 / groups.size();
  for (const std::string_view group : groups) {
    uint64_t part = 0;
    if (group.empty() || group.size() > digits || !ParseNumber(group, 16, part)) return Guid(0);
    value = value << (4 * digits) | part;
  }
  return Guid(value);
}

NameTable::NameTable(const FabricSnapshot& snapshot, const NodeNameMap* map, const LidTable* lids)
    : snapshot_(snapshot), lids_(lids), map_(map) {
  snapshot.ForEachNode([&](const Node& node) {
    const auto add = [&](std::string_view name) {
      if (name.empty()) return;
      std::vector<NodeIndex>& nodes = by_name_[NameKey(name)];
      if (nodes.empty() || nodes.back() != node.index) nodes.push_back(node.index);
    };
    if (map) add(map->Find(node.guid()));
    add(TrimBlanks(node.description));
    if (node.IsSwitch()) add(SwitchNameInside(node.description));
    if (lids) return;
    for (size_t number = node.first_end_port().value(); number <= node.last_end_port().value();
         ++number) {
      const Port& own = node.ports[number];
      if (!own.known || !own.info.lid) continue;
      const uint32_t end = own.info.lid.value() + (1u << own.info.lmc);
      for (uint32_t lid = own.info.lid.value(); lid < end && lid <= kMaxUnicastLid.value(); ++lid) {
        by_reported_lid_.emplace(Lid(static_cast<uint16_t>(lid)),
                                 PortRef{node.index, PortNum(static_cast<uint8_t>(number))});
      }
    }
  });
  for (auto& [name, nodes] : by_name_) {
    std::sort(nodes.begin(), nodes.end(), [&](NodeIndex a, NodeIndex b) {
      return snapshot.node(a)->guid() < snapshot.node(b)->guid();
    });
  }
}

std::vector<NodeIndex> NameTable::FindByName(std::string_view name) const {
  const auto found = by_name_.find(NameKey(name));
  return found == by_name_.end() ? std::vector<NodeIndex>() : found->second;
}

NameTable::Address NameTable::AddressOf(Guid guid) const {
  if (const Node* node = snapshot_.FindNode(guid)) return {node->index, false, PortNum(0)};
  const PortRef port = snapshot_.FindPort(guid);
  return {port.node, !port.IsNone(), port.port};
}

NameTable::Address NameTable::AddressOf(Lid lid) const {
  PortRef owner;
  if (lids_) {
    owner = lids_->Owner(lid);
    if (!owner.IsNone() && !snapshot_.node(owner.node)) owner = {};
  } else if (const auto found = by_reported_lid_.find(lid); found != by_reported_lid_.end()) {
    owner = found->second;
  }
  return {owner.node, !owner.IsNone(), owner.port};
}

absl::StatusOr<NameTable::Address> NameTable::ResolveNode(std::string_view text) const {
  Address address;
  if (const Guid guid = ParseGuid(text)) address = AddressOf(guid);
  if (!address.node.IsNone()) return address;
  if (const Lid lid = ParseLid(text)) address = AddressOf(lid);
  if (!address.node.IsNone()) return address;
  const std::vector<NodeIndex> nodes = FindByName(text);
  if (nodes.empty()) return NotFound("no node, port or LID \"{}\"", text);
  if (nodes.size() == 1) return Address{nodes.front(), false, PortNum(0)};
  std::string candidates;
  for (size_t i = 0; i < nodes.size() && i < 8; ++i) {
    fmt::format_to(std::back_inserter(candidates), "{}{}", i ? ", " : "",
                   snapshot_.node(nodes[i])->guid());
  }
  return InvalidArgument("{} nodes have the name \"{}\" ({}{}): give a GUID", nodes.size(), text,
                         candidates, nodes.size() > 8 ? ", ..." : "");
}

absl::StatusOr<NameTable::Address> NameTable::Resolve(std::string_view text) const {
  text = TrimBlanks(text);
  // The whole text first: names and GUIDs hold '/' and ':' themselves.
  absl::StatusOr<Address> whole = ResolveNode(text);
  if (whole.ok() || whole.status().code() != absl::StatusCode::kNotFound) return whole;
  const auto split = SplitOffPort(text);
  if (!split) return whole;
  absl::StatusOr<Address> node = ResolveNode(split->node);
  if (!node.ok()) return absl::IsNotFound(node.status()) ? whole : node;
  const Node& found = *snapshot_.node(node->node);
  const PortNum first = found.first_end_port();
  if (split->port < first || split->port.value() >= found.ports.size()) {
    return NotFound("{} has no port {}", DisplayName(found, map_), split->port);
  }
  return Address{node->node, true, split->port};
}

}  // namespace fabricd::fabric
