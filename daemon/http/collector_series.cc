// SPDX-License-Identifier: Apache-2.0
// What the collector does, as series.
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "daemon/http/telemetry_series.h"

namespace fabricd::http {
namespace {

using telemetry::Absence;
using telemetry::Ask;
using telemetry::Freshness;
using telemetry::State;
using Type = SeriesText::Type;

// Management classes as IBA vol 1 §13.4.4 names them.
const char* ClassOf(Ask ask) {
  if (IsSmp(ask)) return "Subn";
  return IsVendorGmp(ask) ? "Vendor" : "Perf";
}

void WriteFreshness(const query::Telemetry& telemetry, SeriesText& out) {
  std::map<Freshness, uint64_t> ports = {{Freshness::kNever, 0},
                                         {Freshness::kFresh, 0},
                                         {Freshness::kStale, 0},
                                         {Freshness::kUnknown, 0}};
  telemetry.model.snapshot().ForEachNode([&](const fabric::Node& node) {
    for (const auto& [port, state] : node.LinkPorts()) {
      if (telemetry.IsRead(port)) ++ports[telemetry.FreshnessOf(port)];
    }
  });
  out.Begin("fabricd_telemetry_ports", "ACTIVE ports by the age of their counters.");
  for (const auto& [freshness, count] : ports) {
    out.Add(Label("freshness", std::string(FreshnessName(freshness))), count);
  }
}

void WriteDevices(const query::Telemetry& telemetry, SeriesText& out) {
  std::map<std::pair<Ask, Absence>, uint64_t> gaps;
  uint64_t responding = 0, others = 0;
  telemetry.model.snapshot().ForEachNode([&](const fabric::Node& node) {
    const telemetry::DeviceRecord* device = telemetry.FindDevice(node.index);
    ++(device != nullptr && device->responds ? responding : others);
    if (device == nullptr) return;
    for (size_t i = 0; i < telemetry::kAsks; ++i) {
      if (device->absences[i] != Absence::kNone) ++gaps[{static_cast<Ask>(i), device->absences[i]}];
    }
  });
  out.Begin("fabricd_telemetry_devices",
            "Nodes by whether they respond to performance management.");
  out.Add("responds=\"false\"", others);
  out.Add("responds=\"true\"", responding);
  out.Begin("fabricd_telemetry_not_measured", "Nodes of which an attribute is not read, and why.");
  for (const auto& [gap, count] : gaps) {
    out.Add(Label("attr", std::string(AskName(gap.first))) + "," +
                Label("reason", std::string(AbsenceName(gap.second))),
            count);
  }
}

void WriteMads(const telemetry::Stats& stats, SeriesText& out) {
  out.Begin("fabricd_telemetry_mads_total",
            "Requests, repeats included, by result: answered, refused, timeout.", Type::kCounter);
  for (size_t i = 0; i < telemetry::kAsks; ++i) {
    if (stats.requests_by_ask[i] == 0) continue;
    const auto ask = static_cast<Ask>(i);
    const std::string labels =
        fmt::format("class=\"{}\",{}", ClassOf(ask), Label("attr", std::string(AskName(ask))));
    const std::pair<const char*, uint64_t> results[] = {
        {"answered", stats.responses_by_ask[i] - stats.refused_by_ask[i]},
        {"refused", stats.refused_by_ask[i]},
        {"timeout", stats.timeouts_by_ask[i]}};
    for (const auto& [result, count] : results) {
      out.Add(fmt::format("{},result=\"{}\"", labels, result), count);
    }
  }
  out.Begin("fabricd_telemetry_unexpected_mads_total", "Responses to nothing that was requested.",
            Type::kCounter);
  out.Add("", stats.unexpected);
  out.Begin("fabricd_telemetry_window", "Requests that may be in flight.");
  out.Add("", uint64_t{stats.window});
  out.Begin("fabricd_telemetry_in_flight", "Requests in flight.");
  out.Add("", uint64_t{stats.in_flight});
  out.Begin("fabricd_telemetry_bad_samples_total",
            "Readings that were thrown away: the link cannot have counted that much.",
            Type::kCounter);
  out.Add("", stats.bad_samples);
  out.Begin("fabricd_telemetry_counters_reset_total", "How often counters of a port began again.",
            Type::kCounter);
  out.Add("", stats.resets);
  if (stats.passes == 0) return;
  out.Begin("fabricd_telemetry_last_pass_seconds",
            "Length of the last pass over all ports that was asked for.");
  out.Add("", stats.last_pass);
}

}  // namespace

void WriteCollector(const query::Telemetry& telemetry, Instant now, SeriesText& out) {
  const telemetry::TelemetryView& view = telemetry.view;
  out.Begin("fabricd_telemetry_state", "1 for the state that the collector is in, else 0.");
  for (const State state : {State::kOff, State::kWaiting, State::kStandby, State::kPolling}) {
    out.Add(Label("state", std::string(StateName(state))), uint64_t{view.state == state});
  }
  if (view.state == State::kOff) return;
  out.Begin("fabricd_telemetry_view_age_seconds",
            "Since the collector published what it knows; all other ages count from then.");
  out.Add("", now - view.started - std::chrono::milliseconds(view.at));
  if (view.interval != 0) {
    out.Begin("fabricd_telemetry_interval_seconds", "How often each port is read.");
    out.Add("", view.interval / 1000.0);
  }
  WriteFreshness(telemetry, out);
  WriteDevices(telemetry, out);
  WriteMads(view.stats, out);
  out.Begin("fabricd_telemetry_memory_bytes", "What the collector keeps.");
  out.Add("kind=\"errors\"", uint64_t{view.log_bytes});
  out.Add("kind=\"history\"", uint64_t{view.history_bytes});
  out.Add("kind=\"records\"", uint64_t{view.record_bytes});
}

}  // namespace fabricd::http
