// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cli/render/hostlist.h"
#include "cli/render/partition_tables.h"
#include "cli/render/policy_tables.h"
#include "cli/render/tables.h"
#include "cli/render/telemetry_tables.h"
#include "cli/render/verdict_tables.h"
#include "cli/verbs/globals.h"
#include "cli/verbs/partition_commands.h"
#include "cli/verbs/resource.h"
#include "cli/verbs/sa_listing.h"
#include "cli/verbs/telemetry_commands.h"
#include "cli/verbs/verdict_commands.h"

namespace fabricd::cli {
namespace {

using google::protobuf::Message;
using Answer = std::unique_ptr<Message>;
using Stub = pb::TopologyService::Stub;
using Remediation = pb::RemediationService::Stub;
using NameForm = ResourceKind::Names;

// All pages of a listing.
template <typename Response, typename Stub, typename Method, typename Request>
Result List(Client& client, Stub& stub, Method method, const Request& request, Answer* answer) {
  auto response = std::make_unique<Response>();
  Result result = client.List(stub, method, request, response.get());
  *answer = std::move(response);
  return result;
}

Result FetchNodes(Client& client, const GetOptions& options, bool, Answer* answer) {
  const bool switches = options.resource == Resource::kSwitch;
  pb::ListNodesRequest request;
  if (switches) request.add_types("SWITCH");
  request.mutable_names()->Assign(options.names.begin(), options.names.end());
  Result result =
      List<pb::ListNodesResponse>(client, client.topology(), &Stub::ListNodes, request, answer);
  if (!result.ok() || !switches || options.names.empty()) return result;
  if (static_cast<const pb::ListNodesResponse&>(**answer).nodes_size() > 0) return result;
  return {kNotFound, fmt::format("no switch among {}", fmt::join(options.names, ", "))};
}

Result FetchHosts(Client& client, const GetOptions& options, bool, Answer* answer) {
  pb::ListHostsRequest request;
  request.mutable_names()->Assign(options.names.begin(), options.names.end());
  return List<pb::ListHostsResponse>(client, client.topology(), &Stub::ListHosts, request, answer);
}

Result FetchPorts(Client& client, const GetOptions& options, bool wide, Answer* answer) {
  pb::ListPortsRequest request;
  request.mutable_names()->Assign(options.names.begin(), options.names.end());
  request.mutable_states()->Assign(options.states.begin(), options.states.end());
  request.set_degraded_only(options.degraded);
  request.set_view(wide || !options.fields.empty() || !options.sort_by.empty()
                       ? pb::PORT_VIEW_RATES
                       : pb::PORT_VIEW_BASIC);
  return List<pb::ListPortsResponse>(client, client.topology(), &Stub::ListPorts, request, answer);
}

Result FetchDampedLinks(Client& client, const GetOptions& options, Answer* answer) {
  pb::ListDampedLinksRequest request;
  request.mutable_names()->Assign(options.names.begin(), options.names.end());
  return List<pb::ListDampedLinksResponse>(client, client.remediation(),
                                           &Remediation::ListDampedLinks, request, answer);
}

Result FetchLinks(Client& client, const GetOptions& options, bool, Answer* answer) {
  if (options.damped) return FetchDampedLinks(client, options, answer);
  pb::ListLinksRequest request;
  request.mutable_names()->Assign(options.names.begin(), options.names.end());
  request.set_degraded_only(options.degraded);
  return List<pb::ListLinksResponse>(client, client.topology(), &Stub::ListLinks, request, answer);
}

Result FetchSm(Client& client, const GetOptions&, bool, Answer* answer) {
  auto response = std::make_unique<pb::GetSmResponse>();
  Result result = client.Call(client.topology(), &Stub::GetSm, pb::GetSmRequest(), response.get());
  *answer = std::move(response);
  return result;
}

// Names are ids or targets.
Result FetchHolds(Client& client, const GetOptions& options, bool, Answer* answer) {
  pb::ListHoldsRequest request;
  request.set_owner(options.owner);
  for (const std::string& name : options.names) {
    const bool id = name.find_first_not_of("0123456789") == std::string::npos;
    *(id ? request.add_ids() : request.add_targets()) = name;
  }
  return List<pb::ListHoldsResponse>(client, client.remediation(), &Remediation::ListHolds, request,
                                     answer);
}

Result FetchConditions(Client& client, const GetOptions& options, bool, Answer* answer) {
  pb::ListConditionsRequest request;
  request.mutable_names()->Assign(options.names.begin(), options.names.end());
  return List<pb::ListConditionsResponse>(client, client.remediation(),
                                          &Remediation::ListConditions, request, answer);
}

Table LinksOf(const Message& answer, bool wide) {
  if (answer.GetDescriptor() == pb::ListDampedLinksResponse::descriptor())
    return DampedLinkTable(static_cast<const pb::ListDampedLinksResponse&>(answer), wide, NowMs());
  return LinkTable(static_cast<const pb::ListLinksResponse&>(answer), wide);
}

std::string LinkName(const Message& item) {
  return "link/" + PortText(item.GetDescriptor() == pb::DampedLink::descriptor()
                                ? static_cast<const pb::DampedLink&>(item).a()
                                : static_cast<const pb::Link&>(item).a());
}

// The columns of a kind, from functions of its own types.
template <typename Response>
auto TableOf(Table (*table)(const Response&, bool)) {
  return [table](const Message& answer, bool wide) {
    return table(static_cast<const Response&>(answer), wide);
  };
}
template <typename Response>
auto TableOf(Table (*table)(const Response&, bool, int64_t)) {
  return [table](const Message& answer, bool wide) {
    return table(static_cast<const Response&>(answer), wide, NowMs());
  };
}
template <typename Item>
auto NameOf(std::string (*name)(const Item&)) {
  return [name](const Message& item, const GetOptions&, int) {
    return name(static_cast<const Item&>(item));
  };
}

std::vector<ResourceKind> FabricKinds() {
  return {
      {Resource::kNode, "node", "nodes", "no", "HCAs, switches and routers", true, true,
       NameForm::kHostlist, pb::Node::descriptor(), FetchNodes, TableOf(&NodeTable),
       NameOf<pb::Node>([](const pb::Node& node) { return "node/" + node.name(); })},
      {Resource::kHost, "host", "hosts", "ho", "servers with all of their HCAs", true, true,
       NameForm::kHostlist, pb::Host::descriptor(), FetchHosts, TableOf(&HostTable),
       NameOf<pb::Host>([](const pb::Host& host) { return "host/" + host.name(); })},
      {Resource::kSwitch, "switch", "switches", "sw", "switches", true, true, NameForm::kHostlist,
       pb::Node::descriptor(), FetchNodes, TableOf(&SwitchTable),
       NameOf<pb::Node>([](const pb::Node& node) { return "switch/" + node.name(); })},
      {Resource::kPort, "port", "ports", "po", "ports of nodes", true, true, NameForm::kPortlist,
       pb::Port::descriptor(), FetchPorts, TableOf(&PortTable),
       NameOf<pb::Port>([](const pb::Port& port) { return "port/" + port.name(); })},
      {Resource::kLink, "link", "links", "li", "cables: two ports linked to each other", true, true,
       NameForm::kPortlist, pb::Link::descriptor(), FetchLinks, LinksOf,
       [](const Message& item, const GetOptions&, int) { return LinkName(item); }},
      {Resource::kSm, "sm", "sms", "sm", "the subnet manager and the subnet as a whole", true, true,
       NameForm::kPlain, pb::GetSmResponse::descriptor(), FetchSm, TableOf(&SmTable),
       NameOf<pb::GetSmResponse>([](const pb::GetSmResponse& sm) { return "sm/" + sm.guid(); })}};
}

std::vector<ResourceKind> PolicyKinds() {
  return {{Resource::kHold, "hold", "holds", "hd", "who wants what out of use, and why", true,
           false, NameForm::kHostlist, pb::Hold::descriptor(), FetchHolds, TableOf(&HoldTable),
           NameOf<pb::Hold>([](const pb::Hold& hold) { return "hold/" + hold.id(); })},
          {Resource::kCondition, "condition", "conditions", "cond", "what is wrong by a rule", true,
           false, NameForm::kHostlist, pb::Condition::descriptor(), FetchConditions,
           TableOf(&ConditionTable), NameOf<pb::Condition>([](const pb::Condition& condition) {
             return fmt::format("condition/{}:{}:{}", condition.type(), condition.node_guid(),
                                condition.port());
           })},
          {Resource::kEvent, "event", "events", "ev", "what has happened", true, false,
           NameForm::kHostlist, pb::Event::descriptor(), nullptr, nullptr, nullptr},
          {Resource::kPartition, "partition", "partitions", "pkey", "partitions and their members",
           true, true, NameForm::kPlain, pb::Partition::descriptor(), FetchPartitions,
           TableOf(&PartitionTable), NameOf<pb::Partition>([](const pb::Partition& partition) {
             return "partition/" + PKeyText(partition);
           })}};
}

// What clients leave with Subnet Administration changes without a new view: none is watched.
std::vector<ResourceKind> SubnetAdminKinds() {
  return {
      {Resource::kRecord, "record", "records", "rec",
       "what Subnet Administration answers a trusted client", false, false, NameForm::kPlain,
       pb::Record::descriptor(), FetchRecords, TableOf(&RecordTable),
       [](const Message&, const GetOptions& options, int at) {
         return fmt::format("record/{}/{}", options.names.front(), at);
       }},
      {Resource::kService, "service", "services", "svc", "services that clients registered", false,
       false, NameForm::kPlain, pb::ServiceRegistration::descriptor(), FetchServices,
       TableOf(&ServiceTable),
       NameOf<pb::ServiceRegistration>([](const pb::ServiceRegistration& service) {
         return fmt::format("service/{}/{}", service.id(), service.gid());
       })},
      {Resource::kSubscription, "subscription", "subscriptions", "sub",
       "who is told of which notices", false, false, NameForm::kPlain,
       pb::Subscription::descriptor(), FetchSubscriptions, TableOf(&SubscriptionTable),
       NameOf<pb::Subscription>([](const pb::Subscription& each) {
         return fmt::format("subscription/{}/{}", each.gid(), each.number());
       })},
      {Resource::kMulticast, "multicast", "multicasts", "mc", "multicast groups with their members",
       false, true, NameForm::kPlain, pb::MulticastGroup::descriptor(), FetchMulticast,
       TableOf(&MulticastTable), NameOf<pb::MulticastGroup>([](const pb::MulticastGroup& group) {
         return fmt::format("multicast/0x{:04x}", group.mlid());
       })}};
}

std::vector<ResourceKind> TelemetryKinds() {
  return {{Resource::kTelemetry, "telemetry", "telemetry", "tele",
           "what is read of the ports' counters, and what is not", false, true, NameForm::kPlain,
           pb::GetTelemetryStatusResponse::descriptor(), FetchTelemetry, TableOf(&TelemetryTable),
           NameOf<pb::GetTelemetryStatusResponse>([](const pb::GetTelemetryStatusResponse& status) {
             return "telemetry/" + status.state();
           })},
          {Resource::kVerdict, "verdict", "verdicts", "vd",
           "links that are not healthy, by which counters, and what is done about them", true, true,
           NameForm::kPortlist, pb::Verdict::descriptor(), FetchVerdicts, TableOf(&VerdictTable),
           NameOf<pb::Verdict>(
               [](const pb::Verdict& verdict) { return "verdict/" + AccusedName(verdict); }),
           [](const Message& answer) {
             return VerdictNotes(static_cast<const pb::ListVerdictsResponse&>(answer));
           }}};
}

std::string KnownWords() {
  std::vector<std::string> words;
  for (const ResourceKind& kind : ResourceKinds()) words.push_back(kind.singular);
  return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace

const std::vector<ResourceKind>& ResourceKinds() {
  static const std::vector<ResourceKind> kKinds = [] {
    std::vector<ResourceKind> kinds;
    for (auto&& part : {FabricKinds(), PolicyKinds(), SubnetAdminKinds(), TelemetryKinds()})
      kinds.insert(kinds.end(), part.begin(), part.end());
    return kinds;
  }();
  return kKinds;
}

const ResourceKind& KindOf(Resource resource) {
  return ResourceKinds()[static_cast<size_t>(resource)];
}

std::optional<Resource> ParseResource(const std::string& word) {
  for (const ResourceKind& kind : ResourceKinds()) {
    if (word == kind.singular || word == kind.plural || word == kind.short_word)
      return kind.resource;
  }
  return std::nullopt;
}

Result ReadResource(std::string word, std::vector<std::string> names, Resource* resource,
                    std::vector<std::string>* all_names) {
  if (const size_t slash = word.find('/'); slash != std::string::npos) {
    names.insert(names.begin(), word.substr(slash + 1));
    word.resize(slash);
  }
  const auto parsed = ParseResource(word);
  if (!parsed) return {kUsage, fmt::format("no resource \"{}\" ({})", word, KnownWords())};
  *resource = *parsed;
  const NameForm form = KindOf(*parsed).names;
  all_names->clear();
  for (const std::string& name : names) {
    std::string error;
    // A name may have brackets of its own, "Mellanox [eth]": it is no hostlist then.
    const auto expanded = form == NameForm::kPlain
                              ? std::nullopt
                              : ExpandHostlist(name, form == NameForm::kPortlist, &error);
    if (expanded)
      all_names->insert(all_names->end(), expanded->begin(), expanded->end());
    else
      all_names->push_back(name);
  }
  return {};
}

}  // namespace fabricd::cli
