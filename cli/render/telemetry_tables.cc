// SPDX-License-Identifier: Apache-2.0
#include "cli/render/telemetry_tables.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>

#include "cli/render/output.h"
#include "cli/render/policy_tables.h"
#include "cli/render/tables.h"

namespace fabricd::cli {
namespace {

using google::protobuf::util::TimeUtil;

constexpr double kBitsOfByte = 8, kGiga = 1e9;

std::string Seconds(double seconds) { return SpanText(static_cast<int64_t>(seconds * 1000)); }

std::string AgoText(const google::protobuf::Timestamp& time, int64_t now_ms) {
  return SpanText(std::max<int64_t>(0, now_ms - TimeUtil::TimestampToMilliseconds(time)));
}

// "symbol_errors=12 link_downed>=255"
std::string ErrorList(const pb::PortErrors& port) {
  std::string text;
  for (const pb::ErrorCount& error : port.errors()) {
    text += fmt::format("{}{}{}={:.0f}", text.empty() ? "" : " ", error.key(),
                        error.saturated() ? ">" : "", error.count());
  }
  return text;
}

std::string SourcesOfErrors(const pb::PortErrors& port) {
  std::vector<std::string> sources;
  for (const pb::ErrorCount& error : port.errors())
    if (std::find(sources.begin(), sources.end(), error.source()) == sources.end())
      sources.push_back(error.source());
  return fmt::format("{}", fmt::join(sources, ","));
}

std::string EpochText(const pb::CounterEpoch& epoch) {
  return fmt::format("{} {}", epoch.number(), epoch.cause());
}

std::string Celsius(const pb::Measurement& temperature) {
  return temperature.has_value() ? fmt::format("{:.0f}C", temperature.value()) : "-";
}

std::string Packets(const pb::Measurement& packets) {
  return packets.has_value() ? fmt::format("{:.3g}", packets.value()) : "-";
}

Cell ErrorCell(double errors) {
  return {fmt::format("{:.0f}", errors), errors > 0 ? Tone::kWarning : Tone::kPlain};
}

std::string Bytes(double bytes) {
  return bytes < 1e6 ? fmt::format("{:.0f} kB", bytes / 1e3)
                     : fmt::format("{:.1f} MB", bytes / 1e6);
}

std::string PeerText(const pb::PortId& peer) { return OrDash(PortText(peer)); }

// Of values that mean something to everybody; others as they are.
std::string MeasureText(const pb::WorstPort& worst) {
  if (!worst.value().has_value() || !worst.has_port()) return "-";
  if (worst.measure() == "errors") return fmt::format("{:.0f}", worst.value().value());
  if (worst.measure() == "symbol_ber" || worst.measure() == "drop_ratio")
    return RatioText(worst.value());
  return ShareText(worst.value());
}

// One row for each rate.
Table RateTable(const pb::PortCounters& port) {
  Table table({"RATE", "VALUE", "WINDOW", "AGE", "SOURCE"});
  const auto add = [&](const char* name, const pb::Measurement& measure, const std::string& text) {
    if (measure.freshness().empty() || measure.freshness() == "NEVER") return;
    table.AddRow({name, text,
                  measure.window_seconds() > 0 ? Seconds(measure.window_seconds()) : "-",
                  AgeCell(measure.freshness(), measure.age_seconds()), OrDash(measure.source())});
  };
  const auto gbps = [](const pb::Measurement& measure) {
    return measure.has_value() ? GbpsText(measure) + " Gb/s" : "-";
  };
  const auto packets = [](const pb::Measurement& measure) {
    return measure.has_value() ? Packets(measure) + " packets/s" : "-";
  };
  const pb::Rates& rates = port.rates();
  add("sent", rates.xmit_bytes(), gbps(rates.xmit_bytes()));
  add("received", rates.rcv_bytes(), gbps(rates.rcv_bytes()));
  add("sent packets", rates.xmit_packets(), packets(rates.xmit_packets()));
  add("received packets", rates.rcv_packets(), packets(rates.rcv_packets()));
  add("utilisation", rates.utilisation(), ShareText(rates.utilisation()));
  add("wait", rates.wait(), ShareText(rates.wait()));
  add("symbol BER", rates.symbol_ber(), RatioText(rates.symbol_ber()));
  add("effective BER", rates.effective_ber(), RatioText(rates.effective_ber()));
  add("raw BER", rates.raw_ber(), RatioText(rates.raw_ber()));
  add("drop ratio", rates.drop_ratio(), RatioText(rates.drop_ratio()));
  add("temperature", rates.temperature(), Celsius(rates.temperature()));
  return table;
}

// Those that are not 0.
Table CounterTable(const pb::PortCounters& port) {
  Table table({"COUNTER", "TOTAL", "DEVICE-HAS", "AGE", "SOURCE"});
  for (const pb::Counter& counter : port.counters()) {
    if (counter.total() == 0 && counter.raw() == 0) continue;
    table.AddRow({counter.key(),
                  fmt::format("{}{:.0f}", counter.saturated() ? ">=" : "", counter.total()),
                  counter.invalid() ? "invalid" : fmt::format("{}", counter.raw()),
                  Seconds(counter.age_seconds()), counter.source()});
  }
  return table;
}

std::string GapText(const google::protobuf::RepeatedPtrField<pb::MeasurementGap>& gaps) {
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const pb::MeasurementGap& gap : gaps) by_reason[gap.reason()].push_back(gap.what());
  std::string text;
  for (const auto& [reason, what] : by_reason)
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", reason, fmt::join(what, ", "));
  return text;
}

std::string TextLine(const std::string& key, const std::string& value) {
  return value.empty() ? "" : fmt::format("{:>18}: {}\n", key, OneLine(value));
}

std::string TextBlock(const std::string& title, const Table& table, const TableStyle& style) {
  return table.size() == 0 ? "" : fmt::format("\n{}:\n{}", title, table.Render(style));
}

Cell TelemetryState(const pb::GetTelemetryStatusResponse& status) {
  return {status.state(), status.state() == "POLLING" ? Tone::kGood : Tone::kWarning};
}

}  // namespace

std::string OrDash(std::string text) { return text.empty() ? "-" : std::move(text); }

std::string GbpsText(const pb::Measurement& bytes) {
  if (!bytes.has_value()) return "-";
  const double gbps = bytes.value() * kBitsOfByte / kGiga;
  if (gbps == 0) return "0";
  if (gbps < 0.01) return fmt::format("{:.1e}", gbps);
  return gbps < 10 ? fmt::format("{:.2f}", gbps) : fmt::format("{:.1f}", gbps);
}

std::string ShareText(const pb::Measurement& share) {
  if (!share.has_value()) return "-";
  const double percent = share.value() * 100;
  return percent < 1 && percent > 0 ? fmt::format("{:.2g}%", percent)
                                    : fmt::format("{:.1f}%", percent);
}

std::string RatioText(const pb::Measurement& ratio) {
  if (!ratio.has_value()) return "-";
  return fmt::format("{}{:.1e}", ratio.upper_bound() ? "<" : "", ratio.value());
}

Cell AgeCell(const std::string& freshness, double age_seconds) {
  if (freshness == "FRESH") return Seconds(age_seconds);
  if (freshness.empty() || freshness == "NEVER") return {"never", Tone::kWarning};
  return {fmt::format("{} {}", freshness == "STALE" ? "stale" : "unknown", Seconds(age_seconds)),
          Tone::kWarning};
}

Table ErrorTable(const pb::ListErrorsResponse& errors, bool wide, int64_t now_ms) {
  std::vector<std::string> headers = {"PORT", "ERRORS", "LAST", "PEER"};
  if (wide) headers.insert(headers.end(), {"FIRST", "COVERED", "EPOCH", "AGE", "SOURCE"});
  Table table(headers);
  for (const pb::PortErrors& port : errors.ports()) {
    const google::protobuf::Timestamp *first = nullptr, *last = nullptr;
    for (const pb::ErrorCount& error : port.errors()) {
      if (first == nullptr || error.first_time() < *first) first = &error.first_time();
      if (last == nullptr || *last < error.last_time()) last = &error.last_time();
    }
    std::vector<Cell> row = {port.name(), OrDash(ErrorList(port)),
                             last ? AgoText(*last, now_ms) : "-", PeerText(port.peer())};
    if (wide) {
      row.insert(row.end(), {first ? Cell(AgoText(*first, now_ms)) : Cell("-"),
                             port.has_covered_since() ? Cell(AgoText(port.covered_since(), now_ms))
                                                      : Cell("-"),
                             EpochText(port.epoch()), AgeCell(port.freshness(), port.age_seconds()),
                             OrDash(SourcesOfErrors(port))});
    }
    table.AddRow(std::move(row));
  }
  return table;
}

Table TopTable(const pb::ListTopResponse& top, pb::TopKind kind, bool wide) {
  const bool has_peer = kind == pb::TOP_KIND_PORT || kind == pb::TOP_KIND_LINK;
  std::vector<std::string> headers = {"NAME", "XMIT-GBPS", "RCV-GBPS", "UTIL",
                                      "WAIT", "ERRORS",    "BER",      "AGE"};
  headers.push_back(has_peer ? "PEER" : "PORTS");
  if (wide)
    headers.insert(headers.end(), {"XMIT-PKTS", "RCV-PKTS", "DROPS", "TEMP", "WINDOW", "SOURCE"});
  if (wide && !has_peer) headers.push_back("BUSIEST");
  Table table(headers);
  for (const pb::TopEntry& entry : top.entries()) {
    const pb::Rates& rates = entry.rates();
    std::vector<Cell> row = {entry.name(),
                             GbpsText(rates.xmit_bytes()),
                             GbpsText(rates.rcv_bytes()),
                             ShareText(rates.utilisation()),
                             ShareText(rates.wait()),
                             entry.ports_fresh() == 0 ? Cell("-") : ErrorCell(entry.errors()),
                             RatioText(rates.symbol_ber()),
                             AgeCell(entry.freshness(), rates.xmit_bytes().age_seconds()),
                             has_peer ? PeerText(entry.peer())
                                      : fmt::format("{}/{}", entry.ports_fresh(), entry.ports())};
    if (wide) {
      row.insert(row.end(), {Packets(rates.xmit_packets()), Packets(rates.rcv_packets()),
                             RatioText(rates.drop_ratio()), Celsius(rates.temperature()),
                             rates.xmit_bytes().window_seconds() > 0
                                 ? Seconds(rates.xmit_bytes().window_seconds())
                                 : "-",
                             OrDash(rates.xmit_bytes().source())});
    }
    if (wide && !has_peer) row.emplace_back(PeerText(entry.port()));
    table.AddRow(std::move(row));
  }
  return table;
}

Table InventoryTable(const pb::ListInventoryResponse& inventory, bool wide) {
  std::vector<std::string> headers = {"PORT",   "TYPE", "VENDOR", "PART", "SERIAL",
                                      "LENGTH", "TEMP", "POWER",  "FEC"};
  if (wide)
    headers.insert(headers.end(), {"IDENTIFIER", "ALARM", "MONITOR", "LAST-DOWN", "PEER", "AGE"});
  Table table(headers);
  for (const pb::PortInventory& port : inventory.ports()) {
    const Tone tone = port.has_temperature_alarm_high() && port.temperature().has_value() &&
                              port.temperature().value() >= port.temperature_alarm_high()
                          ? Tone::kBad
                          : Tone::kPlain;
    std::vector<Cell> row = {
        port.name(),
        OrDash(port.cable_type()),
        OrDash(port.vendor()),
        OrDash(port.part()),
        OrDash(port.serial()),
        port.has_length_metres() ? fmt::format("{:g}m", port.length_metres()) : "-",
        Cell(Celsius(port.temperature()), tone),
        port.has_max_power_watts() ? fmt::format("{:g}W", port.max_power_watts()) : "-",
        OrDash(port.fec())};
    if (wide) {
      row.insert(row.end(),
                 {Cell(OrDash(port.identifier())),
                  port.has_temperature_alarm_high()
                      ? Cell(fmt::format("{:.0f}..{:.0f}C", port.temperature_alarm_low(),
                                         port.temperature_alarm_high()))
                      : Cell("-"),
                  Cell(OrDash(port.monitor()), port.monitor() == "ALARM"     ? Tone::kBad
                                               : port.monitor() == "WARNING" ? Tone::kWarning
                                                                             : Tone::kPlain),
                  Cell(OrDash(port.link_down_reason())), Cell(PeerText(port.peer())),
                  port.has_age_seconds() ? Cell(Seconds(port.age_seconds())) : Cell("never")});
    }
    table.AddRow(std::move(row));
  }
  return table;
}

Table JobTable(const pb::GetJobViewResponse& job, bool wide) {
  std::vector<std::string> headers = {"MEASURE", "WORST", "PORT", "PLACE", "PEER", "WHAT"};
  if (wide) headers.insert(headers.end(), {"WINDOW", "AGE", "SOURCE", "MEASURED"});
  Table table(headers);
  for (const pb::WorstPort& worst : job.worst()) {
    std::vector<Cell> row = {worst.measure(),       MeasureText(worst),     OrDash(worst.name()),
                             OrDash(worst.place()), PeerText(worst.peer()), worst.text()};
    if (wide) {
      const pb::Measurement& value = worst.value();
      row.insert(row.end(),
                 {value.window_seconds() > 0 ? Cell(Seconds(value.window_seconds())) : Cell("-"),
                  worst.has_port() ? AgeCell(value.freshness(), value.age_seconds()) : Cell("-"),
                  Cell(OrDash(value.source())),
                  Cell(fmt::format("{}/{}", worst.ports_measured(), job.ports()))});
    }
    table.AddRow(std::move(row));
  }
  return table;
}

Table HistoryTable(const pb::GetPortHistoryResponse& history) {
  Table table({"TIME", "XMIT-GBPS", "RCV-GBPS", "WAIT"});
  const auto gbps = [](bool has, double bytes) {
    pb::Measurement measure;
    if (has) measure.set_value(bytes);
    return GbpsText(measure);
  };
  for (const pb::HistorySample& sample : history.samples()) {
    pb::Measurement wait;
    if (sample.has_wait()) wait.set_value(sample.wait());
    table.AddRow({TimeText(sample.time()), gbps(sample.has_xmit_bytes(), sample.xmit_bytes()),
                  gbps(sample.has_rcv_bytes(), sample.rcv_bytes()), ShareText(wait)});
  }
  return table;
}

Table TelemetryTable(const pb::GetTelemetryStatusResponse& status, bool wide) {
  std::vector<std::string> headers = {"STATE", "INTERVAL",  "PORTS",   "FRESH",  "STALE",
                                      "NEVER", "SATURATED", "DEVICES", "PASSES", "MEMORY"};
  if (wide)
    headers.insert(headers.end(), {"REQUESTS", "TIMEOUTS", "BAD-SAMPLES", "RESETS", "GAPS"});
  Table table(headers);
  std::vector<Cell> row = {
      TelemetryState(status),
      Seconds(status.interval_seconds()),
      fmt::format("{}", status.ports()),
      fmt::format("{}", status.ports_fresh()),
      fmt::format("{}", status.ports_stale() + status.ports_unknown()),
      fmt::format("{}", status.ports_never()),
      fmt::format("{}", status.ports_saturated()),
      fmt::format("{}/{}", status.devices_responding(), status.devices()),
      fmt::format("{:.0f}", status.passes()),
      Bytes(status.record_bytes() + status.log_bytes() + status.history_bytes())};
  if (wide) {
    row.insert(row.end(),
               {fmt::format("{:.0f}", status.requests()), fmt::format("{:.0f}", status.timeouts()),
                fmt::format("{:.0f}", status.bad_samples()), fmt::format("{:.0f}", status.resets()),
                fmt::format("{}", status.gaps_size())});
  }
  table.AddRow(std::move(row));
  return table;
}

std::string DescribeTelemetry(const pb::GetTelemetryStatusResponse& status,
                              const pb::ListMeasurementGapsResponse& gaps,
                              const TableStyle& style) {
  std::string text =
      fmt::format("{} telemetry — {}\n", Colored({"●", TelemetryState(status).tone}, style.color),
                  Colored(TelemetryState(status), style.color));
  text += TextLine("Interval", Seconds(status.interval_seconds()));
  text += TextLine("Running for", Seconds(status.uptime_seconds()));
  text += TextLine("Ports", fmt::format("{} active: {} fresh, {} stale, {} unknown, {} never read",
                                        status.ports(), status.ports_fresh(), status.ports_stale(),
                                        status.ports_unknown(), status.ports_never()));
  text += TextLine("Saturated",
                   fmt::format("{} ports with a counter at its maximum", status.ports_saturated()));
  text += TextLine("Devices", fmt::format("{} of {} answer performance management",
                                          status.devices_responding(), status.devices()));
  std::string passes = fmt::format("{:.0f}", status.passes());
  if (status.last_pass_seconds() > 0)
    passes += fmt::format(", the last on demand in {:.2f} s", status.last_pass_seconds());
  text += TextLine("Passes", passes);
  text += TextLine("MADs", fmt::format("{:.0f} sent, {:.0f} received, {:.0f} refused, {:.0f} timed "
                                       "out ({:.0f} of them while tables changed)",
                                       status.requests(), status.responses(), status.refused(),
                                       status.timeouts(), status.timeouts_voided()));
  text += TextLine("Window",
                   fmt::format("{} requests, {} outstanding", status.window(), status.in_flight()));
  text += TextLine("Readings", fmt::format("{:.0f} discarded, {:.0f} resets of counters seen",
                                           status.bad_samples(), status.resets()));
  text += TextLine("Memory",
                   fmt::format("{} values, {} errors, {} history", Bytes(status.record_bytes()),
                               Bytes(status.log_bytes()), Bytes(status.history_bytes())));
  Table not_measured({"NOT-MEASURED", "REASON", "DEVICES"});
  for (const pb::GapCount& count : status.gaps())
    not_measured.AddRow(
        {count.gap().what(), count.gap().reason(), fmt::format("{}", count.devices())});
  text += TextBlock("What is not measured", not_measured, style);
  // Devices that lack the same are of one kind mostly.
  std::map<std::string, std::vector<std::string>> nodes_by_gaps;
  for (const pb::DeviceGaps& device : gaps.devices())
    nodes_by_gaps[GapText(device.gaps())].push_back(device.node_name());
  Table devices({"NOT-MEASURED", "DEVICES", "NODES"});
  for (auto& [what, nodes] : nodes_by_gaps) {
    constexpr size_t kMost = 4;
    const size_t count = nodes.size();
    nodes.resize(std::min(count, kMost));
    std::string names = fmt::format("{}", fmt::join(nodes, ", "));
    if (count > kMost) names += fmt::format(" and {} more", count - kMost);
    devices.AddRow({what, fmt::format("{}", count), names});
  }
  text += TextBlock("Devices that lack something", devices, style);
  return text;
}

std::string DescribeCounters(const pb::PortCounters& port, const pb::ListErrorsResponse& errors,
                             int64_t now_ms, const TableStyle& style) {
  const Cell age = AgeCell(port.freshness(), port.age_seconds());
  std::string text =
      TextLine("Counters",
               port.freshness() == "NEVER" ? "never read" : fmt::format("read {} ago", age.text));
  if (port.has_epoch()) {
    text += TextLine("Epoch", fmt::format("{}, since {} ({}); {} resets seen",
                                          port.epoch().number(), TimeText(port.epoch().since()),
                                          port.epoch().cause(), port.epoch().resets()));
  }
  text += TextLine("Not measured", GapText(port.gaps()));
  text += TextBlock("Rates", RateTable(port), style);
  text += TextBlock("Counters that are not 0", CounterTable(port), style);
  if (errors.ports_size() > 0)
    text += TextBlock("Errors of the last 24 hours", ErrorTable(errors, true, now_ms), style);
  return text;
}

}  // namespace fabricd::cli
