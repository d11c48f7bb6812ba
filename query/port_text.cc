// SPDX-License-Identifier: Apache-2.0
#include "query/port_text.h"

#include "common/number_text.h"

namespace fabricd::query {

std::optional<PortText> SplitPortText(const std::string& text) {
  size_t separator, end = text.size();
  if (!text.empty() && text.back() == ']') {
    separator = text.rfind('[');
    --end;
  } else {
    separator = text.find_last_of("/:");
  }
  if (separator == std::string::npos || separator == 0) return std::nullopt;
  const auto port =
      ParseNumber<uint8_t>(std::string_view(text).substr(separator + 1, end - separator - 1));
  if (!port) return std::nullopt;
  return PortText{text.substr(0, separator), PortNum(*port)};
}

}  // namespace fabricd::query
