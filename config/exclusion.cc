// SPDX-License-Identifier: Apache-2.0
#include "config/exclusion.h"

#include <string>

#include <absl/time/time.h>

#include "common/number_text.h"

namespace fabricd::config {
namespace {

std::optional<int64_t> ParseMoment(std::string_view text) {
  absl::Time time;
  for (const char* format : {absl::RFC3339_full, "%Y-%m-%d"})
    if (absl::ParseTime(format, std::string(text), &time, nullptr)) return absl::ToUnixMillis(time);
  return std::nullopt;
}

}  // namespace

std::optional<Exclusion> ParseExclusion(std::string_view text) {
  constexpr std::string_view kUntil = " until ";
  const size_t until = text.find(kUntil);
  const std::string_view guid = text.substr(0, until);
  const auto value = HasHexPrefix(guid) ? ParseHex(guid) : std::nullopt;
  if (value.value_or(0) == 0) return std::nullopt;
  Exclusion exclusion{Guid(*value), std::nullopt};
  if (until == std::string_view::npos) return exclusion;
  exclusion.until_ms = ParseMoment(text.substr(until + kUntil.size()));
  return exclusion.until_ms ? std::optional(exclusion) : std::nullopt;
}

}  // namespace fabricd::config
