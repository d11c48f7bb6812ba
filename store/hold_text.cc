// SPDX-License-Identifier: Apache-2.0
#include "store/hold_text.h"

#include <map>
#include <optional>
#include <sstream>
#include <string_view>

#include <fmt/format.h>

#include "common/number_text.h"

namespace fabricd::store {
namespace {

using policy::HeldPort;
using policy::Hold;

bool ParseGuid(std::string_view text, Guid& guid) {
  const auto value = HasHexPrefix(text) ? ParseHex(text) : std::nullopt;
  guid = Guid(value.value_or(0));
  return value.has_value();
}

bool ParsePort(std::string_view text, HeldPort& port) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos || !ParseGuid(text.substr(0, slash), port.node)) return false;
  const auto number = ParseNumber<uint8_t>(text.substr(slash + 1));
  port.port = PortNum(number.value_or(0));
  return number.has_value();
}

template <typename T>
bool ParseList(const std::string& text, bool (*parse)(std::string_view, T&), std::vector<T>& out) {
  std::istringstream words(text);
  for (std::string word; words >> word;)
    if (!parse(word, out.emplace_back())) return false;
  return true;
}

template <typename Enum>
bool ParseCode(int64_t number, Enum lowest, Enum highest, Enum& value) {
  if (number < static_cast<int64_t>(lowest) || number > static_cast<int64_t>(highest)) return false;
  value = static_cast<Enum>(number);
  return true;
}

std::string Escaped(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\')
      escaped += "\\\\";
    else if (c == '\n')
      escaped += "\\n";
    else
      escaped += c;
  }
  return escaped;
}

bool Unescape(std::string_view escaped, std::string& text) {
  text.clear();
  for (size_t i = 0; i < escaped.size(); ++i) {
    if (escaped[i] != '\\') {
      text += escaped[i];
    } else {
      if (++i == escaped.size() || (escaped[i] != '\\' && escaped[i] != 'n')) return false;
      text += escaped[i] == 'n' ? '\n' : '\\';
    }
  }
  return true;
}

class Lines {
 public:
  void Text(std::string_view name, const std::string& value) {
    if (!value.empty()) text_ += fmt::format("{}={}\n", name, Escaped(value));
  }
  template <typename Number>
  void Count(std::string_view name, Number value) {
    if (value != Number{}) text_ += fmt::format("{}={}\n", name, value);
  }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
};

// Takes one field after the other; what is left over at the end is unknown.
class Fields {
 public:
  // False: no lines "name=value", or a name twice.
  bool Read(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      const size_t equals = line.find('=');
      if (equals == std::string::npos) return false;
      std::string value;
      if (!Unescape(std::string_view(line).substr(equals + 1), value)) return false;
      if (!fields_.emplace(line.substr(0, equals), std::move(value)).second) return false;
    }
    return true;
  }
  std::string Text(const char* name) {
    const auto node = fields_.extract(name);
    return node ? node.mapped() : std::string();
  }
  template <typename Number>
  Number Count(const char* name) {
    const auto node = fields_.extract(name);
    if (!node) return Number{};
    const auto value = ParseNumber<Number>(node.mapped());
    good_ = good_ && value.has_value();
    return value.value_or(Number{});
  }
  bool AllGood() const { return good_ && fields_.empty(); }

 private:
  std::map<std::string, std::string> fields_;
  bool good_ = true;
};

std::optional<policy::WallMs> Time(int64_t value) {
  return value == 0 ? std::nullopt : std::optional(value);
}

}  // namespace

std::string GuidsText(const std::vector<Guid>& guids) {
  return fmt::format("{}", fmt::join(guids, " "));
}

bool ParseGuids(const std::string& text, std::vector<Guid>& guids) {
  return ParseList(text, ParseGuid, guids);
}

std::string PortsText(const std::vector<HeldPort>& ports) {
  std::string text;
  for (const HeldPort& port : ports)
    text += fmt::format("{}{}/{}", text.empty() ? "" : " ", port.node, port.port);
  return text;
}

bool ParsePorts(const std::string& text, std::vector<HeldPort>& ports) {
  return ParseList(text, ParsePort, ports);
}

bool ParseCodes(int64_t kind, int64_t mode, int64_t target_kind, Hold& hold) {
  using enum policy::HoldKind;
  using enum policy::TargetKind;
  return ParseCode(kind, kCordon, kDisable, hold.kind) &&
         ParseCode(mode, policy::DrainMode::kHard, policy::DrainMode::kSoft, hold.mode) &&
         ParseCode(target_kind, kHost, kLink, hold.target.kind);
}

std::string HoldText(const Hold& hold) {
  Lines lines;
  lines.Count("id", hold.id);
  lines.Count("kind", static_cast<int>(hold.kind));
  lines.Count("mode", static_cast<int>(hold.mode));
  lines.Count("target_kind", static_cast<int>(hold.target.kind));
  lines.Text("target_name", hold.target.name);
  lines.Text("nodes", GuidsText(hold.target.nodes));
  lines.Text("ports", PortsText(hold.target.ports));
  lines.Text("facing", PortsText(hold.target.facing));
  lines.Text("behind", fmt::format("{}", fmt::join(hold.target.behind, "\n")));
  lines.Text("owner", hold.owner);
  lines.Text("reason", hold.reason);
  lines.Count("created_ms", hold.created);
  lines.Count("expires_ms", hold.expires.value_or(0));
  lines.Text("request_id", hold.request_id);
  lines.Count("acknowledged_ms", hold.acknowledged.value_or(0));
  lines.Count("forced", int{hold.forced});
  lines.Count("lifted", int{hold.lifted});
  lines.Count("ended_ms", hold.ended.value_or(0));
  lines.Count("fingerprint", hold.fingerprint);
  lines.Text("delete_request_id", hold.delete_request_id);
  return lines.Take();
}

bool ParseHold(const std::string& text, Hold& hold) {
  Fields fields;
  if (!fields.Read(text)) return false;
  hold = {};
  hold.id = fields.Count<uint64_t>("id");
  const auto kind = fields.Count<int64_t>("kind");
  const auto mode = fields.Count<int64_t>("mode");
  const auto target_kind = fields.Count<int64_t>("target_kind");
  hold.target.name = fields.Text("target_name");
  const bool lists_good = ParseGuids(fields.Text("nodes"), hold.target.nodes) &&
                          ParsePorts(fields.Text("ports"), hold.target.ports) &&
                          ParsePorts(fields.Text("facing"), hold.target.facing);
  std::istringstream behind(fields.Text("behind"));
  for (std::string name; std::getline(behind, name);) hold.target.behind.push_back(name);
  hold.owner = fields.Text("owner");
  hold.reason = fields.Text("reason");
  hold.created = fields.Count<int64_t>("created_ms");
  hold.expires = Time(fields.Count<int64_t>("expires_ms"));
  hold.request_id = fields.Text("request_id");
  hold.acknowledged = Time(fields.Count<int64_t>("acknowledged_ms"));
  hold.forced = fields.Count<int>("forced") != 0;
  hold.lifted = fields.Count<int>("lifted") != 0;
  hold.ended = Time(fields.Count<int64_t>("ended_ms"));
  hold.fingerprint = fields.Count<uint64_t>("fingerprint");
  hold.delete_request_id = fields.Text("delete_request_id");
  return lists_good && fields.AllGood() && hold.id != 0 &&
         ParseCodes(kind, mode, target_kind, hold);
}

}  // namespace fabricd::store
