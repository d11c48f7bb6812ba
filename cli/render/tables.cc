// SPDX-License-Identifier: Apache-2.0
#include "cli/render/tables.h"

#include <algorithm>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "cli/render/telemetry_tables.h"

namespace fabricd::cli {
namespace {

std::string Number(double value) { return fmt::format("{:g}", value); }
std::string OutOf(uint32_t part, uint32_t whole) { return fmt::format("{}/{}", part, whole); }

// Base LIDs, "0x…" GUIDs and so on of several end ports, with commas.
template <typename Ports, typename Pick>
std::string Join(const Ports& ports, Pick&& pick) {
  std::vector<std::string> texts;
  for (const auto& port : ports) texts.push_back(pick(port));
  return fmt::format("{}", fmt::join(texts, ","));
}

std::string Lids(const google::protobuf::RepeatedPtrField<pb::EndPort>& ports) {
  return Join(ports, [](const pb::EndPort& port) { return fmt::format("{}", port.lid()); });
}

// "0,2-7"
std::string Ranges(const std::set<uint32_t>& numbers) {
  std::vector<std::string> texts;
  for (auto it = numbers.begin(); it != numbers.end();) {
    const uint32_t first = *it;
    uint32_t last = first;
    while (++it != numbers.end() && *it == last + 1) last = *it;
    texts.push_back(first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last));
  }
  return fmt::format("{}", fmt::join(texts, ","));
}

void AddColumns(std::vector<std::string>& headers, std::vector<std::string> more) {
  headers.insert(headers.end(), more.begin(), more.end());
}

// With what is held: "ACTIVE,Drained".
Cell WithHolds(Cell status, const HeldKinds& held) {
  for (const int kind : held) {
    if (status.tone == Tone::kGood) status.tone = Tone::kWarning;
    switch (kind) {
      case pb::HOLD_KIND_CORDON: status.text += ",Cordoned"; break;
      case pb::HOLD_KIND_DRAIN: status.text += ",Drained"; break;
      case pb::HOLD_KIND_ISOLATE: status.text += ",Isolated"; break;
      case pb::HOLD_KIND_DISABLE: status.text += ",Disabled"; break;
      default: break;
    }
  }
  return status;
}

}  // namespace

Cell PortStatus(const std::string& state, bool degraded, const HeldKinds& held) {
  if (state.empty()) return WithHolds({"Unknown", Tone::kWarning}, held);
  if (degraded) return WithHolds({state + ",Degraded", Tone::kWarning}, held);
  if (state == "ACTIVE") return WithHolds({state, Tone::kGood}, held);
  return WithHolds({state, state == "DOWN" ? Tone::kBad : Tone::kWarning}, held);
}

Cell LinkStatus(const pb::Link& link) {
  Cell status = PortStatus(link.state(), link.degraded(), link.held());
  if (link.suppressed()) status = {status.text + ",SUPPRESSED", Tone::kWarning};
  return status;
}

Cell NodeStatus(const pb::Node& node) {
  Cell status{"Active", Tone::kGood};
  if (node.ports_active() == 0) {
    status = {"Down", Tone::kBad};
  } else if (node.ports_active() < node.ports_linked()) {
    status = {"Partial", Tone::kWarning};
  } else if (node.links_degraded() > 0) {
    status = {"Degraded", Tone::kWarning};
  }
  return WithHolds(std::move(status), node.held());
}

Cell HostStatus(const pb::Host& host) {
  Cell status{"Active", Tone::kGood};
  if (host.ports_active() == 0) {
    status = {"Down", Tone::kBad};
  } else if (host.ports_active() < static_cast<uint32_t>(host.ports_size())) {
    status = {"Partial", Tone::kWarning};
  }
  return WithHolds(std::move(status), host.held());
}

std::string PortText(const pb::PortId& port) {
  return port.node_guid().empty() ? "" : fmt::format("{}/{}", port.node_name(), port.number());
}

std::string RateText(uint32_t width, const std::string& speed) {
  return width == 0 ? "" : fmt::format("{}x {}", width, speed.empty() ? "?" : speed);
}

Table NodeTable(const pb::ListNodesResponse& nodes, bool wide) {
  std::vector<std::string> headers = {"NAME", "TYPE", "STATUS", "LID", "PORTS", "GUID"};
  if (wide) AddColumns(headers, {"HOST", "DEGRADED", "VENDOR", "DEVICE", "DESCRIPTION"});
  Table table(headers);
  for (const pb::Node& node : nodes.nodes()) {
    std::vector<Cell> row = {node.name(),
                             node.type(),
                             NodeStatus(node),
                             Lids(node.end_ports()),
                             OutOf(node.ports_active(), node.num_ports()),
                             node.guid()};
    if (wide) {
      row.insert(row.end(), {node.host(), fmt::format("{}", node.links_degraded()),
                             fmt::format("0x{:06x}", node.vendor_id()),
                             fmt::format("{}", node.device_id()), node.description()});
    }
    table.AddRow(std::move(row));
  }
  return table;
}

Table SwitchTable(const pb::ListNodesResponse& nodes, bool wide) {
  std::vector<std::string> headers = {"NAME", "STATUS", "LID", "PORTS", "GUID"};
  if (wide)
    AddColumns(headers, {"DEGRADED", "FDB-TOP", "FDB-CAP", "VENDOR", "DEVICE", "DESCRIPTION"});
  Table table(headers);
  for (const pb::Node& node : nodes.nodes()) {
    std::vector<Cell> row = {node.name(), NodeStatus(node), Lids(node.end_ports()),
                             OutOf(node.ports_active(), node.num_ports()), node.guid()};
    if (wide) {
      row.insert(row.end(), {fmt::format("{}", node.links_degraded()),
                             fmt::format("{}", node.switch_details().linear_fdb_top()),
                             fmt::format("{}", node.switch_details().linear_fdb_cap()),
                             fmt::format("0x{:06x}", node.vendor_id()),
                             fmt::format("{}", node.device_id()), node.description()});
    }
    table.AddRow(std::move(row));
  }
  return table;
}

Table HostTable(const pb::ListHostsResponse& hosts, bool wide) {
  std::vector<std::string> headers = {"NAME", "STATUS", "HCAS", "PORTS", "RAILS"};
  if (wide) AddColumns(headers, {"LIDS", "DEVICES", "PEERS"});
  Table table(headers);
  for (const pb::Host& host : hosts.hosts()) {
    std::set<uint32_t> rails;
    for (const pb::HostPort& port : host.ports()) {
      if (port.rail_known()) rails.insert(port.rail());
    }
    std::vector<Cell> row = {host.name(), HostStatus(host), fmt::format("{}", host.hcas()),
                             OutOf(host.ports_active(), host.ports_size()), Ranges(rails)};
    if (wide) {
      const auto& ports = host.ports();
      row.emplace_back(
          Join(ports, [](const auto& p) { return fmt::format("{}", p.port().lid()); }));
      row.emplace_back(
          Join(ports, [](const auto& p) { return p.device().empty() ? "?" : p.device(); }));
      row.emplace_back(Join(ports, [](const auto& p) {
        return p.has_peer() ? PortText(p.peer()) : std::string("-");
      }));
    }
    table.AddRow(std::move(row));
  }
  return table;
}

Table PortTable(const pb::ListPortsResponse& ports, bool wide) {
  std::vector<std::string> headers = {"NAME", "STATUS", "PHYSICAL", "RATE", "LID", "PEER"};
  if (wide)
    AddColumns(headers, {"GBPS", "XMIT-GBPS", "RCV-GBPS", "WAIT", "ERRORS", "BER", "SUPPORTED",
                         "MTU", "VLS", "GUID", "NODE-GUID", "PEER-GUID"});
  Table table(headers);
  for (const pb::Port& port : ports.ports()) {
    const std::string lid = port.has_end_port() ? fmt::format("{}", port.end_port().lid()) : "";
    std::vector<Cell> row = {port.name(),
                             PortStatus(port.state(), port.degraded(), port.held()),
                             port.physical_state(),
                             RateText(port.width(), port.speed()),
                             lid,
                             PortText(port.peer())};
    if (wide) {
      row.insert(row.end(),
                 {Number(port.rate_gbps()), GbpsText(port.rates().xmit_bytes()),
                  GbpsText(port.rates().rcv_bytes()), ShareText(port.rates().wait()),
                  port.has_errors() ? fmt::format("{:.0f}", port.errors()) : "-",
                  RatioText(port.rates().symbol_ber()),
                  RateText(port.width_supported(), port.speed_supported()),
                  fmt::format("{}", port.mtu()), fmt::format("{}", port.vls()),
                  port.end_port().guid(), port.id().node_guid(), port.peer().node_guid()});
    }
    table.AddRow(std::move(row));
  }
  return table;
}

Table LinkTable(const pb::ListLinksResponse& links, bool wide) {
  std::vector<std::string> headers = {"A", "B", "STATUS", "RATE", "GBPS"};
  if (wide) AddColumns(headers, {"SUPPORTED", "PHYSICAL", "A-GUID", "B-GUID", "REASON"});
  Table table(headers);
  for (const pb::Link& link : links.links()) {
    std::vector<Cell> row = {PortText(link.a()), PortText(link.b()), LinkStatus(link),
                             RateText(link.width(), link.speed()), Number(link.rate_gbps())};
    if (wide) {
      row.insert(row.end(),
                 {RateText(link.width_supported(), link.speed_supported()), link.physical_state(),
                  link.a().node_guid(), link.b().node_guid(), link.suppression()});
    }
    table.AddRow(std::move(row));
  }
  return table;
}

namespace {

// Of an SM that only reads, and of one that waits for acceptance, it says so.
Cell SmStatusCell(const pb::GetSmResponse& sm) {
  if (sm.subnet_up()) return Cell("Up", Tone::kGood);
  if (sm.takeover_held()) return Cell("Held", Tone::kBad);
  if (sm.mode() == "observe") return Cell("Observing", Tone::kWarning);
  if (sm.mode() == "standby") return Cell("Standby", Tone::kWarning);
  return Cell("NotUp", Tone::kBad);
}

}  // namespace

Table SmTable(const pb::GetSmResponse& sm, bool wide) {
  std::vector<std::string> headers = {"STATE", "STATUS", "PRIORITY",  "LID",
                                      "GUID",  "NODES",  "SWITCHES",  "HOSTS",
                                      "LINKS", "ENGINE", "GENERATION"};
  if (wide)
    AddColumns(headers,
               {"MODE", "PHASE", "DEGRADED", "PORTS-ACTIVE", "SWEEPS", "LAST-SWEEP", "PROBLEMS"});
  Table table(headers);
  const Cell status = SmStatusCell(sm);
  std::vector<Cell> row = {sm.state(),
                           status,
                           fmt::format("{}", sm.priority()),
                           fmt::format("{}", sm.lid()),
                           sm.guid(),
                           fmt::format("{}", sm.nodes()),
                           fmt::format("{}", sm.switches()),
                           fmt::format("{}", sm.hosts()),
                           fmt::format("{}", sm.links()),
                           sm.engine(),
                           fmt::format("{}", sm.generation())};
  if (wide) {
    row.insert(row.end(),
               {sm.mode(), sm.phase(), fmt::format("{}", sm.links_degraded()),
                fmt::format("{}", sm.ports_active()), fmt::format("{}", sm.sweeps_done()),
                fmt::format("{} {:.1f}ms", sm.last_sweep().kind(), sm.last_sweep().duration_ms()),
                fmt::format("{}", sm.problems_size())});
  }
  table.AddRow(std::move(row));
  return table;
}

Table RouteTable(const pb::GetForwardingTableResponse& routes, bool wide) {
  std::vector<std::string> headers = {"LID", "PORT", "DESTINATION"};
  if (wide) AddColumns(headers, {"TYPE", "PORT-GUID"});
  Table table(headers);
  for (const pb::ForwardingEntry& entry : routes.entries()) {
    const std::string port = entry.routed() ? fmt::format("{}", entry.port()) : "-";
    std::vector<Cell> row = {fmt::format("{}", entry.lid()), port, entry.destination().node_name()};
    if (wide) row.insert(row.end(), {entry.destination_type(), entry.destination().guid()});
    table.AddRow(std::move(row));
  }
  return table;
}

Table PathTable(const pb::TracePathResponse& trace, bool wide) {
  const bool many = trace.paths_size() > 1;
  std::vector<std::string> headers = {"HOP", "NODE", "IN", "OUT", "LID"};
  if (many) headers.insert(headers.begin(), "DESTINATION");
  if (wide) AddColumns(headers, {"TYPE", "GUID"});
  Table table(headers);
  for (const pb::Path& path : trace.paths()) {
    for (int i = 0; i < path.hops_size(); ++i) {
      const pb::PathHop& hop = path.hops(i);
      std::vector<Cell> row = {fmt::format("{}", i), hop.node_name(),
                               hop.has_ingress_port() ? fmt::format("{}", hop.ingress_port()) : "-",
                               hop.has_egress_port() ? fmt::format("{}", hop.egress_port()) : "-",
                               fmt::format("{}", hop.lid())};
      if (many) row.insert(row.begin(), fmt::format("{}", path.destination_lid()));
      if (wide) row.insert(row.end(), {hop.node_type(), hop.node_guid()});
      table.AddRow(std::move(row));
    }
  }
  return table;
}

}  // namespace fabricd::cli
