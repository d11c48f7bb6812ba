// SPDX-License-Identifier: Apache-2.0
// A port in stored text: "0x0002c90300000001/3".
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "common/number_text.h"
#include "policy/hold.h"

namespace fabricd::policy {

inline std::string HeldPortText(HeldPort port) {
  return fmt::format("{:#018x}/{}", port.node.value(), port.port.value());
}

// nullopt: it is not the text of a port.
inline std::optional<HeldPort> ParseHeldPort(std::string_view text) {
  const size_t slash = std::min(text.find('/'), text.size());
  const auto node = ParseHex<uint64_t>(text.substr(0, slash));
  const auto port = ParseNumber<uint8_t>(text.substr(std::min(slash + 1, text.size())));
  if (!node || !port) return std::nullopt;
  return HeldPort{Guid(*node), PortNum(*port)};
}

}  // namespace fabricd::policy
