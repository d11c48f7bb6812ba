// SPDX-License-Identifier: Apache-2.0
// How a port, and a link by its two ends, is written for operators: in events, problems, messages,
// commands and the API. A node has its name already, see DisplayName().
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "common/ids.h"

namespace fabricd::fabric {

// "leaf1/3", "node0001 mlx5_0/1"; port 0 is written too.
inline std::string PortName(std::string_view node, PortNum port) {
  return fmt::format("{}/{}", node, port);
}

// Of a subject that may be a node as a whole, with port 0: "leaf1", "leaf1/3".
inline std::string EndName(std::string_view node, PortNum port) {
  return port == PortNum(0) ? std::string(node) : PortName(node, port);
}

// "leaf1/3 ↔ spine2/7".
inline std::string LinkName(std::string_view a, std::string_view b) {
  return fmt::format("{} ↔ {}", a, b);
}

}  // namespace fabricd::fabric
