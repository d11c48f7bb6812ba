// SPDX-License-Identifier: Apache-2.0
#include "policy/verdict/verdict_rows.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "common/number_text.h"
#include "common/status.h"
#include "policy/held_port_text.h"

namespace fabricd::policy {
namespace {

constexpr char kStandings[] = "verdict";
constexpr char kResponses[] = "verdict_response";
constexpr char kFamilies[] = "verdict_family";
constexpr char kBreaker[] = "verdict_breaker";

// ---- text

// What stands before the first `at`, and behind it; the latter is empty where there is none.
std::pair<std::string_view, std::string_view> Cut(std::string_view text, char at) {
  const size_t place = std::min(text.find(at), text.size());
  return {text.substr(0, place), text.substr(std::min(place + 1, text.size()))};
}

// Blanks separate fields.
std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= ' ' || c == '%' || byte == 0x7F)
      escaped += fmt::format("%{:02x}", byte);
    else
      escaped += c;
  }
  return escaped;
}

std::optional<std::string> Unescaped(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      plain += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const auto byte = ParseNumber<uint8_t>(text.substr(i + 1, 2), 16);
    if (!byte) return std::nullopt;
    plain += static_cast<char>(*byte);
    i += 2;
  }
  return plain;
}

std::string LinkText(const LinkKey& link) {
  return fmt::format("{} {}", HeldPortText(link.a), HeldPortText(link.b));
}

std::optional<LinkKey> LinkOf(std::string_view text) {
  const auto [first, second] = Cut(text, ' ');
  const auto a = ParseHeldPort(first), b = ParseHeldPort(second);
  if (!a || !b) return std::nullopt;
  return LinkKey(*a, *b);
}

// Fields of a row: "name=value" each. What is not there keeps its default.
class Fields {
 public:
  explicit Fields(std::string_view row) {
    while (!row.empty()) {
      const auto [field, rest] = Cut(row, ' ');
      const auto [name, value] = Cut(field, '=');
      values_[name] = value;
      row = rest;
    }
  }
  bool Has(std::string_view name) const { return values_.contains(name); }
  template <typename T>
  void Read(std::string_view name, T& into) {
    const auto found = values_.find(name);
    if (found == values_.end()) return;
    const auto value = ParseNumber<T>(found->second);
    if (value)
      into = *value;
    else
      is_faulty_ = true;
  }
  // Values above `last` are those of another version.
  template <typename Enum>
  void ReadEnum(std::string_view name, Enum& into, Enum last) {
    auto value = static_cast<uint8_t>(into);
    Read(name, value);
    if (value > static_cast<uint8_t>(last))
      is_faulty_ = true;
    else
      into = static_cast<Enum>(value);
  }
  void ReadText(std::string_view name, std::string& into) {
    const auto found = values_.find(name);
    if (found == values_.end()) return;
    if (auto text = Unescaped(found->second))
      into = *std::move(text);
    else
      is_faulty_ = true;
  }
  void ReadPort(std::string_view name, HeldPort& into) {
    const auto found = values_.find(name);
    if (found == values_.end()) return;
    if (const auto port = ParseHeldPort(found->second))
      into = *port;
    else
      is_faulty_ = true;
  }
  // "time:count" each, with commas between them.
  void ReadDowns(std::string_view name, std::vector<CountedDowns>& into) {
    const auto found = values_.find(name);
    if (found == values_.end()) return;
    for (std::string_view rest = found->second; !rest.empty();) {
      const auto [downs, behind] = Cut(rest, ',');
      const auto [at, count] = Cut(downs, ':');
      const auto when = ParseNumber<WallMs>(at);
      const auto number = ParseNumber<uint32_t>(count);
      is_faulty_ |= !when || !number || into.size() >= kMostDowns;
      if (is_faulty_) return;
      into.push_back({*when, *number});
      rest = behind;
    }
  }
  bool is_faulty() const { return is_faulty_; }

 private:
  static constexpr size_t kMostDowns = 1000;  // More than any version has stored.

  std::map<std::string_view, std::string_view> values_;
  bool is_faulty_ = false;
};

// ---- rows

std::string Encode(const StoredStanding& standing) {
  std::string downs;
  for (const CountedDowns& each : standing.downs)
    downs += fmt::format("{}{}:{}", downs.empty() ? " downs=" : ",", each.at, each.count);
  return fmt::format(
      "stage={} verdict={} culprit={} culprit_end={} raised={} detection={} clean_time={} since={} "
      "seen={} "
      "below_half_since={} clean_since={} recovered={} unknown_until={} release0={} release1={}{}",
      static_cast<int>(standing.stage), static_cast<int>(standing.verdict),
      static_cast<int>(standing.culprit), HeldPortText(standing.culprit_end), standing.raised,
      standing.detection_ms, standing.clean_time_ms, standing.since, standing.seen,
      standing.below_half_since, standing.clean_since, standing.recovered, standing.unknown_until,
      standing.releases[0], standing.releases[1], downs);
}

void Decode(Fields& fields, StoredStanding& standing) {
  fields.ReadEnum("stage", standing.stage, Stage::kUnknown);
  fields.ReadEnum("verdict", standing.verdict, Verdict::kUnknown);
  fields.ReadEnum("culprit", standing.culprit, Culprit::kUnknown);
  fields.ReadPort("culprit_end", standing.culprit_end);
  fields.Read("raised", standing.raised);
  fields.Read("detection", standing.detection_ms);
  fields.Read("clean_time", standing.clean_time_ms);
  fields.Read("since", standing.since);
  fields.Read("seen", standing.seen);
  fields.Read("below_half_since", standing.below_half_since);
  fields.Read("clean_since", standing.clean_since);
  fields.Read("recovered", standing.recovered);
  fields.Read("unknown_until", standing.unknown_until);
  fields.Read("release0", standing.releases[0]);
  fields.Read("release1", standing.releases[1]);
  fields.ReadDowns("downs", standing.downs);
}

std::string Encode(std::string_view name, const std::optional<VerdictRemark>& remark) {
  if (!remark) return "";
  std::string text = fmt::format(" {0}_at={1} {0}_by={2} {0}_reason={3}", name, remark->at,
                                 Escaped(remark->by), Escaped(remark->reason));
  if (remark->until) text += fmt::format(" {}_until={}", name, *remark->until);
  return text;
}

void Decode(Fields& fields, const std::string& name, std::optional<VerdictRemark>& into) {
  if (!fields.Has(name + "_at")) return;
  VerdictRemark& remark = into.emplace();
  fields.Read(name + "_at", remark.at);
  fields.ReadText(name + "_by", remark.by);
  fields.ReadText(name + "_reason", remark.reason);
  if (fields.Has(name + "_until")) fields.Read(name + "_until", remark.until.emplace());
}

std::string Encode(const StoredResponse& response) {
  return fmt::format("hold={} expires={}", response.hold, response.expires) +
         Encode("ack", response.acknowledged) + Encode("overrule", response.overruled);
}

void Decode(Fields& fields, StoredResponse& response) {
  fields.Read("hold", response.hold);
  fields.Read("expires", response.expires);
  Decode(fields, "ack", response.acknowledged);
  Decode(fields, "overrule", response.overruled);
}

std::string Encode(const StoredBreaker& breaker) {
  std::string text = fmt::format("open={} taken=", breaker.is_open ? 1 : 0);
  for (size_t i = 0; i < breaker.taken.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ",", breaker.taken[i]);
  return text;
}

bool Decode(Fields& fields, StoredBreaker& breaker) {
  uint8_t open = 0;
  fields.Read("open", open);
  breaker.is_open = open != 0;
  std::string taken;
  fields.ReadText("taken", taken);
  for (std::string_view rest = taken; !rest.empty();) {
    const auto [at, behind] = Cut(rest, ',');
    const auto value = ParseNumber<WallMs>(at);
    if (!value) return false;
    breaker.taken.push_back(*value);
    rest = behind;
  }
  return true;
}

std::string Encode(const StoredCrossing& crossing) {
  return fmt::format("vendor={} device={} revision={} row={} peer={} at={}",
                     crossing.family.vendor_id, crossing.family.device_id, crossing.family.revision,
                     static_cast<int>(crossing.row), crossing.peer.value(), crossing.at);
}

void Decode(Fields& fields, StoredCrossing& crossing) {
  fields.ReadEnum("row", crossing.row, Row::kMalformed);
  fields.Read("vendor", crossing.family.vendor_id);
  fields.Read("device", crossing.family.device_id);
  fields.Read("revision", crossing.family.revision);
  uint64_t peer = 0;
  fields.Read("peer", peer);
  crossing.peer = Guid(peer);
  fields.Read("at", crossing.at);
}

// False: the row is faulty.
bool LoadRow(const RowKey& key, const std::string& row, StoredVerdicts& into) {
  Fields fields(row);
  if (key.table == kBreaker) {
    return Decode(fields, into.responses.breaker) && !fields.is_faulty();
  }
  if (key.table == kFamilies) {
    const auto port = ParseHeldPort(Cut(key.key, ' ').first);
    if (!port) return false;
    into.crossings.push_back({.port = *port});
    Decode(fields, into.crossings.back());
    return !fields.is_faulty() && into.crossings.back().row >= Row::kSymbolBer;
  }
  const auto link = LinkOf(key.key);
  if (!link) return false;
  if (key.table == kStandings) {
    into.standings.emplace_back().link = *link;
    Decode(fields, into.standings.back());
  } else {
    into.responses.links.emplace_back().link = *link;
    Decode(fields, into.responses.links.back());
  }
  return !fields.is_faulty();
}

bool IsVerdictRow(const RowKey& key) {
  return key.table == kStandings || key.table == kResponses || key.table == kFamilies ||
         key.table == kBreaker;
}

}  // namespace

StoredRows VerdictRows(const StoredVerdicts& verdicts) {
  StoredRows rows;
  for (const StoredStanding& each : verdicts.standings)
    rows[{kStandings, LinkText(each.link)}] = Encode(each);
  for (const StoredResponse& each : verdicts.responses.links)
    rows[{kResponses, LinkText(each.link)}] = Encode(each);
  for (const StoredCrossing& each : verdicts.crossings)
    rows[{kFamilies, fmt::format("{} {}", HeldPortText(each.port), RowName(each.row))}] =
        Encode(each);
  if (verdicts.responses.breaker != StoredBreaker())
    rows[{kBreaker, "state"}] = Encode(verdicts.responses.breaker);
  return rows;
}

absl::StatusOr<StoredVerdicts> LoadVerdicts(const StoredRows& rows) {
  StoredVerdicts verdicts;
  for (const auto& [key, row] : rows) {
    if (IsVerdictRow(key) && !LoadRow(key, row, verdicts))
      return MakeStatus(absl::StatusCode::kDataLoss,
                        "what is stored of verdicts cannot be read: row \"{}\" of {}: \"{}\"",
                        key.key, key.table, row);
  }
  std::sort(verdicts.standings.begin(), verdicts.standings.end(),
            [](const auto& x, const auto& y) { return x.link < y.link; });
  std::sort(verdicts.responses.links.begin(), verdicts.responses.links.end(),
            [](const auto& x, const auto& y) { return x.link < y.link; });
  std::sort(verdicts.crossings.begin(), verdicts.crossings.end());
  return verdicts;
}

RowChanges Difference(const StoredRows& before, const StoredRows& after) {
  RowChanges changes;
  for (const auto& [key, row] : after) {
    const auto was = before.find(key);
    if (was == before.end() || was->second != row) changes[key] = row;
  }
  for (const auto& [key, row] : before)
    if (!after.contains(key)) changes[key] = std::nullopt;
  return changes;
}

}  // namespace fabricd::policy
