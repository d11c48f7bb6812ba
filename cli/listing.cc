// SPDX-License-Identifier: Apache-2.0
// `get`: one page-through, one document, one table.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/partition_commands.h"
#include "cli/policy_tables.h"
#include "cli/sa_listing.h"
#include "cli/tables.h"

namespace fabricd::cli {
namespace {

using Stub = pb::TopologyService::Stub;

// A single thing asked for by name is shown as itself, a list as the response.
template <typename Element, typename Response>
void SetDocument(const GetOptions& options,
                 const google::protobuf::RepeatedPtrField<Element>& elements,
                 const Response& response, Listing* listing) {
  if (options.names.size() == 1 && elements.size() == 1) {
    listing->document = std::make_unique<Element>(elements[0]);
  } else {
    listing->document = std::make_unique<Response>(response);
  }
}

Result FetchNodes(Client& client, const GetOptions& options, bool wide, Listing* listing) {
  const bool switches = options.resource == Resource::kSwitch;
  pb::ListNodesRequest request;
  if (switches) request.add_types("SWITCH");
  request.mutable_names()->Assign(options.names.begin(), options.names.end());
  pb::ListNodesResponse response;
  if (Result result = client.List(&Stub::ListNodes, request, &response); !result.ok())
    return result;
  if (static_cast<size_t>(response.nodes_size()) < options.names.size() && switches &&
      response.nodes().empty()) {
    return {kNotFound, fmt::format("no switch among {}", fmt::join(options.names, ", "))};
  }
  listing->table = switches ? SwitchTable(response, wide) : NodeTable(response, wide);
  for (const pb::Node& node : response.nodes()) {
    listing->names.push_back((switches ? "switch/" : "node/") + node.name());
  }
  SetDocument(options, response.nodes(), response, listing);
  return {};
}

Result FetchHosts(Client& client, const GetOptions& options, bool wide, Listing* listing) {
  pb::ListHostsRequest request;
  request.mutable_names()->Assign(options.names.begin(), options.names.end());
  pb::ListHostsResponse response;
  if (Result result = client.List(&Stub::ListHosts, request, &response); !result.ok())
    return result;
  listing->table = HostTable(response, wide);
  for (const pb::Host& host : response.hosts()) listing->names.push_back("host/" + host.name());
  SetDocument(options, response.hosts(), response, listing);
  return {};
}

Result FetchPorts(Client& client, const GetOptions& options, bool wide, Listing* listing) {
  pb::ListPortsRequest request;
  request.mutable_names()->Assign(options.names.begin(), options.names.end());
  request.mutable_states()->Assign(options.states.begin(), options.states.end());
  request.set_degraded_only(options.degraded);
  request.set_view(wide ? pb::PORT_VIEW_FULL : pb::PORT_VIEW_BASIC);
  pb::ListPortsResponse response;
  if (Result result = client.List(&Stub::ListPorts, request, &response); !result.ok())
    return result;
  listing->table = PortTable(response, wide);
  for (const pb::Port& port : response.ports()) listing->names.push_back("port/" + port.name());
  SetDocument(options, response.ports(), response, listing);
  return {};
}

Result FetchLinks(Client& client, const GetOptions& options, bool wide, Listing* listing) {
  pb::ListLinksRequest request;
  request.mutable_names()->Assign(options.names.begin(), options.names.end());
  request.set_degraded_only(options.degraded);
  pb::ListLinksResponse response;
  if (Result result = client.List(&Stub::ListLinks, request, &response); !result.ok())
    return result;
  listing->table = LinkTable(response, wide);
  for (const pb::Link& link : response.links())
    listing->names.push_back("link/" + PortText(link.a()));
  SetDocument(options, response.links(), response, listing);
  return {};
}

Result FetchSm(Client& client, bool wide, Listing* listing) {
  auto response = std::make_unique<pb::GetSmResponse>();
  Result result = client.Call(client.topology(), &Stub::GetSm, pb::GetSmRequest(), response.get());
  if (!result.ok()) return result;
  listing->table = SmTable(*response, wide);
  listing->names.push_back("sm/" + response->guid());
  listing->document = std::move(response);
  return {};
}

int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

using Remediation = pb::RemediationService::Stub;

// Names are ids or targets.
Result FetchHolds(Client& client, const GetOptions& options, bool wide, Listing* listing) {
  pb::ListHoldsRequest request;
  request.set_owner(options.owner);
  for (const std::string& name : options.names) {
    const bool id = name.find_first_not_of("0123456789") == std::string::npos;
    *(id ? request.add_ids() : request.add_targets()) = name;
  }
  pb::ListHoldsResponse response;
  Result result = client.List(client.remediation(), &Remediation::ListHolds, request, &response);
  if (!result.ok()) return result;
  listing->table = HoldTable(response, wide, NowMs());
  for (const pb::Hold& hold : response.holds()) listing->names.push_back("hold/" + hold.id());
  SetDocument(options, response.holds(), response, listing);
  return {};
}

Result FetchConditions(Client& client, const GetOptions& options, bool wide, Listing* listing) {
  pb::ListConditionsRequest request;
  request.mutable_names()->Assign(options.names.begin(), options.names.end());
  pb::ListConditionsResponse response;
  Result result =
      client.List(client.remediation(), &Remediation::ListConditions, request, &response);
  if (!result.ok()) return result;
  listing->table = ConditionTable(response, wide, NowMs());
  for (const pb::Condition& condition : response.conditions()) {
    listing->names.push_back(fmt::format("condition/{}:{}:{}", condition.type(),
                                         condition.node_guid(), condition.port()));
  }
  SetDocument(options, response.conditions(), response, listing);
  return {};
}

Result FetchDampedLinks(Client& client, const GetOptions& options, bool wide, Listing* listing) {
  pb::ListDampedLinksRequest request;
  request.mutable_names()->Assign(options.names.begin(), options.names.end());
  pb::ListDampedLinksResponse response;
  Result result =
      client.List(client.remediation(), &Remediation::ListDampedLinks, request, &response);
  if (!result.ok()) return result;
  listing->table = DampedLinkTable(response, wide, NowMs());
  for (const pb::DampedLink& link : response.links())
    listing->names.push_back("link/" + PortText(link.a()));
  SetDocument(options, response.links(), response, listing);
  return {};
}

}  // namespace

std::optional<Resource> ParseResource(const std::string& word) {
  static constexpr struct {
    const char* words[3];
    Resource resource;
  } kResources[] = {
      {{"node", "nodes", "no"}, Resource::kNode},
      {{"host", "hosts", "ho"}, Resource::kHost},
      {{"switch", "switches", "sw"}, Resource::kSwitch},
      {{"port", "ports", "po"}, Resource::kPort},
      {{"link", "links", "li"}, Resource::kLink},
      {{"sm", "sms", "sm"}, Resource::kSm},
      {{"hold", "holds", "hd"}, Resource::kHold},
      {{"condition", "conditions", "cond"}, Resource::kCondition},
      {{"event", "events", "ev"}, Resource::kEvent},
      {{"partition", "partitions", "pkey"}, Resource::kPartition},
      {{"record", "records", "rec"}, Resource::kRecord},
      {{"service", "services", "svc"}, Resource::kService},
      {{"subscription", "subscriptions", "sub"}, Resource::kSubscription},
      {{"multicast", "multicasts", "mc"}, Resource::kMulticast},
  };
  for (const auto& entry : kResources) {
    for (const char* known : entry.words) {
      if (word == known) return entry.resource;
    }
  }
  return std::nullopt;
}

Result FetchListing(Client& client, const GetOptions& options, bool wide, Listing* listing) {
  *listing = Listing();
  switch (options.resource) {
    case Resource::kNode:
    case Resource::kSwitch: return FetchNodes(client, options, wide, listing);
    case Resource::kHost: return FetchHosts(client, options, wide, listing);
    case Resource::kPort: return FetchPorts(client, options, wide, listing);
    case Resource::kLink:
      return options.damped ? FetchDampedLinks(client, options, wide, listing)
                            : FetchLinks(client, options, wide, listing);
    case Resource::kSm: return FetchSm(client, wide, listing);
    case Resource::kHold: return FetchHolds(client, options, wide, listing);
    case Resource::kCondition: return FetchConditions(client, options, wide, listing);
    case Resource::kPartition: return FetchPartitions(client, options, wide, listing);
    case Resource::kRecord: return FetchRecords(client, options, wide, listing);
    case Resource::kService: return FetchServices(client, options, wide, listing);
    case Resource::kSubscription: return FetchSubscriptions(client, options, wide, listing);
    case Resource::kMulticast: return FetchMulticast(client, options, wide, listing);
    case Resource::kEvent: break;  // `events`
  }
  return {kUsage, "no such resource"};
}

Result Get(Client& client, const Globals& globals, const GetOptions& options) {
  if (globals.format == Format::kConf && options.resource == Resource::kPartition)
    return ExportPartitions(client);
  // The document of ports is whole whatever the table shows.
  const bool wide = globals.format != Format::kTable && globals.format != Format::kName;
  Listing listing;
  if (Result result = FetchListing(client, options, wide, &listing); !result.ok()) return result;
  if (PrintDocument(globals, *listing.document)) return {};
  switch (globals.format) {
    case Format::kTable:
    case Format::kWide:
      if (listing.table.size() == 0) {
        fmt::print(stderr, "No resources found.\n");
      } else {
        Print(listing.table.Render(globals.style));
      }
      return {};
    case Format::kName: {
      std::string text;
      for (const std::string& name : listing.names) text += name + "\n";
      Print(text);
      return {};
    }
    default: return NoSuchFormat("table, wide, json, yaml, name or, of partitions, conf");
  }
}

}  // namespace fabricd::cli
