// SPDX-License-Identifier: Apache-2.0
#include "store/guid2lid.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "common/number_text.h"

namespace fabricd::store {
namespace {

// Calls `use(line number, its words)` for each line that is neither empty nor a comment.
template <typename Use>
void ForEachLine(std::string_view text, Use use) {
  constexpr std::string_view kBlank = " \t\r\v\f";
  for (int number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line = line.substr(0, line.find('#'));
    std::vector<std::string_view> words;
    for (;;) {
      line.remove_prefix(std::min(line.find_first_not_of(kBlank), line.size()));
      if (line.empty()) break;
      const size_t length = std::min(line.find_first_of(kBlank), line.size());
      words.push_back(line.substr(0, length));
      line.remove_prefix(length);
    }
    if (!words.empty()) use(number, words);
  }
}

// The record of one line; else what is wrong with it.
std::string ParseLidLine(const std::vector<std::string_view>& words, LidRecord& record) {
  if (words.size() != 3)
    return fmt::format("expected GUID, LID and LID, got {} words", words.size());
  const std::optional<uint64_t> guid = ParseDecimalOrHex<uint64_t>(words[0]);
  const std::optional<uint16_t> first = ParseDecimalOrHex<uint16_t>(words[1]);
  const std::optional<uint16_t> last = ParseDecimalOrHex<uint16_t>(words[2]);
  if (!guid || *guid == 0) return fmt::format("'{}' is no GUID", words[0]);
  if (!first) return fmt::format("'{}' is no LID", words[1]);
  if (!last) return fmt::format("'{}' is no LID", words[2]);
  uint8_t lmc = 0;
  while (lmc < 7 && *first + (1u << lmc) - 1 < *last) ++lmc;
  if (*first + (1u << lmc) - 1 != *last) {
    return fmt::format("LIDs {}-{} are no 2^LMC LIDs", *first, *last);
  }
  record = LidRecord{Guid(*guid), Lid(*first), lmc, 0};
  std::vector<LidRecord> alone = {record};
  const absl::Status status = CheckLids(alone);
  return status.ok() ? "" : std::string(status.message().data(), status.message().size());
}

}  // namespace

Guid2Lid ParseGuid2Lid(const std::string& text) {
  Guid2Lid result;
  std::map<Guid, int> lines;     // Of the GUIDs taken.
  std::map<uint16_t, int> lids;  // Every LID taken.
  ForEachLine(text, [&](int line, const std::vector<std::string_view>& words) {
    LidRecord record;
    std::string problem = ParseLidLine(words, record);
    const auto same_guid = lines.find(record.port_guid);
    const auto same_lid = lids.lower_bound(record.base_lid.value());
    const bool lid_is_taken =
        same_lid != lids.end() && same_lid->first < record.base_lid.value() + (1 << record.lmc);
    if (problem.empty() && same_guid != lines.end()) {
      problem = fmt::format("port {} is also on line {}", record.port_guid, same_guid->second);
    } else if (problem.empty() && lid_is_taken) {
      problem = fmt::format("LID {} is also on line {}", same_lid->first, same_lid->second);
    }
    if (!problem.empty()) {
      result.skipped.push_back(SkippedLine{line, std::move(problem)});
      return;
    }
    lines[record.port_guid] = line;
    for (int i = 0; i < (1 << record.lmc); ++i) {
      lids[static_cast<uint16_t>(record.base_lid.value() + i)] = line;
    }
    result.records.push_back(record);
  });
  std::sort(result.records.begin(), result.records.end(),
            [](const LidRecord& a, const LidRecord& b) { return a.base_lid < b.base_lid; });
  return result;
}

std::string FormatGuid2Lid(std::vector<LidRecord> records) {
  std::sort(records.begin(), records.end(),
            [](const LidRecord& a, const LidRecord& b) { return a.port_guid < b.port_guid; });
  std::string text;
  for (const LidRecord& record : records) {
    text += fmt::format("{} 0x{:04x} 0x{:04x}\n\n", record.port_guid, record.base_lid.value(),
                        record.base_lid.value() + (1 << record.lmc) - 1);
  }
  return text;
}

Guid2MKey ParseGuid2MKey(const std::string& text) {
  Guid2MKey result;
  std::map<Guid, int> lines;
  ForEachLine(text, [&](int line, const std::vector<std::string_view>& words) {
    std::string problem;
    const std::optional<uint64_t> guid = ParseDecimalOrHex<uint64_t>(words[0]);
    const std::optional<uint64_t> key =
        words.size() == 2 ? ParseDecimalOrHex<uint64_t>(words[1]) : std::nullopt;
    if (words.size() != 2) {
      problem = fmt::format("expected GUID and M_Key, got {} words", words.size());
    } else if (!guid || *guid == 0) {
      problem = fmt::format("'{}' is no GUID", words[0]);
    } else if (!key) {
      problem = "no M_Key after the GUID";  // What stands there may be half a key: not repeated.
    } else if (const auto [first, is_new] = lines.emplace(Guid(*guid), line); !is_new) {
      problem = fmt::format("port {} is also on line {}", Guid(*guid), first->second);
    }
    if (problem.empty()) {
      result.keys.push_back(PortMKey{Guid(*guid), MKey(*key)});
    } else {
      result.skipped.push_back(SkippedLine{line, std::move(problem)});
    }
  });
  std::sort(result.keys.begin(), result.keys.end(),
            [](const PortMKey& a, const PortMKey& b) { return a.port_guid < b.port_guid; });
  return result;
}

}  // namespace fabricd::store
