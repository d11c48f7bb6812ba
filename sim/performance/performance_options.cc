// SPDX-License-Identifier: Apache-2.0
#include "sim/performance/performance_options.h"

#include <chrono>

#include "common/number_text.h"
#include "common/status.h"

namespace fabricd::sim {
namespace {

struct FamilyName {
  std::string_view name;
  PerformanceFamily family;
};
constexpr FamilyName kFamilies[] = {
    {"default", PerformanceFamily::kByNodeType},
    {"quantum2", PerformanceFamily::kQuantum2},
    {"connectx7", PerformanceFamily::kConnectX7},
    {"plain", PerformanceFamily::kPlain},
};

struct QuirkName {
  std::string_view name;
  PerformanceQuirk quirk;
};
constexpr QuirkName kQuirks[] = {
    {"zero_extended_errors", PerformanceQuirk::kZeroExtendedErrors},
    {"shared_clear", PerformanceQuirk::kSharedClear},
    {"underflow", PerformanceQuirk::kUnderflow},
    {"sentinels", PerformanceQuirk::kSentinels},
    {"no_extended", PerformanceQuirk::kNoExtended},
    {"classic_only", PerformanceQuirk::kClassicOnly},
    {"vs_key_set", PerformanceQuirk::kVsKeySet},
    {"vs_key_hidden", PerformanceQuirk::kVsKeyHidden},
    {"no_vendor", PerformanceQuirk::kNoVendor},
    {"unresponsive", PerformanceQuirk::kUnresponsive},
    {"refusing_pma", PerformanceQuirk::kRefusingPma},
    {"redirect", PerformanceQuirk::kRedirect},
    {"no_tick", PerformanceQuirk::kNoTick},
};

constexpr std::string_view kSlow = "slow=";
constexpr uint32_t kSlowestMilliseconds = 3'600'000;

std::string AllWords() {
  std::string words;
  for (const FamilyName& family : kFamilies) words += fmt::format("{}, ", family.name);
  for (const QuirkName& quirk : kQuirks) words += fmt::format("{}, ", quirk.name);
  return words + "slow=MILLISECONDS";
}

bool Take(std::string_view word, PerformanceOptions& options) {
  for (const FamilyName& family : kFamilies) {
    if (word != family.name) continue;
    options.family = family.family;
    return true;
  }
  for (const QuirkName& quirk : kQuirks) {
    if (word != quirk.name) continue;
    options.With(quirk.quirk);
    return true;
  }
  if (word.substr(0, kSlow.size()) != kSlow) return false;
  const auto delay = ParseNumber<uint32_t>(word.substr(kSlow.size()));
  if (!delay || *delay > kSlowestMilliseconds) return false;
  options.answer_delay = std::chrono::milliseconds(*delay);
  return true;
}

}  // namespace

absl::StatusOr<PerformanceOptions> ParsePerformanceOptions(std::string_view text) {
  PerformanceOptions options;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view word = text.substr(0, comma);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    if (!Take(word, options)) {
      return InvalidArgument("\"{}\" is none of {}", word, AllWords());
    }
  }
  return options;
}

std::string ToText(const PerformanceOptions& options) {
  std::string text;
  for (const FamilyName& family : kFamilies) {
    if (family.family == options.family) text = family.name;
  }
  for (const QuirkName& quirk : kQuirks) {
    if (options.Has(quirk.quirk)) text += fmt::format(",{}", quirk.name);
  }
  if (options.answer_delay > Duration::zero()) {
    text += fmt::format(
        ",slow={}",
        std::chrono::duration_cast<std::chrono::milliseconds>(options.answer_delay).count());
  }
  return text;
}

}  // namespace fabricd::sim
