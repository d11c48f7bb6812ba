// SPDX-License-Identifier: Apache-2.0
// The head of an HTTP/1 request, as far as read-only pages need it: its first line. No header field
// changes what is answered: ranges, conditions and bodies are not served, and each connection ends
// after one answer. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace fabricd::http {

using Query = std::map<std::string, std::string>;

struct Request {
  std::string method;  // "GET"
  std::string path;    // "/ui/ports.json", decoded.
  Query query;         // Decoded; of a repeated name the first counts.
};

// The first line's and all fields' bytes; no page of ours is asked for with more.
inline constexpr size_t kMostHead = 8192;

// Where the head ends: behind its empty line. Nothing: more of it is to come.
std::optional<size_t> HeadEnd(std::string_view received);

// Nothing: that is no request of HTTP/1.
std::optional<Request> ParseRequest(std::string_view head);

}  // namespace fabricd::http
