// SPDX-License-Identifier: Apache-2.0
#include "config/principal.h"

#include <array>
#include <utility>

namespace fabricd::config {
namespace {

constexpr char kSpiffe[] = "spiffe://";
using Kind = Principal::Kind;
const std::array<std::pair<const char*, Kind>, 4> kPrefixes = {{{"user:", Kind::kUser},
                                                                {"group:", Kind::kGroup},
                                                                {"dns:", Kind::kDns},
                                                                {"cn:", Kind::kCommonName}}};

}  // namespace

std::optional<Principal> ParsePrincipal(const std::string& text) {
  if (text.starts_with(kSpiffe)) {
    // A trust domain, and a path below it.
    const size_t slash = text.find('/', sizeof(kSpiffe) - 1);
    const bool whole = slash != std::string::npos && slash > sizeof(kSpiffe) - 1 &&
                       slash + 1 < text.size() && text.find(' ') == std::string::npos;
    if (!whole) return std::nullopt;
    return Principal{Kind::kSpiffe, text};
  }
  for (const auto& [prefix, kind] : kPrefixes) {
    if (!text.starts_with(prefix)) continue;
    std::string name = text.substr(std::string(prefix).size());
    if (name.empty() || name.front() == ' ' || name.back() == ' ') return std::nullopt;
    return Principal{kind, std::move(name)};
  }
  return std::nullopt;
}

std::string ToText(const Principal& principal) {
  for (const auto& [prefix, kind] : kPrefixes)
    if (kind == principal.kind) return prefix + principal.name;
  return principal.name;
}

}  // namespace fabricd::config
