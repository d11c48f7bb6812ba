// SPDX-License-Identifier: Apache-2.0
#include "cli/render/infiniband_text.h"

#include <fmt/format.h>

namespace fabricd::cli {
namespace {

namespace pb = ::fabric::v1;

// "ca", "switch", "router"
std::string ShortType(const std::string& type) {
  return type == "CA"       ? "ca"
         : type == "SWITCH" ? "switch"
         : type == "ROUTER" ? "router"
                            : "unknown";
}

std::string LongType(const std::string& type) {
  return type == "CA"       ? "Channel Adapter"
         : type == "SWITCH" ? "Switch"
         : type == "ROUTER" ? "Router"
                            : "unknown node type";
}

std::string LidRange(const pb::PathHop& hop) {
  return fmt::format("{}-{}", hop.lid(), hop.lid() + (1u << hop.lmc()) - 1);
}

// "From …" and "To …" name the node's GUID, the lines between them the port's.
std::string EndLine(const char* word, const pb::PathHop& hop, uint32_t port) {
  return fmt::format("{} {} {{{}}} portnum {} lid {} \"{}\"\n", word, ShortType(hop.node_type()),
                     hop.node_guid(), port, LidRange(hop), hop.node_name());
}

std::string PathText(const pb::Path& path, const pb::TracePathResponse& trace) {
  if (path.hops().empty()) return {};
  std::string out = EndLine("From", path.hops(0), trace.source().number());
  for (int i = 1; i < path.hops_size(); ++i) {
    const pb::PathHop& hop = path.hops(i);
    out += fmt::format("[{}] -> {} port {{{}}}[{}] lid {} \"{}\"\n", path.hops(i - 1).egress_port(),
                       ShortType(hop.node_type()), hop.port_guid(), hop.ingress_port(),
                       LidRange(hop), hop.node_name());
  }
  if (path.reachable()) {
    out += EndLine("To", path.hops(path.hops_size() - 1), trace.destination().number());
  }
  return out;
}

}  // namespace

std::string ToIbroute(const pb::GetForwardingTableResponse& table) {
  std::string out = fmt::format(
      "Unicast lids [0x0-0x{:x}] of switch Lid {} guid {} ({}):\n"
      "  Lid  Out   Destination\n"
      "       Port     Info \n",
      table.lid_top(), table.node().lid(), table.node().node_guid(), table.node().node_name());
  uint32_t valid = 0;
  for (const pb::ForwardingEntry& entry : table.entries()) {
    if (!entry.routed()) continue;
    ++valid;
    out += fmt::format("0x{:04x} {:03d} : ({} portguid {}: '{}')\n", entry.lid(), entry.port(),
                       LongType(entry.destination_type()), entry.destination().guid(),
                       entry.destination().node_name());
  }
  return out + fmt::format("{} valid lids dumped \n", valid);
}

std::string ToIbtracert(const pb::TracePathResponse& trace) {
  std::string out;
  for (const pb::Path& path : trace.paths()) out += PathText(path, trace);
  return out;
}

}  // namespace fabricd::cli
