// SPDX-License-Identifier: Apache-2.0
#include "fabric/names.h"

#include <algorithm>
#include <optional>

#include "common/number_text.h"
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
  if (at == std::string_view::npos || at == 0) return std::nullopt;
  const auto port = ParseNumber<uint8_t>(text.substr(at + 1));
  return port ? std::optional(SplitPort{text.substr(0, at), PortNum(*port)}) : std::nullopt;
}

// Decimal, or hex with 0x and at most 4 digits (longer is a GUID). 0: not a LID.
Lid ParseLid(std::string_view text) {
  if (HasHexPrefix(text) && text.size() > 6) return Lid(0);
  return Lid(ParseDecimalOrHex<uint16_t>(text).value_or(0));
}

// The first end port that says that it has this LID; none if none does.
PortRef ReporterOf(const FabricSnapshot& snapshot, Lid lid) {
  PortRef reporter;
  snapshot.ForEachNode([&](const Node& node) {
    for (const auto& [ref, own] : node.EndPorts()) {
      if (!own.known || !own.info.lid || !reporter.IsNone()) continue;
      if (lid >= own.info.lid && lid.value() - own.info.lid.value() < 1 << own.info.lmc)
        reporter = ref;
    }
  });
  return reporter;
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
    const uint64_t guid = ParseHex(cursor.Word()).value_or(0);
    std::string_view name;
    if (guid == 0) {
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
  return PortName(DisplayName(node, map), port);
}

Guid ParseGuid(std::string_view text) {
  const bool prefixed = HasHexPrefix(text);
  if (prefixed || text.find(':') == std::string_view::npos) {
    // Behind 0x up to 4 digits are a LID.
    const bool fits =
        prefixed ? text.size() > 6 && text.size() <= 18 : text.size() >= 14 && text.size() <= 16;
    return Guid(fits ? ParseHex(text).value_or(0) : 0);
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
  uint64_t value = 0;
  for (const std::string_view group : groups) {
    const auto part = ParseNumber<uint64_t>(group, 16);
    if (!part || group.size() > digits) return Guid(0);
    value = value << (4 * digits) | *part;
  }
  return Guid(value);
}

NodeNames::NodeNames(const FabricSnapshot& snapshot, const NodeNameMap* map) : map_(map) {
  snapshot.ForEachNode([&](const Node& node) {
    const auto add = [&](std::string_view name) {
      if (name.empty()) return;
      std::vector<NodeIndex>& nodes = by_name_[NameKey(name)];
      if (nodes.empty() || nodes.back() != node.index) nodes.push_back(node.index);
    };
    if (map) add(map->Find(node.guid()));
    add(TrimBlanks(node.description));
    if (node.IsSwitch()) add(SwitchNameInside(node.description));
  });
  for (auto& [name, nodes] : by_name_) {
    std::sort(nodes.begin(), nodes.end(), [&](NodeIndex a, NodeIndex b) {
      return snapshot.node(a)->guid() < snapshot.node(b)->guid();
    });
  }
}

std::vector<NodeIndex> NodeNames::Find(std::string_view name) const {
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
  } else {
    owner = ReporterOf(snapshot_, lid);
  }
  return {owner.node, !owner.IsNone(), owner.port};
}

absl::StatusOr<NameTable::Address> NameTable::ResolveNode(std::string_view text) const {
  Address address;
  if (const Guid guid = ParseGuid(text)) address = AddressOf(guid);
  if (!address.node.IsNone()) return address;
  if (const Lid lid = ParseLid(text)) address = AddressOf(lid);
  if (!address.node.IsNone()) return address;
  const std::vector<NodeIndex> nodes = names_.Find(text);
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
    return NotFound("{} has no port {}", DisplayName(found, names_.map()), split->port);
  }
  return Address{node->node, true, split->port};
}

}  // namespace fabricd::fabric
