// SPDX-License-Identifier: Apache-2.0
#include "sweep/takeover/takeover_record.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "common/number_text.h"
#include "common/status.h"

namespace fabricd::sweep {
namespace {

constexpr char kTable[] = "takeover";
constexpr char kOutvoted[] = "outvoted";
constexpr char kRouting[] = "routing";

std::vector<std::string> Words(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    if (end > 0) words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

template <typename T>
std::optional<T> ReadValue(const std::string& word) {
  if constexpr (std::is_same_v<T, std::string>) {
    return word;
  } else if constexpr (std::is_same_v<T, Guid>) {
    const auto number = ParseHex<uint64_t>(word);
    return number ? std::optional(Guid(*number)) : std::nullopt;
  } else {
    return ParseHex<T>(word);
  }
}

template <typename T>
std::string TextOf(const T& value) {
  if constexpr (std::is_same_v<T, std::string>)
    return value;
  else if constexpr (std::is_same_v<T, Guid>)
    return fmt::format("{}", value);
  else
    return fmt::format("0x{:x}", value);
}

// Calls use(key, list) for each list of the record.
template <typename Record, typename Use>
void ForEachList(Record& record, Use&& use) {
  use("sm ports", record.sm_ports);
  use("prefixes", record.prefixes);
  use("lmcs", record.lmcs);
  use("protect bits", record.protect_bits);
  use("accepted", record.accepted);
}

}  // namespace

absl::StatusOr<TakeoverRecord> LoadTakeover(const StoredRows& rows) {
  TakeoverRecord record;
  absl::Status status;
  ForEachList(record, [&](const char* key, auto& list) {
    const auto row = rows.find({kTable, key});
    if (row == rows.end()) return;
    for (const std::string& word : Words(row->second)) {
      using T = typename std::decay_t<decltype(list)>::value_type;
      if (auto value = ReadValue<T>(word))
        list.push_back(*std::move(value));
      else
        status = MakeStatus(absl::StatusCode::kDataLoss, "takeover row '{}': '{}'", key, word);
    }
  });
  const auto read_number = [&](const char* key) -> std::optional<uint64_t> {
    const auto row = rows.find({kTable, key});
    if (row == rows.end() || row->second.empty()) return std::nullopt;
    const auto number = ReadValue<uint64_t>(row->second);
    if (!number)
      status = MakeStatus(absl::StatusCode::kDataLoss, "takeover row '{}': '{}'", key, row->second);
    return number;
  };
  record.outvoted = read_number(kOutvoted);
  record.routing = read_number(kRouting).value_or(0);
  if (!status.ok()) return status;
  return record;
}

RowChanges TakeoverRows(const TakeoverRecord& record) {
  RowChanges rows;
  ForEachList(record, [&](const char* key, const auto& list) {
    std::string text;
    for (const auto& value : list)
      text += fmt::format("{}{}", text.empty() ? "" : " ", TextOf(value));
    rows[{kTable, key}] = std::move(text);
  });
  rows[{kTable, kRouting}] = record.routing != 0 ? TextOf(record.routing) : "";
  rows[{kTable, kOutvoted}] = record.outvoted ? TextOf(*record.outvoted) : "";
  return rows;
}

}  // namespace fabricd::sweep
