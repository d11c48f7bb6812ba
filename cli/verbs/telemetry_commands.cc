// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/telemetry_commands.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <thread>

#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>

#include "cli/render/hostlist.h"
#include "cli/render/infiniband_text.h"
#include "cli/render/plot.h"
#include "cli/render/policy_tables.h"
#include "cli/render/tables.h"
#include "cli/render/telemetry_tables.h"

namespace fabricd::cli {
namespace {

using google::protobuf::util::TimeUtil;
using TelemetryStub = pb::TelemetryService::Stub;

constexpr std::chrono::seconds kRedraw{2};
// Of a terminal, that the header and the line above it take, and the prompt.
constexpr size_t kLinesAround = 3;
// A reading of every port may take its time on a large fabric.
constexpr Timeout kPollTimeout{30'000};

// Hostlists; of names that are ports, nodes or hosts NODE[PORT] stays a port. A name that is none
// stays as it is.
std::vector<std::string> Expand(const std::vector<std::string>& names, bool may_be_port) {
  std::vector<std::string> all;
  for (const std::string& name : names) {
    std::string error;
    const size_t open = name.find('[');
    const bool is_port = may_be_port && open != std::string::npos && name.back() == ']' &&
                         name.find_first_of(",-", open) == std::string::npos;
    const auto expanded = is_port ? std::nullopt : ExpandHostlist(name, false, &error);
    if (expanded)
      all.insert(all.end(), expanded->begin(), expanded->end());
    else
      all.push_back(name);
  }
  return all;
}

void SetSpan(const std::optional<Timeout>& span, google::protobuf::Duration* out) {
  if (span) *out = TimeUtil::MillisecondsToDuration(span->count());
}

void NoteUnknown(uint32_t not_fresh, uint32_t ports) {
  if (not_fresh == 0) return;
  PrintError("note: nothing is known of {} of {} ports now (fabricctl describe telemetry)\n",
             not_fresh, ports);
}

Result PollNow(Client& client) {
  pb::PollCountersResponse polled;
  return client.Call(client.telemetry(), &TelemetryStub::PollCounters, pb::PollCountersRequest(),
                     &polled, kPollTimeout);
}

Result FetchErrors(Client& client, const ErrorsOptions& options, pb::ListErrorsResponse* errors) {
  pb::ListErrorsRequest request;
  const std::vector<std::string> names = Expand(options.names, true);
  request.mutable_names()->Assign(names.begin(), names.end());
  request.mutable_counters()->Assign(options.counters.begin(), options.counters.end());
  if (options.since) SetSpan(options.since, request.mutable_since());
  return client.List(client.telemetry(), &TelemetryStub::ListErrors, request, errors);
}

Result FetchStatus(Client& client, pb::GetTelemetryStatusResponse* status) {
  return client.Call(client.telemetry(), &TelemetryStub::GetTelemetryStatus,
                     pb::GetTelemetryStatusRequest(), status);
}

void PrintErrors(const Globals& globals, const ErrorsOptions& options,
                 const pb::GetTelemetryStatusResponse& status,
                 const pb::ListErrorsResponse& errors) {
  if (globals.format == Format::kIbqueryerrors) return PrintLong(globals, ToIbqueryerrors(errors));
  if (globals.format == Format::kName) {
    std::string text;
    for (const pb::PortErrors& port : errors.ports()) text += "port/" + port.name() + "\n";
    return PrintLong(globals, text);
  }
  if (errors.ports().empty()) {
    // Of what was before telemetry began nothing is known.
    const int64_t longest = Timeout(std::chrono::hours(24)).count();
    const int64_t span = std::min(options.since ? options.since->count() : longest, longest);
    const auto known = static_cast<int64_t>(status.uptime_seconds() * 1000);
    PrintError("No errors in the last {} at {} ports.\n", SpanText(std::min(span, known)),
               errors.ports_checked() - errors.ports_not_fresh());
  } else {
    PrintLong(globals, ErrorTable(errors, globals.wide(), NowMs()).Render(globals.style));
  }
}

struct TopWords {
  pb::TopKind kind = pb::TOP_KIND_UNSPECIFIED;
  pb::TopOrder order = pb::TOP_ORDER_UNSPECIFIED;
};

Result ReadTop(const TopOptions& options, TopWords* words) {
  static const std::map<std::string, pb::TopOrder> kOrders = {
      {"xmit", pb::TOP_ORDER_XMIT},        {"rcv", pb::TOP_ORDER_RCV},
      {"util", pb::TOP_ORDER_UTILISATION}, {"wait", pb::TOP_ORDER_WAIT},
      {"errors", pb::TOP_ORDER_ERRORS},    {"ber", pb::TOP_ORDER_BER}};
  const auto resource = ParseResource(options.kind);
  switch (resource.value_or(Resource::kSm)) {
    case Resource::kPort: words->kind = pb::TOP_KIND_PORT; break;
    case Resource::kLink: words->kind = pb::TOP_KIND_LINK; break;
    case Resource::kHost: words->kind = pb::TOP_KIND_HOST; break;
    case Resource::kSwitch: words->kind = pb::TOP_KIND_SWITCH; break;
    default:
      return {kUsage,
              fmt::format("top: \"{}\" is none of ports, links, hosts, switches", options.kind)};
  }
  words->order = kOrders.at(options.order);
  return {};
}

Result FetchTop(Client& client, const TopOptions& options, const TopWords& words, uint32_t limit,
                pb::ListTopResponse* top) {
  pb::ListTopRequest request;
  request.set_kind(words.kind);
  request.set_order(words.order);
  request.set_limit(limit);
  const std::vector<std::string> names = Expand(options.names, true);
  request.mutable_names()->Assign(names.begin(), names.end());
  if (options.since) SetSpan(options.since, request.mutable_errors_since());
  return client.Call(client.telemetry(), &TelemetryStub::ListTop, request, top);
}

std::string TopLine(const pb::ListTopResponse& top, const TopOptions& options) {
  return fmt::format("{} of {} {} by {}, {}, read every {:g} s\n", top.entries_size(),
                     top.total_size(), options.kind, options.order,
                     TimeUtil::ToString(top.time()).substr(0, 19) + "Z", top.interval_seconds());
}

// Until the timeout, a failure or ^C.
Result WatchTop(Client& client, const Globals& globals, const TopOptions& options,
                const TopWords& words) {
  const auto end = globals.timeout ? NowMs() + globals.timeout->count() : INT64_MAX;
  do {
    const size_t lines = ScreenLines();
    const uint32_t room = lines > kLinesAround ? static_cast<uint32_t>(lines - kLinesAround) : 1;
    pb::ListTopResponse top;
    Result result = FetchTop(client, options, words, std::min(options.limit, room), &top);
    if (!result.ok()) return result;
    PrintScreen(TopLine(top, options) +
                TopTable(top, words.kind, globals.wide()).Render(globals.style));
    std::this_thread::sleep_for(kRedraw);
  } while (NowMs() < end);
  return {};
}

// Whether the terminal takes UTF-8, by the locale's variables.
bool IsAsciiTerminal() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    std::string locale = value;
    std::transform(locale.begin(), locale.end(), locale.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return locale.find("UTF-8") == std::string::npos && locale.find("UTF8") == std::string::npos;
  }
  return true;
}

}  // namespace

Result Errors(Client& client, const Globals& globals, const ErrorsOptions& options) {
  if (options.refresh) {
    if (Result result = PollNow(client); !result.ok()) return result;
  }
  pb::ListErrorsResponse errors;
  Result result = FetchErrors(client, options, &errors);
  if (!result.ok()) return result;
  pb::GetTelemetryStatusResponse status;
  if (result = FetchStatus(client, &status); !result.ok()) return result;
  const bool is_document = PrintDocument(globals, errors);
  if (errors.ports().empty() && errors.ports_checked() > 0 &&
      errors.ports_not_fresh() == errors.ports_checked()) {
    const std::string why =
        status.state() == "POLLING" ? "" : fmt::format(": telemetry is {}", status.state());
    return {kUnavailable,
            fmt::format("nothing is known of {} of {} ports now{} (fabricctl describe "
                        "telemetry)",
                        errors.ports_not_fresh(), errors.ports_checked(), why)};
  }
  if (!is_document) PrintErrors(globals, options, status, errors);
  NoteUnknown(errors.ports_not_fresh(), errors.ports_checked());
  return {errors.ports().empty() ? kOk : kFailure, ""};
}

Result Top(Client& client, const Globals& globals, const TopOptions& options) {
  TopWords words;
  if (Result result = ReadTop(options, &words); !result.ok()) return result;
  if (options.watch && globals.IsTable() && ScreenLines() > 0)
    return WatchTop(client, globals, options, words);
  pb::ListTopResponse top;
  Result result = FetchTop(client, options, words, options.limit, &top);
  if (!result.ok() || PrintDocument(globals, top)) return result;
  PrintLong(globals, TopTable(top, words.kind, globals.wide()).Render(globals.style));
  return {};
}

Result History(Client& client, const Globals& globals, const HistoryOptions& options) {
  pb::GetPortHistoryRequest request;
  request.set_port(options.port);
  if (options.since) SetSpan(options.since, request.mutable_span());
  pb::GetPortHistoryResponse history;
  const Result result =
      client.Call(client.telemetry(), &TelemetryStub::GetPortHistory, request, &history);
  if (!result.ok() || PrintDocument(globals, history)) return result;
  if (globals.format == Format::kWide) {
    PrintLong(globals, HistoryTable(history).Render(globals.style));
    return {};
  }
  constexpr size_t kUsualWidth = 80;
  const size_t columns = ScreenColumns();
  Print(PlotHistory(history,
                    {columns == 0 ? kUsualWidth : columns, options.is_ascii || IsAsciiTerminal()}));
  return {};
}

Result Inventory(Client& client, const Globals& globals, const std::vector<std::string>& names) {
  pb::ListInventoryRequest request;
  const std::vector<std::string> all = Expand(names, true);
  request.mutable_names()->Assign(all.begin(), all.end());
  pb::ListInventoryResponse inventory;
  const Result result =
      client.List(client.telemetry(), &TelemetryStub::ListInventory, request, &inventory);
  if (!result.ok() || PrintDocument(globals, inventory)) return result;
  if (globals.format == Format::kName) {
    std::string text;
    for (const pb::PortInventory& port : inventory.ports()) text += "port/" + port.name() + "\n";
    PrintLong(globals, text);
  } else if (inventory.ports().empty()) {
    PrintError("No device tells of its cables (fabricctl describe telemetry says why).\n");
  } else {
    PrintLong(globals, InventoryTable(inventory, globals.wide()).Render(globals.style));
  }
  return {};
}

Result Job(Client& client, const Globals& globals, const JobOptions& options) {
  pb::GetJobViewRequest request;
  const std::vector<std::string> hosts = Expand(options.hosts, false);
  request.mutable_hosts()->Assign(hosts.begin(), hosts.end());
  if (options.since) SetSpan(options.since, request.mutable_errors_since());
  pb::GetJobViewResponse job;
  const Result result = client.Call(client.telemetry(), &TelemetryStub::GetJobView, request, &job);
  if (!result.ok() || PrintDocument(globals, job)) return result;
  Print(fmt::format("{} hosts, {} ports of theirs, of their switches and on the paths between\n",
                    job.hosts(), job.ports()));
  PrintLong(globals, JobTable(job, globals.wide()).Render(globals.style));
  for (const pb::PortId& port : job.ports_down()) Print(PortText(port) + " is not ACTIVE\n");
  NoteUnknown(job.ports_not_fresh(), job.ports());
  return {};
}

Result PrintCounters(Client& client, const Globals& globals, const std::string& port) {
  pb::GetPortCountersRequest request;
  request.set_port(port);
  pb::GetPortCountersResponse counters;
  Result result =
      client.Call(client.telemetry(), &TelemetryStub::GetPortCounters, request, &counters);
  if (!result.ok()) return result;
  pb::ListErrorsResponse errors;
  ErrorsOptions options;
  options.names = {port};
  result = FetchErrors(client, options, &errors);
  if (result.ok()) Print(DescribeCounters(counters.port(), errors, NowMs(), globals.style));
  return result;
}

Result PrintPerfquery(Client& client, const std::string& port) {
  pb::GetPortCountersRequest request;
  request.set_port(port);
  pb::GetPortCountersResponse counters;
  const Result result =
      client.Call(client.telemetry(), &TelemetryStub::GetPortCounters, request, &counters);
  if (!result.ok()) return result;
  if (counters.port().counters().empty())
    return {kFailure, fmt::format("{} was never read", counters.port().name())};
  Print(ToPerfquery(counters.port()));
  return {};
}

Result DescribeTelemetryOf(Client& client, const Globals& globals) {
  pb::GetTelemetryStatusResponse status;
  Result result = FetchStatus(client, &status);
  if (!result.ok() || PrintDocument(globals, status)) return result;
  pb::ListMeasurementGapsResponse gaps;
  result = client.List(client.telemetry(), &TelemetryStub::ListMeasurementGaps,
                       pb::ListMeasurementGapsRequest(), &gaps);
  if (result.ok()) Print(DescribeTelemetry(status, gaps, globals.style));
  return result;
}

Result FetchTelemetry(Client& client, const GetOptions& options, bool,
                      std::unique_ptr<google::protobuf::Message>* answer) {
  if (!options.names.empty()) return {kUsage, "get telemetry takes no names"};
  auto response = std::make_unique<pb::GetTelemetryStatusResponse>();
  Result result = FetchStatus(client, response.get());
  *answer = std::move(response);
  return result;
}

}  // namespace fabricd::cli
