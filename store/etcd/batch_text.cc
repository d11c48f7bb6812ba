// SPDX-License-Identifier: Apache-2.0
#include "store/etcd/batch_text.h"

#include <cstdint>
#include <optional>
#include <utility>

namespace fabricd::store::etcd {
namespace {

// A change is '+' or '-', the key and, after '+', the value; each text after its length, 4 bytes,
// the highest first.
void Add(const std::string& text, std::string& out) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(text.size() >> shift);
  out += text;
}

std::optional<std::string> Take(const std::string& part, size_t& at) {
  if (part.size() - at < 4) return std::nullopt;
  uint32_t size = 0;
  for (int i = 0; i < 4; ++i) size = size << 8 | static_cast<unsigned char>(part[at++]);
  if (part.size() - at < size) return std::nullopt;
  at += size;
  return part.substr(at - size, size);
}

}  // namespace

std::vector<std::string> EncodeChanges(const FlatChanges& changes, size_t most) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : changes) {
    std::string encoded(1, value ? '+' : '-');
    Add(key, encoded);
    if (value) Add(*value, encoded);
    if (parts.empty() || parts.back().size() + encoded.size() > most) parts.emplace_back();
    parts.back() += encoded;
  }
  return parts;
}

bool DecodeChanges(const std::string& part, FlatChanges& changes) {
  for (size_t at = 0; at < part.size();) {
    const char kind = part[at++];
    if (kind != '+' && kind != '-') return false;
    auto key = Take(part, at);
    if (!key) return false;
    std::optional<std::string> value;
    if (kind == '+' && !(value = Take(part, at))) return false;
    changes[*std::move(key)] = std::move(value);
  }
  return true;
}

}  // namespace fabricd::store::etcd
