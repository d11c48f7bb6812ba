// SPDX-License-Identifier: Apache-2.0
// HOST:PORT, an IPv6 host in brackets. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/number_text.h"

namespace fabricd::config {

struct HostPort {
  std::string host;  // Without brackets.
  uint16_t port = 0;
};

inline std::optional<HostPort> ParseHostPort(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (host.find_first_of(bracketed ? "[] /" : ":[] /") != std::string_view::npos)
    return std::nullopt;
  const auto port = ParseNumber<uint16_t>(text.substr(colon + 1));
  if (!port) return std::nullopt;
  return HostPort{std::string(host), *port};
}

}  // namespace fabricd::config
