// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/page_text.h"

#include <memory>
#include <utility>

#include "common/json_text.h"
#include "common/number_text.h"

namespace fabricd::http {

Reply Json(std::string text) {
  return {200, "application/json", std::make_shared<const std::string>(std::move(text))};
}

std::string ArgumentOf(const Query& query, const char* key) {
  const auto found = query.find(key);
  return found == query.end() ? "" : found->second;
}

std::optional<PortRef> PortOf(const Query& query, const fabric::FabricSnapshot& snapshot) {
  const fabric::Node* node = snapshot.FindNode(fabric::ParseGuid(ArgumentOf(query, "guid")));
  const auto number = ParseNumber<uint8_t>(ArgumentOf(query, "port"));
  if (node == nullptr || !number || *number == 0) return std::nullopt;
  const PortRef port{node->index, PortNum(*number)};
  return snapshot.port(port) == nullptr ? std::nullopt : std::optional(port);
}

std::string PortJson(PortRef port, const PortNaming& naming) {
  if (port.IsNone() || naming.snapshot.port(port) == nullptr) return "null";
  const fabric::Node& node = *naming.snapshot.node(port.node);
  const fabric::Host* host = naming.hosts.HostOf(port.node);
  return fmt::format("{{\"name\":{},\"guid\":\"{}\",\"port\":{},\"host\":{}}}",
                     JsonText(fabric::PortName(node, port.port, &naming.names)), node.guid(),
                     port.port, JsonText(host == nullptr ? "" : host->name));
}

}  // namespace fabricd::http
