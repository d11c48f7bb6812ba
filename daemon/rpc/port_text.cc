// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/port_text.h"

#include <charconv>

namespace fabricd::rpc {

std::optional<PortText> SplitPortText(const std::string& text) {
  size_t separator, end = text.size();
  if (!text.empty() && text.back() == ']') {
    separator = text.rfind('[');
    --end;
  } else {
    separator = text.find_last_of("/:");
  }
  if (separator == std::string::npos || separator == 0) return std::nullopt;
  const char* first = text.data() + separator + 1;
  const char* last = text.data() + end;
  uint8_t port = 0;
  const auto result = std::from_chars(first, last, port);
  if (result.ec != std::errc() || result.ptr != last) return std::nullopt;
  return PortText{text.substr(0, separator), PortNum(port)};
}

}  // namespace fabricd::rpc
