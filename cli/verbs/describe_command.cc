// SPDX-License-Identifier: Apache-2.0
// `describe`: one thing with what is held, wrong and has happened there.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "cli/render/describe.h"
#include "cli/render/policy_tables.h"
#include "cli/render/tables.h"
#include "cli/verbs/commands.h"
#include "cli/verbs/sa_listing.h"
#include "cli/verbs/telemetry_commands.h"
#include "cli/verbs/verdict_commands.h"

namespace fabricd::cli {
namespace {

using Stub = pb::TopologyService::Stub;
using Remediation = pb::RemediationService::Stub;

constexpr int kEventsShown = 10;
// Of the nodes of a port; those of other ports are left out.
constexpr uint32_t kEventsAsked = 500;

bool IsAbout(const pb::Event& event, const std::vector<pb::PortId>& ports) {
  return std::any_of(ports.begin(), ports.end(), [&](const pb::PortId& port) {
    return (port.node_guid() == event.node_guid() && port.number() == event.port()) ||
           (port.node_guid() == event.peer_guid() && port.number() == event.peer_port());
  });
}

// The latest events about these nodes, or about just these ports.
Result FetchEvents(Client& client, const std::vector<std::string>& nodes,
                   const std::vector<pb::PortId>& ports, pb::ListEventsResponse* events) {
  pb::ListEventsRequest request;
  request.mutable_nodes()->Assign(nodes.begin(), nodes.end());
  for (const pb::PortId& port : ports) request.add_nodes(port.node_guid());
  request.set_last(ports.empty() ? kEventsShown : kEventsAsked);
  Result result =
      client.Call(client.events(), &pb::EventService::Stub::ListEvents, request, events);
  if (!result.ok() || ports.empty()) return result;
  auto* all = events->mutable_events();
  all->erase(std::remove_if(all->begin(), all->end(),
                            [&](const pb::Event& event) { return !IsAbout(event, ports); }),
             all->end());
  if (all->size() > kEventsShown) all->DeleteSubrange(0, all->size() - kEventsShown);
  return result;
}

// Of whole nodes, or of ports; a port without a GUID is none. `host`: what hung on it and is gone
// has no GUID any more, and is found by its name; empty: none.
Result PrintRelated(Client& client, const Globals& globals, const std::vector<std::string>& names,
                    std::vector<pb::PortId> ports, const std::string& host = {}) {
  ports.erase(std::remove_if(ports.begin(), ports.end(),
                             [](const pb::PortId& port) { return port.node_guid().empty(); }),
              ports.end());
  pb::ListHoldsRequest holds_request;
  pb::ListConditionsRequest conditions_request;
  holds_request.mutable_reaching()->Assign(names.begin(), names.end());
  if (!host.empty()) holds_request.add_reaching(host);
  conditions_request.mutable_names()->Assign(names.begin(), names.end());
  for (const pb::PortId& port : ports) {
    const std::string name = fmt::format("{}/{}", port.node_guid(), port.number());
    holds_request.add_reaching(name);
    conditions_request.add_names(name);
  }
  pb::ListHoldsResponse holds;
  Result result = client.List(client.remediation(), &Remediation::ListHolds, holds_request, &holds);
  if (!result.ok()) return result;
  pb::ListConditionsResponse conditions;
  if (!conditions_request.names().empty())
    result = client.List(client.remediation(), &Remediation::ListConditions, conditions_request,
                         &conditions);
  if (!result.ok()) return result;
  pb::ListEventsResponse events;
  const std::vector<std::string> by_name = {host};
  result = FetchEvents(client, host.empty() ? names : by_name, ports, &events);
  // Of a host that is gone there may be none left.
  if (!host.empty() && result.code == kNotFound) result = {};
  if (result.ok()) Print(DescribePolicy(holds, conditions, events, NowMs(), globals.style));
  return result;
}

// A MGID names one group, a MLID all that share it.
Result DescribeGroups(Client& client, const Globals& globals, const std::string& name) {
  pb::ListMulticastGroupsRequest request;
  request.add_names(name);
  request.set_trees(true);
  pb::ListMulticastGroupsResponse groups;
  if (Result result = CollectGroups(client, request, &groups); !result.ok()) return result;
  if (groups.groups().empty()) return {kNotFound, fmt::format("no multicast group {}", name)};
  if (groups.groups_size() == 1 && PrintDocument(globals, groups.groups(0))) return {};
  if (PrintDocument(globals, groups)) return {};
  for (const pb::MulticastGroup& group : groups.groups()) {
    if (&group != &groups.groups(0)) Print("\n");
    Print(DescribeMulticast(group, globals.style));
  }
  return {};
}

Result DescribePartitionOf(Client& client, const Globals& globals, const std::string& name) {
  pb::GetPartitionRequest request;
  request.set_partition(name);
  pb::GetPartitionResponse response;
  const Result result = client.Call(client.partitions(), &pb::PartitionService::Stub::GetPartition,
                                    request, &response);
  if (result.ok() && !PrintDocument(globals, response.partition()))
    Print(DescribePartition(response, globals.style));
  return result;
}

// With what is wrong with it; also one that is not on the fabric, where something is known of it.
Result DescribeHostOf(Client& client, const Globals& globals, const std::string& name) {
  pb::BatchGetReadinessRequest readiness_request;
  readiness_request.add_hosts(name);
  pb::BatchGetReadinessResponse readiness;
  Result result = client.Call(client.remediation(), &Remediation::BatchGetReadiness,
                              readiness_request, &readiness);
  if (!result.ok()) return result;
  pb::ListHostsRequest request;
  request.add_names(name);
  pb::ListHostsResponse hosts;
  result = client.List(&Stub::ListHosts, request, &hosts);
  const bool is_known =
      readiness.hosts_size() == 1 && readiness.hosts(0).readiness() != pb::READINESS_UNKNOWN;
  if (result.code == kNotFound && is_known) {
    if (PrintDocument(globals, readiness.hosts(0))) return {};
    Print(DescribeAbsentHost(readiness.hosts(0), globals.style));
    return PrintRelated(client, globals, {}, {}, name);
  }
  if (!result.ok() || hosts.hosts().empty()) return result;
  if (PrintDocument(globals, hosts.hosts(0))) return {};
  Print(DescribeHost(hosts.hosts(0), readiness.hosts(0), globals.style));
  std::vector<std::string> nodes;  // Its HCAs.
  for (const pb::HostPort& port : hosts.hosts(0).ports()) {
    const std::string& guid = port.port().node_guid();
    if (std::find(nodes.begin(), nodes.end(), guid) == nodes.end()) nodes.push_back(guid);
  }
  return PrintRelated(client, globals, nodes, {}, name);
}

Result DescribeOne(Client& client, const Globals& globals, Resource resource,
                   const std::string& name) {
  switch (resource) {
    case Resource::kNode:
    case Resource::kSwitch: {
      pb::GetNodeRequest request;
      request.set_node(name);
      pb::GetNodeResponse node;
      Result result = client.Call(client.topology(), &Stub::GetNode, request, &node);
      if (!result.ok()) return result;
      if (PrintDocument(globals, node.node())) return {};
      pb::ListPortsRequest ports_request;
      ports_request.add_names(node.node().guid());
      pb::ListPortsResponse ports;
      result = client.List(&Stub::ListPorts, ports_request, &ports);
      if (!result.ok()) return result;
      Print(DescribeNode(node.node(), ports, globals.style));
      return PrintRelated(client, globals, {node.node().guid()}, {});
    }
    case Resource::kHost: return DescribeHostOf(client, globals, name);
    case Resource::kPort: {
      if (globals.format == Format::kPerfquery) return PrintPerfquery(client, name);
      pb::GetPortRequest request;
      request.set_port(name);
      pb::GetPortResponse port;
      const Result result = client.Call(client.topology(), &Stub::GetPort, request, &port);
      if (!result.ok()) return result;
      if (PrintDocument(globals, port.port())) return {};
      Print(DescribePort(port.port(), globals.style));
      // Port 0 counts nothing of a link.
      if (port.port().id().number() != 0) {
        const Result counters = PrintCounters(client, globals, name);
        if (!counters.ok()) return counters;
      }
      return PrintRelated(client, globals, {}, {port.port().id(), port.port().peer()});
    }
    case Resource::kLink: {
      pb::ListLinksRequest request;
      request.add_names(name);
      pb::ListLinksResponse links;
      const Result result = client.List(&Stub::ListLinks, request, &links);
      if (!result.ok()) return result;
      if (links.links_size() != 1) {
        return {
            links.links().empty() ? kNotFound : kUsage,
            fmt::format("\"{}\" names {} links; a link is NODE/PORT", name, links.links_size())};
      }
      const pb::Link& link = links.links(0);
      if (PrintDocument(globals, link)) return {};
      Print(DescribeLink(link, globals.style));
      return PrintRelated(client, globals, {}, {link.a(), link.b()});
    }
    case Resource::kMulticast: return DescribeGroups(client, globals, name);
    case Resource::kPartition: return DescribePartitionOf(client, globals, name);
    case Resource::kVerdict: return DescribeVerdictOf(client, globals, name);
    default: break;
  }
  return {kUsage,
          "describe takes node, switch, host, port, link, multicast, partition, verdict, sm or "
          "telemetry"};
}

// What the routes would be without it.
Result PrintIfIsolated(Client& client, Resource resource, const std::string& name) {
  static const std::map<Resource, pb::TargetKind> kKinds = {
      {Resource::kNode, pb::TARGET_KIND_UNSPECIFIED},
      {Resource::kHost, pb::TARGET_KIND_HOST},
      {Resource::kSwitch, pb::TARGET_KIND_SWITCH},
      {Resource::kPort, pb::TARGET_KIND_PORT},
      {Resource::kLink, pb::TARGET_KIND_LINK}};
  const auto kind = kKinds.find(resource);
  if (kind == kKinds.end()) return {kUsage, "--if-isolated: of a node, host, switch, port or link"};
  pb::CreateHoldRequest request;
  request.set_target(name);
  request.set_target_kind(kind->second);
  request.set_kind(pb::HOLD_KIND_ISOLATE);
  request.set_reason("fabricctl describe");
  request.set_validate_only(true);
  pb::CreateHoldResponse response;
  const Result result =
      client.Call(client.remediation(), &Remediation::CreateHold, request, &response, kLongTimeout);
  if (result.ok()) Print("\n" + ConsequencesText(response));
  if (result.ok() && !response.refusal().empty())
    Print(fmt::format("  Refused:       {}\n", response.refusal()));
  return result;
}

}  // namespace

Result Describe(Client& client, const Globals& globals, Resource resource,
                const std::vector<std::string>& names, bool if_isolated) {
  if (resource == Resource::kSm) {
    pb::GetSmResponse sm;
    const Result result = client.Call(client.topology(), &Stub::GetSm, pb::GetSmRequest(), &sm);
    if (result.ok() && !PrintDocument(globals, sm)) Print(DescribeSm(sm, globals.style));
    return result;
  }
  if (globals.format == Format::kPerfquery && resource != Resource::kPort)
    return {kUsage, "-o perfquery: ports have such a form"};
  if (resource == Resource::kTelemetry) {
    if (!names.empty()) return {kUsage, "describe telemetry takes no names"};
    return DescribeTelemetryOf(client, globals);
  }
  if (names.empty()) return {kUsage, "describe needs a NAME"};
  for (const std::string& name : names) {
    if (&name != &names.front() && globals.format == Format::kTable) Print("\n");
    if (Result result = DescribeOne(client, globals, resource, name); !result.ok()) return result;
    if (!if_isolated) continue;
    if (Result result = PrintIfIsolated(client, resource, name); !result.ok()) return result;
  }
  return {};
}

}  // namespace fabricd::cli
