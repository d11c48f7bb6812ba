// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/port_rows.h"

#include <fmt/format.h>

namespace fabricd::http {

Guid LabelGuid(const fabric::Node& node, PortNum port) {
  const Guid guid = node.IsSwitch() ? node.guid() : node.port(port).guid;
  return guid ? guid : node.guid();
}

PortRow::PortRow(const fabric::Node& node, PortNum number) : node_(&node), number_(number) {
  const auto end = fmt::format_to_n(labels_.data(), labels_.size(), "guid=\"{}\",port=\"{}\"",
                                    LabelGuid(node, number), number);
  size_ = static_cast<uint8_t>(end.size);
}

PortRows::PortRows(const fabric::FabricSnapshot& snapshot) {
  snapshot.ForEachNode([&](const fabric::Node& node) {
    for (const auto& [ref, port] : node.LinkPorts()) {
      if (!port.known) continue;
      kinds[node.IsSwitch() ? 0 : 1].rows.emplace_back(node, ref.port);
    }
  });
}

}  // namespace fabricd::http
