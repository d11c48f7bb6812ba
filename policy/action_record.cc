// SPDX-License-Identifier: Apache-2.0
#include "policy/action_record.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "common/number_text.h"
#include "common/status.h"
#include "policy/held_port_text.h"

namespace fabricd::policy {
namespace {

constexpr char kActionTable[] = "action";
constexpr char kSuppressedRow[] = "suppressed";
constexpr char kReleasesRow[] = "releases";
constexpr char kBreakerRow[] = "breaker";
constexpr char kTripped[] = "tripped";

// A line of exactly `N` words. nullopt: it has fewer or more.
template <size_t N>
std::optional<std::array<std::string_view, N>> WordsOf(std::string_view line) {
  std::array<std::string_view, N> words;
  for (size_t i = 0; i < N; ++i) {
    const size_t end = i + 1 < N ? line.find(' ') : line.size();
    if (end == std::string_view::npos) return std::nullopt;
    words[i] = line.substr(0, end);
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return words;
}

std::string TextOf(const ActionRecord::SuppressedLink& link) {
  return fmt::format("{} {} {:.3f} {} {}\n", HeldPortText(link.a), HeldPortText(link.b),
                     link.penalty, link.at, link.flaps);
}
// Milliseconds that a Duration can have. Later times are no times of this century.
constexpr WallMs kLatest = int64_t{8'000} * 1'000'000'000;

std::optional<WallMs> TimeOf(std::string_view word) {
  const auto at = ParseNumber<WallMs>(word);
  return at && *at >= 0 && *at <= kLatest ? at : std::nullopt;
}

bool Read(std::string_view line, ActionRecord::SuppressedLink& link) {
  const auto words = WordsOf<5>(line);
  if (!words) return false;
  const auto a = ParseHeldPort((*words)[0]), b = ParseHeldPort((*words)[1]);
  const auto penalty = ParseNumber<double>((*words)[2]);
  const auto at = TimeOf((*words)[3]);
  const auto flaps = ParseNumber<uint32_t>((*words)[4]);
  if (!a || !b || !penalty || !(*penalty >= 0) || !at || !flaps) return false;
  link = {*a, *b, *penalty, *at, *flaps};
  return true;
}

std::string TextOf(const ActionRecord::Release& release) {
  return fmt::format("{} {}\n", HeldPortText(release.port), release.at);
}
bool Read(std::string_view line, ActionRecord::Release& release) {
  const auto words = WordsOf<2>(line);
  if (!words) return false;
  const auto port = ParseHeldPort((*words)[0]);
  const auto at = TimeOf((*words)[1]);
  if (!port || !at) return false;
  release = {*port, *at};
  return true;
}

template <typename T>
std::optional<std::string> RowOf(const std::vector<T>& list) {
  if (list.empty()) return std::nullopt;
  std::string text;
  for (const T& each : list) text += TextOf(each);
  return text;
}

template <typename T>
absl::Status ReadList(const StoredRows& rows, const char* key, std::vector<T>& list) {
  const auto row = rows.find({kActionTable, key});
  if (row == rows.end()) return absl::OkStatus();
  for (std::string_view text = row->second; !text.empty();) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (!Read(line, list.emplace_back()))
      return MakeStatus(absl::StatusCode::kDataLoss, "action row '{}': '{}'", key, line);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ActionRecord> LoadActions(const StoredRows& rows) {
  ActionRecord record;
  FABRICD_RETURN_IF_ERROR(ReadList(rows, kSuppressedRow, record.suppressed));
  FABRICD_RETURN_IF_ERROR(ReadList(rows, kReleasesRow, record.releases));
  const auto breaker = rows.find({kActionTable, kBreakerRow});
  record.breaker_tripped = breaker != rows.end() && breaker->second == kTripped;
  return record;
}

RowChanges ActionRows(const ActionRecord& record) {
  RowChanges rows;
  rows[{kActionTable, kSuppressedRow}] = RowOf(record.suppressed);
  rows[{kActionTable, kReleasesRow}] = RowOf(record.releases);
  rows[{kActionTable, kBreakerRow}] =
      record.breaker_tripped ? std::optional<std::string>(kTripped) : std::nullopt;
  return rows;
}

}  // namespace fabricd::policy
