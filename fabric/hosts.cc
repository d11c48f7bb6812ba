// SPDX-License-Identifier: Apache-2.0
#include "fabric/hosts.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <regex>
#include <set>

#include "common/check.h"
#include "common/number_text.h"
#include "common/status.h"
#include "fabric/aggregation_node.h"
#include "fabric/text_cursor.h"

namespace fabricd::fabric {
namespace {

// std::regex recurses once per character: what files hold must not decide the stack's depth.
constexpr size_t kMaxSearchedBytes = 128;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The digits at the front of `text`, without leading zeros; moves past them.
std::string_view EatDigits(std::string_view& text) {
  size_t end = 0;
  while (end < text.size() && IsDigit(text[end])) ++end;
  std::string_view digits = text.substr(0, end);
  text.remove_prefix(end);
  while (digits.size() > 1 && digits.front() == '0') digits.remove_prefix(1);
  return digits;
}

// -1: none.
int RailIn(std::string_view digits) {
  const int rail = ParseNumber<int>(digits).value_or(-1);
  return rail >= 0 ? rail : -1;
}

std::string_view FirstWord(std::string_view text) { return TextCursor(text).Word(); }

// "mlx5_3" of "node12 mlx5_3"; empty when the last word is the only one or does not end with a
// digit.
std::string LastWordWithNumber(std::string_view text) {
  size_t begin = text.size();
  while (begin > 0 && !IsBlank(text[begin - 1])) --begin;
  return begin > 0 && IsDigit(text.back()) ? std::string(text.substr(begin)) : std::string();
}

// What adapters call themselves before a driver gives them the host's name.
bool IsVendorWord(std::string_view word) {
  if (word.starts_with("ConnectX") || word.starts_with("BlueField")) return true;
  return word.size() > 2 && word.starts_with("MT") &&
         std::all_of(word.begin() + 2, word.end(), IsDigit);
}

bool NamesAggregationNode(std::string_view description) {
  return description.find("Aggregation Node") != std::string_view::npos ||
         (description.starts_with("Quantum") && description.ends_with("Mellanox Technologies"));
}

std::string Text(const std::csub_match& match) { return {match.first, match.second}; }

absl::Status CompileOne(const std::string& text, std::regex& into) {
  try {
    into = std::regex(text, std::regex::ECMAScript | std::regex::optimize);
  } catch (const std::regex_error& error) {
    return InvalidArgument("expression \"{}\": {}", text, error.what());
  }
  if (into.mark_count() < 1) {
    return InvalidArgument("expression \"{}\" has no group in parentheses", text);
  }
  return absl::OkStatus();
}

}  // namespace

int CompareNatural(std::string_view a, std::string_view b) {
  const std::string_view whole_a = a, whole_b = b;
  while (!a.empty() && !b.empty()) {
    if (IsDigit(a.front()) && IsDigit(b.front())) {
      const std::string_view digits_a = EatDigits(a), digits_b = EatDigits(b);
      if (digits_a.size() != digits_b.size()) return digits_a.size() < digits_b.size() ? -1 : 1;
      if (const int order = digits_a.compare(digits_b)) return order < 0 ? -1 : 1;
    } else {
      if (a.front() != b.front()) {
        return static_cast<unsigned char>(a.front()) < static_cast<unsigned char>(b.front()) ? -1
                                                                                             : 1;
      }
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  if (a.empty() != b.empty()) return a.empty() ? -1 : 1;
  const int order = whole_a.compare(whole_b);  // "n1" and "n01" are different names.
  return order < 0 ? -1 : order > 0;
}

struct HostPatterns::Expressions {
  std::string host_text, rail_text;
  std::regex host;
  std::regex rail;
  bool built_in_host = false;
  bool rail_in_device = false;  // The built-in rule looks at the device alone.
};

HostPatterns::HostPatterns() {
  static const auto& built_in = *new absl::StatusOr<HostPatterns>(Compile({}, {}));
  FABRICD_CHECK(built_in.ok(), "{}", Message(built_in.status()));
  *this = *built_in;
}

absl::StatusOr<HostPatterns> HostPatterns::Compile(const std::string& host,
                                                   const std::string& rail) {
  auto expressions = std::make_shared<Expressions>();
  FABRICD_RETURN_IF_ERROR(
      CompileOne(host.empty() ? R"(^(\S+)\s+(\S*[0-9])$)" : host, expressions->host));
  FABRICD_RETURN_IF_ERROR(CompileOne(rail.empty() ? "([0-9]+)$" : rail, expressions->rail));
  expressions->host_text = host;
  expressions->rail_text = rail;
  expressions->built_in_host = host.empty();
  expressions->rail_in_device = rail.empty();
  return HostPatterns(std::move(expressions));
}

// What R"(^(\S+)\s+(\S*[0-9])$)" does, a hundred times as fast: fabrics have tens of thousands.
void HostPatterns::ReadTwoWords(std::string_view text, Reading& reading) {
  constexpr std::string_view kBlanks = " \t\n\v\f\r";
  const size_t host_end = text.find_first_of(kBlanks);
  if (host_end == 0 || host_end == std::string_view::npos || !IsDigit(text.back())) return;
  const size_t device = text.find_first_not_of(kBlanks, host_end);
  if (text.find_first_of(kBlanks, device) != std::string_view::npos) return;
  reading.host = text.substr(0, host_end);
  reading.device = text.substr(device);
}

const std::string& HostPatterns::host_text() const { return expressions_->host_text; }
const std::string& HostPatterns::rail_text() const { return expressions_->rail_text; }

HostPatterns::Reading HostPatterns::Read(std::string_view description) const {
  const std::string_view text = TrimBlanks(description).substr(0, kMaxSearchedBytes);
  Reading reading;
  std::cmatch match;
  if (expressions_->built_in_host) {
    ReadTwoWords(text, reading);
  } else if (std::regex_search(text.data(), text.data() + text.size(), match, expressions_->host)) {
    reading.host = Text(match[1]);
    reading.device = match.size() > 2 ? Text(match[2]) : LastWordWithNumber(text);
  }
  if (expressions_->rail_in_device) {
    const size_t digits = reading.device.find_last_not_of("0123456789") + 1;
    reading.rail = RailIn(std::string_view(reading.device).substr(digits));
    return reading;
  }
  const std::string_view source = text;
  if (std::regex_search(source.data(), source.data() + source.size(), match, expressions_->rail))
    reading.rail = RailIn(Text(match[1]));
  return reading;
}

namespace {

struct Adapter {
  const Node* node;
  HostPatterns::Reading reading;
};

Guid SystemOf(const Node& node) {
  return node.info.system_image_guid ? node.info.system_image_guid : node.guid();
}

using AdaptersByName = std::map<std::string, std::vector<Adapter>, std::less<>>;

// Gives the adapters whose description names no host to the hosts that FindHosts promises.
void PlaceNameless(std::vector<Adapter> nameless, AdaptersByName& by_name) {
  std::map<Guid, std::set<std::string_view>> names_by_system;
  for (const auto& [name, adapters] : by_name) {
    for (const Adapter& adapter : adapters) names_by_system[SystemOf(*adapter.node)].insert(name);
  }
  const auto word_of = [](const Adapter& adapter) { return FirstWord(adapter.node->description); };
  std::map<std::string, std::set<Guid>, std::less<>> systems_by_word;
  std::map<Guid, std::vector<Adapter>> by_system;
  for (Adapter& adapter : nameless) {
    const Guid system = SystemOf(*adapter.node);
    systems_by_word[std::string(word_of(adapter))].insert(system);
    by_system[system].push_back(std::move(adapter));
  }
  for (auto& [system, adapters] : by_system) {
    std::string name = fmt::format("{}", system);
    const auto named = names_by_system.find(system);
    const std::string_view word = word_of(adapters.front());
    if (named != names_by_system.end() && named->second.size() == 1) {
      name = *named->second.begin();
    } else if (!word.empty() && !IsVendorWord(word) &&
               systems_by_word.find(word)->second.size() == 1 &&
               by_name.find(word) == by_name.end()) {
      name = word;
    }
    std::vector<Adapter>& host = by_name[name];
    std::move(adapters.begin(), adapters.end(), std::back_inserter(host));
  }
}

}  // namespace

bool IsAggregationNode(const Node& node) {
  constexpr uint16_t kDeviceId = 0xCF09;  // Of NVIDIA's.
  // Switches are called Quantum too.
  if (node.info.node_type != wire::NodeType::kChannelAdapter) return false;
  return node.info.device_id == kDeviceId || NamesAggregationNode(TrimBlanks(node.description));
}

HostTable FindHosts(const FabricSnapshot& snapshot, const HostPatterns& patterns) {
  AdaptersByName by_name;
  std::vector<Adapter> nameless;
  snapshot.ForEachNode([&](const Node& node) {
    if (node.info.node_type != wire::NodeType::kChannelAdapter) return;
    if (IsAggregationNode(node)) return;
    Adapter adapter{&node, patterns.Read(node.description)};
    const std::string host = adapter.reading.host;
    (host.empty() ? nameless : by_name[host]).push_back(std::move(adapter));
  });
  PlaceNameless(std::move(nameless), by_name);
  HostTable table;
  for (auto& [name, adapters] : by_name) {
    std::sort(adapters.begin(), adapters.end(), [](const Adapter& a, const Adapter& b) {
      const int order = CompareNatural(a.reading.device, b.reading.device);
      return order != 0 ? order < 0 : a.node->guid() < b.node->guid();
    });
    Host& host = table.hosts_.emplace_back();
    host.name = name;
    for (const Adapter& adapter : adapters) {
      for (const auto& [ref, port] : adapter.node->LinkPorts()) {
        host.ports.push_back({ref, adapter.reading.device, adapter.reading.rail});
      }
    }
  }
  std::sort(table.hosts_.begin(), table.hosts_.end(),
            [](const Host& a, const Host& b) { return CompareNatural(a.name, b.name) < 0; });
  for (size_t i = 0; i < table.hosts_.size(); ++i) {
    for (const HostPort& port : table.hosts_[i].ports)
      table.host_by_node_.emplace(port.port.node, i);
  }
  return table;
}

const Host* HostTable::Find(std::string_view name) const {
  const auto found = std::lower_bound(hosts_.begin(), hosts_.end(), name,
                                      [](const Host& host, std::string_view other) {
                                        return CompareNatural(host.name, other) < 0;
                                      });
  return found != hosts_.end() && found->name == name ? &*found : nullptr;
}

}  // namespace fabricd::fabric
