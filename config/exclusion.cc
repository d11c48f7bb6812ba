// SPDX-License-Identifier: Apache-2.0
#include "config/exclusion.h"

#include <charconv>
#include <string>

#include <absl/time/time.h>

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
  uint64_t value = 0;
  if (guid.substr(0, 2) != "0x") return std::nullopt;
  const auto [stop, error] = std::from_chars(guid.data() + 2, guid.data() + guid.size(), value, 16);
  if (error != std::errc() || stop != guid.data() + guid.size() || value == 0) return std::nullopt;
  Exclusion exclusion{Guid(value), std::nullopt};
  if (until == std::string_view::npos) return exclusion;
  exclusion.until_ms = ParseMoment(text.substr(until + kUntil.size()));
  return exclusion.until_ms ? std::optional(exclusion) : std::nullopt;
}

}  // namespace fabricd::config
