// SPDX-License-Identifier: Apache-2.0
#include "cli/render/infiniband_text.h"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

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

// "PortXmitData:....................5"
std::string PerfqueryLine(const std::string& name, const std::string& value) {
  constexpr size_t kColumn = 33;
  std::string line = name + ":";
  line.resize(std::max(line.size(), kColumn), '.');
  return line + value + "\n";
}

// PortCounters, in its order.
constexpr std::array kPerfqueryNames = {"SymbolErrorCounter",
                                        "LinkErrorRecoveryCounter",
                                        "LinkDownedCounter",
                                        "PortRcvErrors",
                                        "PortRcvRemotePhysicalErrors",
                                        "PortRcvSwitchRelayErrors",
                                        "PortXmitDiscards",
                                        "PortXmitConstraintErrors",
                                        "PortRcvConstraintErrors",
                                        "CounterSelect2",
                                        "LocalLinkIntegrityErrors",
                                        "ExcessiveBufferOverrunErrors",
                                        "QP1Dropped",
                                        "VL15Dropped",
                                        "PortXmitData",
                                        "PortRcvData",
                                        "PortXmitPkts",
                                        "PortRcvPkts",
                                        "PortXmitWait"};

std::string CountList(const std::vector<std::pair<std::string, double>>& counts) {
  std::string text;
  for (const auto& [name, count] : counts) text += fmt::format(" [{} == {:.0f}]", name, count);
  return text + "\n";
}

// "0x0000000000200000" as "0x200000".
std::string ShortGuid(const std::string& guid) {
  const size_t digit = guid.find_first_not_of('0', 2);
  return digit == std::string::npos ? guid : "0x" + guid.substr(digit);
}

// The ports of one node, from `first` on; a switch has the sums over its ports first.
std::string NodeErrors(const pb::ListErrorsResponse& errors, int first, int end) {
  const pb::PortErrors& node = errors.ports(first);
  const bool is_switch = node.id().node_type() == "SWITCH";
  std::string text = is_switch
                         ? fmt::format("Errors for {} \"{}\"\n", ShortGuid(node.id().node_guid()),
                                       node.id().node_name())
                         : fmt::format("Errors for \"{}\"\n", node.id().node_name());
  std::vector<std::pair<std::string, double>> sums;
  std::string lines;
  for (int i = first; i < end; ++i) {
    const pb::PortErrors& port = errors.ports(i);
    std::vector<std::pair<std::string, double>> counts;
    for (const pb::ErrorCount& error : port.errors()) {
      counts.emplace_back(error.name(), error.count());
      const auto sum = std::find_if(sums.begin(), sums.end(),
                                    [&](const auto& each) { return each.first == error.name(); });
      if (sum == sums.end())
        sums.emplace_back(counts.back());
      else
        sum->second += error.count();
    }
    lines += fmt::format("   GUID {} port {}:{}", ShortGuid(port.guid()), port.id().number(),
                         CountList(counts));
  }
  if (is_switch)
    text += fmt::format("   GUID {} port ALL:{}", ShortGuid(node.guid()), CountList(sums));
  return text + lines;
}

}  // namespace

std::string ToPerfquery(const pb::PortCounters& port) {
  std::map<std::string, uint64_t> values;
  for (const pb::Counter& counter : port.counters()) values[counter.name()] = counter.raw();
  std::string text = fmt::format("# Port counters: Lid {} port {} (CapMask: 0x{:04X})\n",
                                 port.lid(), port.id().number(), port.capability_mask());
  text += PerfqueryLine("PortSelect", fmt::format("{}", port.id().number()));
  text += PerfqueryLine("CounterSelect", "0x0000");
  for (const std::string name : kPerfqueryNames) {
    if (name == "CounterSelect2") {
      text += PerfqueryLine(name, "0x00");
    } else if (const auto value = values.find(name); value != values.end()) {
      text += PerfqueryLine(name, fmt::format("{}", value->second));
    }
  }
  return text;
}

std::string ToIbqueryerrors(const pb::ListErrorsResponse& errors) {
  std::string text;
  int nodes = 0;
  for (int i = 0; i < errors.ports_size();) {
    int end = i + 1;
    while (end < errors.ports_size() &&
           errors.ports(end).id().node_guid() == errors.ports(i).id().node_guid())
      ++end;
    text += NodeErrors(errors, i, end);
    ++nodes;
    i = end;
  }
  return text + fmt::format(
                    "\n## Summary: {} nodes checked, {} bad nodes found\n"
                    "##          {} ports checked, {} ports have errors beyond threshold\n"
                    "## Thresholds:\n"
                    "## Suppressed:\n",
                    errors.nodes_checked(), nodes, errors.ports_checked(), errors.ports_size());
}

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
