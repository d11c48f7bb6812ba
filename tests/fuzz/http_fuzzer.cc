// SPDX-License-Identifier: Apache-2.0
// The head of an HTTP request, from any bytes: where it ends does not depend on how it comes in
// pieces, and what was understood is understood again when all of it is escaped.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "common/check.h"
#include "daemon/http/request.h"

namespace fabricd::http {
namespace {

std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) escaped += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  return escaped;
}

void Check(std::string_view bytes) {
  const auto end = HeadEnd(bytes);
  for (size_t size = 0; size <= std::min<size_t>(bytes.size(), 64); ++size)
    if (const auto early = HeadEnd(bytes.substr(0, size))) FABRICD_CHECK(early == end);
  const auto request = ParseRequest(bytes.substr(0, end.value_or(bytes.size())));
  if (!request) return;
  FABRICD_CHECK(!request->path.empty() && request->path.size() <= bytes.size());
  std::string again = fmt::format("{} /{}?", request->method, Escaped(request->path.substr(1)));
  for (const auto& [name, value] : request->query)
    again += fmt::format("{}={}&", Escaped(name), Escaped(value));
  again += " HTTP/1.1\r\n\r\n";
  const auto second = ParseRequest(again);
  FABRICD_CHECK(second && HeadEnd(again) == again.size());
  FABRICD_CHECK(second->method == request->method && second->path == request->path);
  FABRICD_CHECK(second->query == request->query);
}

}  // namespace
}  // namespace fabricd::http

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fabricd::http::Check({reinterpret_cast<const char*>(data), size});
  return 0;
}
