// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/sa_listing.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

namespace fabricd::cli {
namespace {

using SubnetAdminStub = pb::SubnetAdminService::Stub;

constexpr uint32_t kAnyTrap = 0xFFFF, kAnyLid = 0xFFFF;

// A stream of pieces, as one message.
template <typename Request, typename Response, typename Method>
Result Collect(Client& client, Method method, const Request& request, Response* all) {
  return client.Stream(client.subnet_admin(), method, request,
                       std::function<Result(const Response&)>([all](const Response& piece) {
                         all->MergeFrom(piece);
                         return Result();
                       }));
}

std::string Hex(uint32_t value, int digits) { return fmt::format("0x{:0{}x}", value, digits); }

// "59m", "23h": what is left of a lease.
std::string Left(double expires_ms, int64_t now_ms) {
  if (expires_ms == 0) return "never";
  const int64_t seconds = std::max<int64_t>(0, (static_cast<int64_t>(expires_ms) - now_ms) / 1000);
  if (seconds < 120) return fmt::format("{}s", seconds);
  if (seconds < 7200) return fmt::format("{}m", seconds / 60);
  return seconds < 172'800 ? fmt::format("{}h", seconds / 3600)
                           : fmt::format("{}d", seconds / 86'400);
}

std::string Or(const std::string& text, const char* otherwise) {
  return text.empty() ? otherwise : text;
}

std::string SourcesOf(const pb::Subscription& subscription) {
  if (!subscription.source_gid().empty()) return subscription.source_gid();
  if (subscription.lid_begin() == kAnyLid) return "all";
  if (subscription.lid_end() == 0) return fmt::format("LID {}", subscription.lid_begin());
  return fmt::format("LIDs {}-{}", subscription.lid_begin(), subscription.lid_end());
}

// The components that are shown: all, or as many as fit; those first in which records differ, and
// none that is zero in all of them.
std::vector<size_t> ColumnsOf(const pb::ListRecordsResponse& records, bool wide) {
  constexpr size_t kColumns = 12;
  if (records.records().empty()) return {};
  const pb::Record& first = records.records(0);
  std::vector<size_t> differ, same, all;
  for (int field = 0; field < first.fields_size(); ++field) {
    const std::string& value = first.fields(field).value();
    const auto is_same = [&](const pb::Record& each) {
      return each.fields(field).value() == value;
    };
    const size_t number = all.size();
    all.push_back(number);
    if (!std::all_of(records.records().begin(), records.records().end(), is_same))
      differ.push_back(number);
    else if (value.find_first_not_of("0x:") != std::string::npos)
      same.push_back(number);
  }
  if (wide) return all;
  std::vector<size_t> shown = std::move(differ);
  shown.insert(shown.end(), same.begin(), same.end());
  shown.resize(std::min(shown.size(), kColumns));
  std::sort(shown.begin(), shown.end());
  return shown;
}

}  // namespace

Table RecordTable(const pb::ListRecordsResponse& records, bool wide) {
  const std::vector<size_t> shown = ColumnsOf(records, wide);
  std::vector<std::string> headers;
  for (const size_t field : shown) {
    std::string name = records.records(0).fields(static_cast<int>(field)).name();
    std::transform(name.begin(), name.end(), name.begin(), [](char c) {
      return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    });
    headers.push_back(std::move(name));
  }
  Table table(headers);
  for (const pb::Record& record : records.records()) {
    std::vector<Cell> cells;
    for (const size_t field : shown)
      cells.emplace_back(record.fields(static_cast<int>(field)).value());
    table.AddRow(std::move(cells));
  }
  return table;
}

Table ServiceTable(const pb::ListServicesResponse& services, bool wide, int64_t now_ms) {
  std::vector<std::string> headers = {"ID", "NAME", "NODE", "P_KEY", "EXPIRES"};
  if (wide) headers.insert(headers.end(), {"GID", "KEY"});
  Table table(headers);
  for (const pb::ServiceRegistration& service : services.services()) {
    std::vector<Cell> cells = {
        service.id(), service.name(),
        service.node_name().empty() ? Cell("absent", Tone::kWarning) : Cell(service.node_name()),
        Hex(service.p_key(), 4), Left(service.expires_ms(), now_ms)};
    if (wide) {
      cells.emplace_back(service.gid());
      cells.emplace_back(service.has_key() ? "yes" : "no");
    }
    table.AddRow(std::move(cells));
  }
  return table;
}

Table SubscriptionTable(const pb::ListSubscriptionsResponse& subscriptions, bool wide) {
  std::vector<std::string> headers = {"SUBSCRIBER", "NODE", "NUMBER", "TRAP", "SOURCES"};
  if (wide) headers.insert(headers.end(), {"QPN", "TYPE", "PRODUCER", "TRUSTED"});
  Table table(headers);
  for (const pb::Subscription& each : subscriptions.subscriptions()) {
    std::vector<Cell> cells = {
        each.gid(), Or(each.node_name(), "absent"), fmt::format("{}", each.number()),
        each.trap_number() == kAnyTrap ? "all" : fmt::format("{}", each.trap_number()),
        SourcesOf(each)};
    if (wide) {
      cells.emplace_back(fmt::format("{}", each.qpn()));
      cells.emplace_back(each.type() == kAnyTrap ? "all" : fmt::format("{}", each.type()));
      cells.emplace_back(
          each.producer_type() == 0xFFFFFF ? "all" : fmt::format("{}", each.producer_type()));
      cells.emplace_back(each.trusted() ? "yes" : "no");
    }
    table.AddRow(std::move(cells));
  }
  return table;
}

Table MulticastTable(const pb::ListMulticastGroupsResponse& groups, bool wide) {
  std::vector<std::string> headers = {"MLID", "MGID", "P_KEY", "MTU", "RATE", "MEMBERS"};
  if (wide) headers.insert(headers.end(), {"Q_KEY", "SL", "PERMANENT", "NODES"});
  Table table(headers);
  for (const pb::MulticastGroup& group : groups.groups()) {
    std::vector<Cell> cells = {Hex(group.mlid(), 4),
                               group.mgid(),
                               Hex(group.p_key(), 4),
                               fmt::format("{}", group.mtu()),
                               fmt::format("{:g}G", group.rate_gbps()),
                               fmt::format("{}", group.members_size())};
    if (wide) {
      std::vector<std::string> nodes;
      for (const pb::MulticastMember& member : group.members())
        nodes.push_back(Or(member.node_name(), member.gid().c_str()));
      cells.emplace_back(Hex(group.q_key(), 8));
      cells.emplace_back(fmt::format("{}", group.sl()));
      cells.emplace_back(group.permanent() ? "yes" : "no");
      cells.emplace_back(fmt::format("{}", fmt::join(nodes, ",")));
    }
    table.AddRow(std::move(cells));
  }
  return table;
}

Result FetchRecords(Client& client, const GetOptions& options, bool,
                    std::unique_ptr<google::protobuf::Message>* answer) {
  pb::ListRecordsRequest request;
  std::vector<std::string> words;
  for (const std::string& word : options.names) {
    // Names of components have letters, digits, '_' and '.' only; names of nodes may have '='.
    const size_t equals =
        word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.");
    if (words.empty() || equals == 0 || equals == std::string::npos || word[equals] != '=') {
      words.push_back(word);
      continue;
    }
    pb::RecordField* filter = request.add_filters();
    filter->set_name(word.substr(0, equals));
    filter->set_value(word.substr(equals + 1));
  }
  if (words.empty() || words.size() > 3) {
    return {kUsage,
            "get records TYPE [FIELD=VALUE…], or get records path SOURCE [DESTINATION] "
            "[FIELD=VALUE…]"};
  }
  request.set_type(words[0]);
  if (words.size() > 1) request.set_source(words[1]);
  if (words.size() > 2) request.set_destination(words[2]);
  auto response = std::make_unique<pb::ListRecordsResponse>();
  if (Result result = Collect(client, &SubnetAdminStub::ListRecords, request, response.get());
      !result.ok())
    return result;
  *answer = std::move(response);
  return {};
}

Result FetchServices(Client& client, const GetOptions& options, bool,
                     std::unique_ptr<google::protobuf::Message>* answer) {
  pb::ListServicesRequest request;
  request.mutable_names()->Assign(options.names.begin(), options.names.end());
  auto response = std::make_unique<pb::ListServicesResponse>();
  if (Result result = Collect(client, &SubnetAdminStub::ListServices, request, response.get());
      !result.ok())
    return result;
  if (!options.names.empty() && response->services().empty())
    return {kNotFound, fmt::format("no service among {}", fmt::join(options.names, ", "))};
  *answer = std::move(response);
  return {};
}

Result FetchSubscriptions(Client& client, const GetOptions& options, bool,
                          std::unique_ptr<google::protobuf::Message>* answer) {
  if (!options.names.empty()) return {kUsage, "get subscriptions takes no names"};
  auto response = std::make_unique<pb::ListSubscriptionsResponse>();
  Result result = Collect(client, &SubnetAdminStub::ListSubscriptions,
                          pb::ListSubscriptionsRequest(), response.get());
  if (!result.ok()) return result;
  *answer = std::move(response);
  return {};
}

Result CollectGroups(Client& client, const pb::ListMulticastGroupsRequest& request,
                     pb::ListMulticastGroupsResponse* groups) {
  return Collect(client, &SubnetAdminStub::ListMulticastGroups, request, groups);
}

Result FetchMulticast(Client& client, const GetOptions& options, bool,
                      std::unique_ptr<google::protobuf::Message>* answer) {
  pb::ListMulticastGroupsRequest request;
  request.mutable_names()->Assign(options.names.begin(), options.names.end());
  auto response = std::make_unique<pb::ListMulticastGroupsResponse>();
  if (Result result = CollectGroups(client, request, response.get()); !result.ok()) return result;
  if (!options.names.empty() && response->groups().empty())
    return {kNotFound, fmt::format("no group among {}", fmt::join(options.names, ", "))};
  *answer = std::move(response);
  return {};
}

}  // namespace fabricd::cli
