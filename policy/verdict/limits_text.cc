// SPDX-License-Identifier: Apache-2.0
#include "policy/verdict/limits_text.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "common/number_text.h"
#include "common/status.h"

namespace fabricd::policy {
namespace {

using Words = std::vector<std::string_view>;

struct CountName {
  std::string_view name;
  CountLevels Limits::*levels;
};
constexpr std::array kCounts = {
    CountName{"uncorrectable", &Limits::uncorrectable},
    CountName{"link_downs", &Limits::link_downs},
    CountName{"recoveries", &Limits::recoveries},
    CountName{"local_physical", &Limits::local_physical},
    CountName{"link_integrity", &Limits::link_integrity},
    CountName{"overrun", &Limits::overrun},
    CountName{"hoq_discards", &Limits::hoq_discards},
    CountName{"traps", &Limits::traps},
    CountName{"timeouts", &Limits::timeouts},
    CountName{"malformed", &Limits::malformed},
};

struct RealName {
  std::string_view name;
  std::vector<double Limits::*> numbers;
};
const std::vector<RealName>& Reals() {
  static const std::vector<RealName> kReals = {
      {"fatal_ber", {&Limits::fatal_ber}},
      {"probability", {&Limits::suspect_probability, &Limits::strong_probability}},
      {"drop_ratio", {&Limits::drop_strong, &Limits::drop_fatal}},
      {"min_packets", {&Limits::min_packets}},
      {"wait", {&Limits::wait_suspect, &Limits::wait_strong}},
      {"utilisation", {&Limits::low_utilisation, &Limits::incast_utilisation}},
      {"temperature", {&Limits::hot, &Limits::alarm}},
      {"hotter_than_usual", {&Limits::hotter_than_usual}},
  };
  return kReals;
}

constexpr std::array<std::pair<std::string_view, std::optional<FecClass>>, 4> kFecs = {
    {{"any", std::nullopt},
     {"none", FecClass::kNone},
     {"low-latency", FecClass::kLowLatency},
     {"kp4", FecClass::kKp4}}};
constexpr std::array<std::pair<std::string_view, std::optional<Media>>, 4> kMedia = {
    {{"any", std::nullopt},
     {"copper", Media::kCopper},
     {"active-copper", Media::kActiveCopper},
     {"optical", Media::kOptical}}};

Words WordsOf(std::string_view text) {
  Words words;
  while (true) {
    const size_t begin = text.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return words;
    const size_t end = std::min(text.find_first_of(" \t", begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    text.remove_prefix(end);
  }
}

template <typename Table>
auto Find(const Table& table, std::string_view word) {
  return std::find_if(table.begin(), table.end(),
                      [&](const auto& each) { return each.first == word; });
}

template <typename Table, typename Value>
std::string_view WordOf(const Table& table, const Value& value) {
  for (const auto& [word, each] : table)
    if (each == value) return word;
  return "unknown";
}

template <typename Number>
absl::Status ReadNumbers(const Words& words, size_t first, std::span<Number*> into) {
  if (words.size() != first + into.size())
    return InvalidArgument("{} has {} numbers, not {}", words[0], into.size(),
                           words.size() - std::min(words.size(), first));
  for (size_t i = 0; i < into.size(); ++i) {
    const auto number = ParseNumber<Number>(words[first + i]);
    if (!number) return InvalidArgument("{}: \"{}\" is no number", words[0], words[first + i]);
    *into[i] = *number;
  }
  return absl::OkStatus();
}

absl::Status ApplyBer(const Words& words, Limits& limits) {
  BerRow row;
  if (words.size() < 4)
    return InvalidArgument("ber: physical lane rate, FEC, media and six ratios");
  const auto rate = ParseNumber<double>(words[1]);
  const auto fec = Find(kFecs, words[2]);
  const auto media = Find(kMedia, words[3]);
  if (!rate) return InvalidArgument("ber: \"{}\" is no number of Gb/s", words[1]);
  if (fec == kFecs.end())
    return InvalidArgument("ber: \"{}\" is none of any, none, low-latency, kp4", words[2]);
  if (media == kMedia.end())
    return InvalidArgument("ber: \"{}\" is none of any, copper, active-copper, optical", words[3]);
  row.min_gigabits = *rate;
  row.fec = fec->second;
  row.media = media->second;
  row.is_documented = true;  // By who configures it.
  std::array<double*, 6> ratios = {&row.symbol.normal,     &row.symbol.warning,
                                   &row.symbol.error,      &row.effective.normal,
                                   &row.effective.warning, &row.effective.error};
  FABRICD_RETURN_IF_ERROR(ReadNumbers<double>(words, 4, ratios));
  limits.ber.insert(limits.ber.begin(), row);
  return absl::OkStatus();
}

std::string NamesOfAll() {
  std::string names = "ber";
  for (const CountName& each : kCounts) names += fmt::format(", {}", each.name);
  for (const RealName& each : Reals()) names += fmt::format(", {}", each.name);
  return names;
}

}  // namespace

absl::Status ApplyLimit(std::string_view text, Limits& limits) {
  const Words words = WordsOf(text);
  if (words.empty()) return InvalidArgument("is empty");
  if (words[0] == "ber") return ApplyBer(words, limits);
  for (const CountName& each : kCounts) {
    if (each.name != words[0]) continue;
    CountLevels& levels = limits.*each.levels;
    std::array<uint32_t*, 3> numbers = {&levels.suspect, &levels.strong, &levels.fatal};
    return ReadNumbers<uint32_t>(words, 1, numbers);
  }
  for (const RealName& each : Reals()) {
    if (each.name != words[0]) continue;
    std::vector<double*> numbers;
    for (const auto number : each.numbers) numbers.push_back(&(limits.*number));
    return ReadNumbers<double>(words, 1, numbers);
  }
  return InvalidArgument("there is no limit \"{}\"; there are {}", words[0], NamesOfAll());
}

std::vector<std::string> LimitTexts(const Limits& limits) {
  std::vector<std::string> texts;
  for (const CountName& each : kCounts) {
    const CountLevels& levels = limits.*each.levels;
    texts.push_back(
        fmt::format("{} {} {} {}", each.name, levels.suspect, levels.strong, levels.fatal));
  }
  for (const RealName& each : Reals()) {
    std::string& text = texts.emplace_back(each.name);
    for (const auto number : each.numbers) text += fmt::format(" {:g}", limits.*number);
  }
  for (auto row = limits.ber.rbegin(); row != limits.ber.rend(); ++row)
    texts.push_back(fmt::format(
        "ber {:g} {} {} {:g} {:g} {:g} {:g} {:g} {:g}", row->min_gigabits, WordOf(kFecs, row->fec),
        WordOf(kMedia, row->media), row->symbol.normal, row->symbol.warning, row->symbol.error,
        row->effective.normal, row->effective.warning, row->effective.error));
  return texts;
}

}  // namespace fabricd::policy
