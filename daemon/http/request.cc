// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/request.h"

#include <algorithm>
#include <utility>

namespace fabricd::http {
namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// Of a path or, with `form`, of a query, where a plus sign is a space. An escape that is none stays
// as it is.
std::string Decode(std::string_view text, bool form) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && HexDigit(text[i + 1]) >= 0 &&
        HexDigit(text[i + 2]) >= 0) {
      decoded += static_cast<char>(HexDigit(text[i + 1]) * 16 + HexDigit(text[i + 2]));
      i += 2;
    } else {
      decoded += form && text[i] == '+' ? ' ' : text[i];
    }
  }
  return decoded;
}

Query DecodeQuery(std::string_view text) {
  Query query;
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), pair.size() + 1));
    const size_t equals = std::min(pair.find('='), pair.size());
    if (equals == 0) continue;
    const std::string_view value = pair.substr(std::min(pair.size(), equals + 1));
    query.emplace(Decode(pair.substr(0, equals), true), Decode(value, true));
  }
  return query;
}

bool IsToken(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' || c == '_';
  });
}

}  // namespace

std::optional<size_t> HeadEnd(std::string_view received) {
  // RFC 9112, section 2.2: a line feed alone ends a line too.
  for (size_t feed = received.find('\n'); feed != std::string_view::npos;
       feed = received.find('\n', feed + 1)) {
    const std::string_view rest = received.substr(feed + 1, 2);
    if (rest.starts_with('\n')) return feed + 2;
    if (rest == "\r\n") return feed + 3;
  }
  return std::nullopt;
}

std::optional<Request> ParseRequest(std::string_view head) {
  std::string_view line = head.substr(0, head.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  const size_t first = line.find(' '), last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return std::nullopt;
  const std::string_view method = line.substr(0, first), version = line.substr(last + 1);
  std::string_view target = line.substr(first + 1, last - first - 1);
  if (!IsToken(method) || !version.starts_with("HTTP/1.")) return std::nullopt;
  if (!target.starts_with('/') || target.find_first_of(" \t\r") != std::string_view::npos)
    return std::nullopt;
  target = target.substr(0, target.find('#'));
  const size_t mark = std::min(target.find('?'), target.size());
  return Request{std::string(method), Decode(target.substr(0, mark), false),
                 DecodeQuery(target.substr(std::min(target.size(), mark + 1)))};
}

}  // namespace fabricd::http
