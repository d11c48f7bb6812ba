// SPDX-License-Identifier: Apache-2.0
#include "common/gid_text.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include <fmt/format.h>

#include "common/number_text.h"

namespace fabricd {
namespace {

constexpr size_t kGroups = 8;

// Groups of up to four hex digits between single colons; nullopt: something else.
std::optional<std::vector<uint16_t>> ParseGroups(std::string_view text) {
  std::vector<uint16_t> groups;
  if (text.empty()) return groups;
  while (true) {
    const size_t end = std::min(text.find(':'), text.size());
    const auto group = ParseNumber<uint16_t>(text.substr(0, end), 16);
    if (!group || end > 4 || groups.size() == kGroups) return std::nullopt;
    groups.push_back(*group);
    if (end == text.size()) return groups;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

std::string GidText(Gid gid) {
  std::array<uint16_t, kGroups> groups;
  for (size_t i = 0; i < kGroups; ++i)
    groups[i] = static_cast<uint16_t>((i < 4 ? gid.prefix : gid.low) >> (48 - 16 * (i % 4)));
  // The first of the longest runs of two or more zeros becomes "::".
  size_t run_at = kGroups, run = 1;
  for (size_t i = 0; i < kGroups; ++i) {
    size_t end = i;
    while (end < kGroups && groups[end] == 0) ++end;
    if (end - i > run) {
      run_at = i;
      run = end - i;
    }
  }
  std::string text;
  for (size_t i = 0; i < kGroups; ++i) {
    if (i == run_at) {
      text += "::";
      i += run - 1;
      continue;
    }
    if (!text.empty() && text.back() != ':') text += ':';
    text += fmt::format("{:x}", groups[i]);
  }
  return text;
}

std::optional<Gid> ParseGid(std::string_view text) {
  const size_t gap = text.find("::");
  const bool has_gap = gap != std::string_view::npos;
  const auto front = ParseGroups(text.substr(0, gap));
  const auto back = ParseGroups(has_gap ? text.substr(gap + 2) : std::string_view());
  if (!front || !back) return std::nullopt;
  const size_t named = front->size() + back->size();
  if (has_gap ? named >= kGroups : named != kGroups) return std::nullopt;
  std::array<uint16_t, kGroups> groups{};
  for (size_t i = 0; i < front->size(); ++i) groups[i] = (*front)[i];
  for (size_t i = 0; i < back->size(); ++i) groups[kGroups - back->size() + i] = (*back)[i];
  Gid gid;
  for (size_t i = 0; i < kGroups; ++i) {
    uint64_t& half = i < 4 ? gid.prefix : gid.low;
    half = half << 16 | groups[i];
  }
  return gid;
}

}  // namespace fabricd
