// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/event_commands.h"

#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>

#include "cli/render/policy_tables.h"

namespace fabricd::cli {
namespace {

using EventStub = pb::EventService::Stub;

constexpr uint32_t kLast = 100;

std::optional<pb::Severity> ParseSeverity(const std::string& word) {
  if (word == "info") return pb::SEVERITY_INFO;
  if (word == "warning") return pb::SEVERITY_WARNING;
  if (word == "error") return pb::SEVERITY_ERROR;
  return std::nullopt;
}

// All pages, or just the latest events.
Result FetchHistory(Client& client, const EventOptions& options, pb::Severity severity,
                    pb::ListEventsResponse* all) {
  pb::ListEventsRequest request;
  request.set_page_size(5000);
  if (options.since) {
    *request.mutable_within() =
        google::protobuf::util::TimeUtil::MillisecondsToDuration(options.since->count());
    request.set_last(options.last);
  } else {
    request.set_last(options.last == 0 ? kLast : options.last);
  }
  request.mutable_types()->Assign(options.types.begin(), options.types.end());
  request.mutable_nodes()->Assign(options.nodes.begin(), options.nodes.end());
  request.set_min_severity(severity);
  do {
    pb::ListEventsResponse page;
    const Result result = client.Call(client.events(), &EventStub::ListEvents, request, &page);
    if (!result.ok()) return result;
    request.set_page_token(page.next_page_token());
    request.set_last(0);
    all->MergeFrom(page);
  } while (!request.page_token().empty());
  all->clear_next_page_token();
  return {};
}

// One event below those before it: the columns of a stream cannot be fitted to what is to come.
std::string Line(const Globals& globals, const pb::Event& event) {
  pb::ListEventsResponse one;
  *one.add_events() = event;
  TableStyle style = globals.style;
  style.headers = false;
  return EventTable(one, globals.format == Format::kWide).Render(style);
}

Result PrintEvent(const Globals& globals, const pb::Event& event) {
  if (!PrintDocument(globals, event)) Print(Line(globals, event));
  return {};
}

}  // namespace

Result Events(Client& client, const Globals& globals, const EventOptions& options) {
  const auto severity = ParseSeverity(options.severity);
  if (!severity) return {kUsage, "--severity: info, warning or error"};
  pb::ListEventsResponse history;
  if (Result result = FetchHistory(client, options, *severity, &history); !result.ok())
    return result;
  const bool table = globals.format == Format::kTable || globals.format == Format::kWide;
  if (!options.watch && PrintDocument(globals, history)) return {};
  if (table && !history.events().empty())
    Print(EventTable(history, globals.format == Format::kWide).Render(globals.style));
  if (!options.watch) {
    if (history.events().empty()) PrintError("No events found.\n");
    return {};
  }
  if (!table) {
    for (const pb::Event& event : history.events()) (void)PrintEvent(globals, event);
  }
  pb::WatchEventsRequest request;
  request.set_resource_version(history.resource_version());
  request.mutable_types()->Assign(options.types.begin(), options.types.end());
  request.mutable_nodes()->Assign(options.nodes.begin(), options.nodes.end());
  request.set_min_severity(*severity);
  return client.Follow<EventStub, EventStub, pb::WatchEventsRequest, pb::WatchEventsResponse>(
      client.events(), &EventStub::WatchEvents, request,
      [&](const pb::WatchEventsResponse& message) -> Result {
        return message.has_event() ? PrintEvent(globals, message.event()) : Result();
      },
      globals.timeout);
}

}  // namespace fabricd::cli
