// SPDX-License-Identifier: Apache-2.0
#include "fabric/topology_line.h"

#include <optional>

#include "common/number_text.h"
#include "fabric/text_cursor.h"

namespace fabricd::fabric {
namespace {

using wire::LinkSpeed;
using wire::NodeType;

std::optional<NodeType> NodeTypeOf(std::string_view word) {
  if (EqualsIgnoringCase(word, "Switch")) return NodeType::kSwitch;
  if (EqualsIgnoringCase(word, "Ca") || EqualsIgnoringCase(word, "Hca")) {
    return NodeType::kChannelAdapter;
  }
  if (EqualsIgnoringCase(word, "Rt") || EqualsIgnoringCase(word, "Router"))
    return NodeType::kRouter;
  return std::nullopt;
}

std::optional<NodeType> PortListTypeOf(std::string_view word) {
  if (EqualsIgnoringCase(word, "SW")) return NodeType::kSwitch;
  if (EqualsIgnoringCase(word, "CA")) return NodeType::kChannelAdapter;
  if (EqualsIgnoringCase(word, "RT")) return NodeType::kRouter;
  return std::nullopt;
}

LinkSpeed SpeedOf(std::string_view name) {
  for (auto speed = LinkSpeed::kSdr; speed <= LinkSpeed::kXdr;
       speed = static_cast<LinkSpeed>(static_cast<int>(speed) + 1)) {
    if (name == wire::SpeedName(speed)) return speed;
  }
  return LinkSpeed::kUnknown;
}

bool IsLanes(uint8_t lanes) {
  return lanes == 1 || lanes == 2 || lanes == 4 || lanes == 8 || lanes == 12;
}

// "4xHDR" or "4x HDR"; ibnetdiscover writes "?" for a width or speed that it does not know. False,
// with what could be read, for other words.
bool EatRate(TextCursor& cursor, LinkRate& rate) {
  uint8_t lanes = 0;
  bool whole = true;
  if (cursor.Peek() == '?') {
    while (cursor.Eat('?')) {
    }
    cursor.Eat('x');
  } else {
    if (!cursor.EatNumber(10, lanes) || !cursor.Eat('x')) return false;
    whole = IsLanes(lanes);
  }
  const std::string_view name = cursor.Word();
  rate.told = true;
  rate.lanes = whole ? lanes : 0;
  rate.speed = SpeedOf(name);
  return whole && (rate.speed != LinkSpeed::kUnknown || name == "???");
}

// ibsim's "w=": a LinkWidthEnabled mask.
uint8_t LanesOfMask(uint8_t mask) {
  if (mask & 8) return 12;
  if (mask & 4) return 8;
  if (mask & 2) return 4;
  if (mask & 16) return 2;
  return mask & 1 ? 1 : 0;
}

// ibsim's "s=": a LinkSpeedEnabled mask.
LinkSpeed SpeedOfMask(uint8_t mask) {
  if (mask & 4) return LinkSpeed::kQdr;
  if (mask & 2) return LinkSpeed::kDdr;
  return mask & 1 ? LinkSpeed::kSdr : LinkSpeed::kUnknown;
}

// "w=4 s=2" of ibsim, "s=4 w=2 v=4" of `ibnetdiscover -f`. What the line has said before wins.
void ParseOptions(TextCursor& cursor, LinkRate& rate) {
  uint8_t lanes = 0;
  LinkSpeed speed = LinkSpeed::kUnknown;
  while (!cursor.AtEnd() && cursor.Peek() != '#') {
    const std::string_view word = cursor.Word();
    if (word.size() <= 2 || word[1] != '=') continue;
    const auto value = ParseNumber<uint8_t>(word.substr(2));
    if (value && word[0] == 'w') lanes = LanesOfMask(*value);
    if (value && word[0] == 's') speed = SpeedOfMask(*value);
  }
  if (rate.told || (lanes == 0 && speed == LinkSpeed::kUnknown)) return;
  rate.told = true;
  rate.lanes = lanes ? lanes : 4;
  rate.speed = speed != LinkSpeed::kUnknown ? speed : LinkSpeed::kSdr;
}

// From the first to the last quotation mark, as descriptions may hold some.
bool EatDescription(TextCursor& cursor, std::string_view& description) {
  if (!cursor.Eat('"')) return false;
  const std::string_view rest = cursor.raw_rest();
  const size_t end = rest.rfind('"');
  if (end == std::string_view::npos) {
    description = rest;
    cursor.Advance(rest.size());
    return false;
  }
  description = rest.substr(0, end);
  cursor.Advance(end + 1);
  return true;
}

bool EatLid(TextCursor& cursor, Lid& lid) {
  uint16_t value = 0;
  if (!cursor.EatWord("lid") || !cursor.EatNumber(10, value)) return false;
  lid = Lid(value);
  return true;
}

bool EatLmc(TextCursor& cursor, uint8_t& lmc) {
  uint8_t value = 0;
  if (!cursor.EatWord("lmc") || !cursor.EatNumber(10, value) || value > 7) return false;
  lmc = value;
  return true;
}

std::optional<AttributeLine::Key> AttributeKeyOf(std::string_view key) {
  using Key = AttributeLine::Key;
  if (key == "vendid") return Key::kVendor;
  if (key == "devid") return Key::kDevice;
  if (key == "sysimgguid") return Key::kSystemGuid;
  if (key == "switchguid" || key == "caguid" || key == "rtguid") return Key::kNodeGuid;
  return std::nullopt;
}

TopologyLine ParseAttribute(AttributeLine::Key key, TextCursor cursor) {
  TopologyLine result;
  result.ends_record = true;
  AttributeLine line{.key = key};
  if (!cursor.EatHex(line.value)) {
    result.error = "no hexadecimal number";
    return result;
  }
  uint64_t port_guid = 0;
  if (cursor.Eat('(')) {
    result.whole = cursor.EatHex(port_guid) && cursor.Eat(')');
    line.port_guid = Guid(port_guid);
  }
  result.content = line;
  return result;
}

TopologyLine ParseNode(NodeType type, TextCursor cursor) {
  TopologyLine result;
  result.ends_record = true;
  NodeLine line{.type = type};
  if (!cursor.EatNumber(10, line.ports) || line.ports == 0 || line.ports == 255) {
    result.error = "no number of ports from 1 to 254";
    return result;
  }
  if (!cursor.EatQuoted(line.id) || line.id.empty()) {
    result.error = "no node id in quotation marks";
    return result;
  }
  if (cursor.Eat('#')) {
    if (cursor.Peek() == '"') {
      result.whole = EatDescription(cursor, line.description);
      result.is_ibnetdiscover = result.whole && type != NodeType::kSwitch;
      if (type == NodeType::kSwitch && !cursor.AtEnd()) {
        line.enhanced_port0 = cursor.EatWord("enhanced");
        result.whole = (line.enhanced_port0 || cursor.EatWord("base")) && cursor.EatWord("port") &&
                       cursor.EatWord("0") && EatLid(cursor, line.lid) && EatLmc(cursor, line.lmc);
        result.is_ibnetdiscover = result.whole;
      }
    } else {
      line.description = cursor.rest();
      result.whole = !line.description.empty();
    }
  }
  result.content = line;
  return result;
}

// "1/1/1": the cage, port and split on the front of a switch, as ibdiagnet writes them.
bool IsPortLabel(std::string_view text) {
  bool digit = false;
  for (const char c : text) {
    if (c == '/' ? !digit : c < '0' || c > '9') return false;
    digit = c != '/';
  }
  return digit && text.find('/') != text.npos;
}

// Any "(guid)", "(1/1/1)" (ibdiagnet) and "[ext 5]" (ibnetdiscover -g) after a port number.
bool EatPortSuffixes(TextCursor& cursor, Guid& guid) {
  while (true) {
    uint64_t value = 0;
    if (cursor.Eat('(')) {
      const std::string_view inside = cursor.rest().substr(0, cursor.rest().find(')'));
      if (IsPortLabel(inside)) {
        cursor.Advance(inside.size());
        if (!cursor.Eat(')')) return false;
        continue;
      }
      if (!cursor.EatHex(value) || !cursor.Eat(')')) return false;
      guid = Guid(value);
    } else if (cursor.Eat('[')) {
      if (!cursor.SkipPast(']')) return false;
    } else {
      return true;
    }
  }
}

bool EatPortNumber(TextCursor& cursor, PortNum& port) {
  uint8_t value = 0;
  if (!cursor.Eat('[') || !cursor.EatNumber(10, value) || !cursor.Eat(']')) return false;
  port = PortNum(value);
  return true;
}

// What follows the '#' of a port line. True when it went to its usual end, the speed.
bool ParsePortComment(TextCursor& cursor, PortLine& line) {
  if (cursor.rest().substr(0, 4) == "lid " &&
      !(EatLid(cursor, line.lid) && EatLmc(cursor, line.lmc))) {
    return false;
  }
  if (cursor.Peek() == '"' && !EatDescription(cursor, line.peer_description)) return false;
  if (!EatLid(cursor, line.peer_lid)) return false;
  const bool whole = EatRate(cursor, line.rate);
  ParseOptions(cursor, line.rate);
  return whole;
}

TopologyLine ParsePort(TextCursor cursor) {
  TopologyLine result;
  PortLine line;
  if (!EatPortNumber(cursor, line.port) || !EatPortSuffixes(cursor, line.guid)) {
    result.error = "bad port number";
  } else if (!cursor.EatQuoted(line.peer_id) || line.peer_id.empty()) {
    result.error = "no peer in quotation marks";
  } else if (!EatPortNumber(cursor, line.peer_port) || !EatPortSuffixes(cursor, line.peer_guid)) {
    result.error = "bad port number of the peer";
  }
  if (result.error) return result;
  ParseOptions(cursor, line.rate);
  if (cursor.Eat('#')) {
    result.whole = ParsePortComment(cursor, line);
    result.is_ibnetdiscover = result.whole;
  }
  result.content = line;
  return result;
}

bool EatPortListEnd(TextCursor& cursor, LinkLine::End& end) {
  const auto type = PortListTypeOf(cursor.Word());
  uint16_t lid = 0;
  uint8_t port = 0;
  uint64_t guid = 0;
  if (!type || !cursor.EatNumber(10, lid) || !cursor.EatNumber(10, port) || !cursor.EatHex(guid)) {
    return false;
  }
  end.type = *type;
  end.lid = Lid(lid);
  end.port = PortNum(port);
  end.node_guid = end.port_guid = Guid(guid);
  return guid != 0;
}

TopologyLine ParsePortList(TextCursor cursor) {
  TopologyLine result;
  LinkLine line;
  if (!EatPortListEnd(cursor, line.near)) {
    result.error = "no type, LID, port and GUID";
    return result;
  }
  const bool rate_is_whole = EatRate(cursor, line.rate);
  if (!line.rate.told) {
    result.error = "no link width and speed";
    return result;
  }
  std::string_view names;
  if (cursor.Eat('-')) {
    if (!EatPortListEnd(cursor, line.far)) {
      result.error = "no type, LID, port and GUID of the peer";
      return result;
    }
    names = cursor.rest();
    if (!names.starts_with("( '") || !names.ends_with("' )")) {
      result.whole = false;
    } else {
      names = names.substr(3, names.size() - 6);
      const size_t middle = names.find("' - '");
      result.whole = middle != std::string_view::npos;
      line.near.description = names.substr(0, middle);
      if (result.whole) line.far.description = names.substr(middle + 5);
    }
  } else {
    names = cursor.rest();
    result.whole = names.size() >= 2 && names.front() == '\'' && names.back() == '\'';
    if (result.whole) line.near.description = names.substr(1, names.size() - 2);
  }
  result.whole &= rate_is_whole;
  result.content = line;
  return result;
}

// "Key:1A2B" in hex.
bool EatField(TextCursor& cursor, std::string_view key, uint64_t& value) {
  return cursor.EatText(key) && cursor.EatNumber(16, value);
}

// "{ SW-SM Ports:08 … {leaf1} LID:000D PN:01 }"
bool EatSubnetListEnd(TextCursor& cursor, LinkLine::End& end) {
  if (!cursor.Eat('{')) return false;
  const std::string_view word = cursor.Word();
  const auto type = PortListTypeOf(word.substr(0, word.find('-')));
  uint64_t ports = 0, system = 0, node = 0, port_guid = 0, revision = 0, lid = 0, port = 0;
  if (!type || !EatField(cursor, "Ports:", ports) || !EatField(cursor, "SystemGUID:", system) ||
      !EatField(cursor, "NodeGUID:", node) || !EatField(cursor, "PortGUID:", port_guid) ||
      !EatField(cursor, "VenID:", end.vendor) || !EatField(cursor, "DevID:", end.device) ||
      !EatField(cursor, "Rev:", revision) || !cursor.Eat('{')) {
    return false;
  }
  const std::string_view rest = cursor.raw_rest();
  const size_t close = rest.find("} LID:");
  if (close == std::string_view::npos) return false;
  end.description = rest.substr(0, close);
  cursor.Advance(close + 1);
  if (!EatField(cursor, "LID:", lid) || !EatField(cursor, "PN:", port) || !cursor.Eat('}') ||
      ports == 0 || ports > 254 || port > ports || lid > 0xFFFF || node == 0) {
    return false;
  }
  if (end.device > 0xFFFF) end.device >>= 16;  // As OpenSM writes that of the far end.
  end.type = *type;
  end.ports = static_cast<uint8_t>(ports);
  end.system_guid = Guid(system);
  end.node_guid = Guid(node);
  end.port_guid = Guid(port_guid);
  end.lid = Lid(static_cast<uint16_t>(lid));
  end.port = PortNum(static_cast<uint8_t>(port));
  return true;
}

LinkSpeed SpeedOfGigabits(std::string_view text) {
  static constexpr std::pair<std::string_view, LinkSpeed> kSpeeds[] = {
      {"2.5", LinkSpeed::kSdr}, {"5", LinkSpeed::kDdr},   {"10", LinkSpeed::kQdr},
      {"14", LinkSpeed::kFdr},  {"25", LinkSpeed::kEdr},  {"50", LinkSpeed::kHdr},
      {"100", LinkSpeed::kNdr}, {"200", LinkSpeed::kXdr}, {"FDR10", LinkSpeed::kFdr10}};
  for (const auto& [name, speed] : kSpeeds) {
    if (text == name) return speed;
  }
  return LinkSpeed::kUnknown;
}

TopologyLine ParseSubnetList(TextCursor cursor) {
  TopologyLine result;
  LinkLine line;
  if (!EatSubnetListEnd(cursor, line.near) || !EatSubnetListEnd(cursor, line.far)) {
    result.error = "not two ends of a link";
    return result;
  }
  uint8_t lanes = 0;
  if (cursor.EatText("PHY=") && cursor.EatNumber(10, lanes) && cursor.Eat('x')) {
    cursor.Word();  // LOG=
    if (cursor.EatText("SPD=")) line.rate.speed = SpeedOfGigabits(cursor.Word());
  }
  line.rate.told = true;
  line.rate.lanes = IsLanes(lanes) ? lanes : 0;
  result.whole = line.rate.lanes != 0 && line.rate.speed != LinkSpeed::kUnknown;
  result.content = line;
  return result;
}

// Lines between the records that say nothing about the fabric.
bool IsNoise(std::string_view line) {
  return line.empty() || line.front() == '#' || line.starts_with("DR path ") ||
         line.starts_with("Non-Chassis Nodes") || line.starts_with("Chassis ") ||
         line.starts_with("chassisguid");
}

}  // namespace

TopologyLine ParseTopologyLine(std::string_view text) {
  const std::string_view line = TrimBlanks(text);
  TopologyLine result;
  if (IsNoise(line)) {
    result.ends_record = line.empty();
    result.is_ibnetdiscover = line.starts_with("# Topology file:");
    return result;
  }
  TextCursor cursor(line);
  if (line.front() == '[') return ParsePort(cursor);
  if (line.front() == '{') return ParseSubnetList(cursor);
  if (const size_t equals = line.find('='); equals != std::string_view::npos) {
    if (const auto key = AttributeKeyOf(line.substr(0, equals))) {
      cursor.Advance(equals + 1);
      return ParseAttribute(*key, cursor);
    }
  }
  // "CA" begins a line of the port list as "Ca" begins a node; what follows tells them apart.
  TextCursor after = cursor;
  const std::string_view word = after.Word();
  const auto type = NodeTypeOf(word);
  TextCursor ahead = after;
  uint16_t number = 0;
  if (PortListTypeOf(word) && ahead.EatNumber(10, number) && ahead.Peek() != '"') {
    return ParsePortList(cursor);
  }
  if (type) return ParseNode(*type, after);
  result.error = "not a line of a topology";
  return result;
}

}  // namespace fabricd::fabric
