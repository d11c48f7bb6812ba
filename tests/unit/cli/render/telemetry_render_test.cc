// SPDX-License-Identifier: Apache-2.0
// What operators see of counters, word for word (tests/golden/cli).
#include <cmath>

#include "cli/render/infiniband_text.h"
#include "cli/render/plot.h"
#include "cli/render/telemetry_tables.h"
#include "tests/unit/cli/golden.h"
#include "tests/unit/cli/sample.h"

namespace fabricd::cli::testing {
namespace {

constexpr int64_t kReadMs = 1'700'000'000'000;

template <typename Make>
std::string NarrowAndWide(Make make) {
  return make(false).Render({}) + "\n" + make(true).Render({});
}

pb::ListErrorsResponse SampleErrors() {
  return FromText<pb::ListErrorsResponse>(R"(
    ports { id { node_guid: "0x0000000000200000" node_name: "leaf1" node_type: "SWITCH" number: 3 }
            name: "leaf1/3" lid: 1 guid: "0x0000000000200000" freshness: "FRESH" age_seconds: 12
            peer { node_guid: "0x0000000000100000" node_name: "node1 mlx5_0" number: 1 }
            covered_since { seconds: 1699950000 }
            epoch { number: 1 cause: "FIRST_SEEN" since { seconds: 1699950000 } }
            errors { key: "symbol_errors" name: "SymbolErrorCounter" count: 130
                     first_time { seconds: 1699990000 } last_time { seconds: 1699999400 }
                     source: "PortCountersExtended" }
            errors { key: "link_downed" name: "LinkDownedCounter" count: 2 saturated: true
                     first_time { seconds: 1699999000 } last_time { seconds: 1699999000 }
                     source: "PortCounters" } }
    ports { id { node_guid: "0x0000000000200000" node_name: "leaf1" node_type: "SWITCH" number: 4 }
            name: "leaf1/4" lid: 1 guid: "0x0000000000200000" freshness: "STALE" age_seconds: 100
            covered_since { seconds: 1699950000 } epoch { number: 2 cause: "COUNTER_RESET" }
            errors { key: "symbol_errors" name: "SymbolErrorCounter" count: 4
                     first_time { seconds: 1699999000 } last_time { seconds: 1699999000 }
                     source: "PortCountersExtended" } }
    ports { id { node_guid: "0x0000000000100000" node_name: "node1 mlx5_0" node_type: "CA"
      number: 1 }
            name: "node1 mlx5_0/1" lid: 8 guid: "0x0000000000100001" freshness: "FRESH"
            errors { key: "rcv_errors" name: "PortRcvErrors" count: 7
                     first_time { seconds: 1699999990 } last_time { seconds: 1699999990 }
                     source: "PortCountersExtended" } }
    total_size: 3 ports_checked: 10 ports_not_fresh: 1 nodes_checked: 6)");
}

pb::PortCounters SampleCounters() {
  return FromText<pb::PortCounters>(R"(
    id { node_guid: "0x0000000000200000" node_name: "leaf1" node_type: "SWITCH" number: 3 }
    name: "leaf1/3" lid: 2 capability_mask: 0x1300 freshness: "FRESH" age_seconds: 12
    epoch { number: 2 cause: "COUNTER_RESET" since { seconds: 1699990000 } resets: 1 }
    counters { key: "xmit_data" name: "PortXmitData" total: 4000000000 raw: 18446744073709551615
               source: "PortCountersExtended" age_seconds: 12 }
    counters { key: "symbol_errors" name: "SymbolErrorCounter" total: 130 raw: 65535
               saturated: true source: "PortCounters" age_seconds: 40 }
    counters { key: "link_downed" name: "LinkDownedCounter" source: "PortCountersExtended" }
    counters { key: "rcv_errors" name: "PortRcvErrors" raw: 9223372036854775848 invalid: true
               source: "PortCountersExtended" age_seconds: 12 }
    rates { xmit_bytes { value: 11775000000 freshness: "FRESH" window_seconds: 30 age_seconds: 12
                         source: "PortCountersExtended" }
            rcv_bytes { value: 1250000 freshness: "FRESH" window_seconds: 30 age_seconds: 12
                        source: "PortCountersExtended" }
            utilisation { value: 0.942 freshness: "FRESH" window_seconds: 30 age_seconds: 12
                          source: "PortCountersExtended" }
            wait { freshness: "STALE" window_seconds: 60 age_seconds: 200 source: "PortCounters" }
            symbol_ber { value: 1.2e-12 freshness: "FRESH" window_seconds: 720 age_seconds: 60
                         source: "PPCNT 0x16" }
            effective_ber { value: 3e-15 upper_bound: true freshness: "FRESH" window_seconds: 720
                            age_seconds: 60 source: "PPCNT 0x16" }
            raw_ber { freshness: "NEVER" }
            drop_ratio { freshness: "NEVER" }
            temperature { value: 52.4 freshness: "FRESH" age_seconds: 600
                          source: "PDDR module page" } }
    link_bytes_per_second: 12500000000
    gaps { what: "PPCNT 0x12" reason: "KEYED" } gaps { what: "PPBMC" reason: "UNSUPPORTED" })");
}

pb::ListTopResponse SampleTop() {
  pb::ListTopResponse top = FromText<pb::ListTopResponse>(R"(
    entries { name: "leaf1/3" freshness: "FRESH" ports: 1 ports_fresh: 1 errors: 132
              port { node_guid: "0x0000000000200000" node_name: "leaf1" number: 3 }
              peer { node_guid: "0x0000000000100000" node_name: "node1 mlx5_0" number: 1 } }
    entries { name: "leaf1/4" freshness: "STALE" ports: 1
              rates { xmit_bytes { freshness: "STALE" age_seconds: 100 window_seconds: 30 } } }
    entries { name: "leaf1/5" freshness: "NEVER" ports: 1 }
    total_size: 10 interval_seconds: 30)");
  *top.mutable_entries(0)->mutable_rates() = SampleCounters().rates();
  return top;
}

// An hour of half a sine, in steps of 30 s; the last ten minutes of the peer were not read.
pb::GetPortHistoryResponse SampleHistory() {
  auto history = FromText<pb::GetPortHistoryResponse>(R"(
    name: "leaf1/3" step_seconds: 30 link_bytes_per_second: 50000000000
    peer { node_guid: "0x0000000000100000" node_name: "node1 mlx5_0" number: 1 })");
  for (int i = 0; i < 120; ++i) {
    pb::HistorySample* sample = history.add_samples();
    sample->mutable_time()->set_seconds(1'700'000'000 + 30 * i);
    sample->set_xmit_bytes(45e9 * std::sin(i / 120.0 * 3.14159265));
    if (i < 100) sample->set_rcv_bytes(1e9);
    if (i % 40 == 20)
      sample->set_wait(0.015);
    else
      sample->set_wait(0);
  }
  return history;
}

TEST(TelemetryRenderTest, ErrorsNamePortsWithIncreases) {
  ExpectGolden("errors",
               NarrowAndWide([](bool wide) { return ErrorTable(SampleErrors(), wide, kReadMs); }));
}

TEST(TelemetryRenderTest, ErrorsInTheShapeOfIbqueryerrors) {
  ExpectGolden("errors_ibqueryerrors", ToIbqueryerrors(SampleErrors()));
}

TEST(TelemetryRenderTest, CountersInTheShapeOfPerfquery) {
  ExpectGolden("describe_port_perfquery", ToPerfquery(SampleCounters()));
}

TEST(TelemetryRenderTest, CountersOfAPort) {
  pb::ListErrorsResponse errors = SampleErrors();
  errors.mutable_ports()->DeleteSubrange(1, 2);
  pb::PortCounters never;
  never.set_freshness("NEVER");
  ExpectGolden("describe_port_counters", DescribeCounters(SampleCounters(), errors, kReadMs, {}) +
                                             "\n" + DescribeCounters(never, {}, kReadMs, {}));
}

TEST(TelemetryRenderTest, TopPortsAndSwitches) {
  const std::string ports =
      NarrowAndWide([](bool wide) { return TopTable(SampleTop(), pb::TOP_KIND_PORT, wide); });
  const std::string switches =
      NarrowAndWide([](bool wide) { return TopTable(SampleTop(), pb::TOP_KIND_SWITCH, wide); });
  ExpectGolden("top", ports + "\n" + switches);
}

TEST(TelemetryRenderTest, Inventory) {
  const auto inventory = FromText<pb::ListInventoryResponse>(R"(
    ports { name: "leaf1/3" cable_type: "passive copper" identifier: "OSFP" vendor: "NVIDIA"
            part: "MCP4Y10-N002" serial: "MT2231VB00391" length_metres: 2 max_power_watts: 1.5
            temperature { value: 81.2 freshness: "FRESH" } temperature_alarm_high: 80
            temperature_alarm_low: -10 fec: "RS(544,514) + PLR" monitor: "WARNING"
            link_down_reason: "cable unplugged" age_seconds: 600
            peer { node_guid: "0x0000000000100000" node_name: "node1 mlx5_0" number: 1 } }
    ports { name: "leaf1/4" })");
  ExpectGolden("inventory",
               NarrowAndWide([&](bool wide) { return InventoryTable(inventory, wide); }));
}

TEST(TelemetryRenderTest, JobsHaveTheirWorstPorts) {
  const auto job = FromText<pb::GetJobViewResponse>(R"(
    hosts: 2 ports: 10
    worst { measure: "wait" name: "leaf2/3" place: "PATH" text: "had data and no credits"
            port { node_guid: "0x0000000000200100" node_name: "leaf2" number: 3 }
            peer { node_guid: "0x0000000000200200" node_name: "spine" number: 2 }
            value { value: 0.25 freshness: "FRESH" window_seconds: 30 age_seconds: 10
                    source: "PortCountersExtended" } ports_measured: 7 }
    worst { measure: "errors" name: "leaf1/1" place: "EDGE" text: "symbol_errors=100"
            port { node_guid: "0x0000000000200000" node_name: "leaf1" number: 1 }
            value { value: 100 freshness: "FRESH" window_seconds: 3600 age_seconds: 10 }
            ports_measured: 7 }
    worst { measure: "drop_ratio" text: "not known of any port" })");
  ExpectGolden("job", NarrowAndWide([&](bool wide) { return JobTable(job, wide); }));
}

TEST(TelemetryRenderTest, StatusOfTheCollector) {
  const auto status = FromText<pb::GetTelemetryStatusResponse>(R"(
    state: "POLLING" interval_seconds: 30 uptime_seconds: 7200 passes: 240 last_pass_seconds: 1.25
    ports: 10 ports_fresh: 7 ports_stale: 1 ports_never: 2 ports_saturated: 1 devices: 6
    devices_responding: 5 record_bytes: 1048576 log_bytes: 2000 history_bytes: 3000000
    requests: 2000 responses: 1990 timeouts: 10 timeouts_voided: 4 window: 128
    gaps { gap { what: "PPCNT 0x16" reason: "KEYED" } devices: 1 })");
  const auto gaps = FromText<pb::ListMeasurementGapsResponse>(R"(
    devices { node_name: "node1 mlx5_1" node_type: "CA" answered_seconds_ago: 10
              gaps { what: "PPCNT 0x16" reason: "KEYED" } gaps { what: "PPBMC" reason: "KEYED" } }
    devices { node_name: "spine" node_type: "SWITCH"
              gaps { what: "PortCounters" reason: "NO_ANSWER" } })");
  ExpectGolden("telemetry", NarrowAndWide([&](bool wide) { return TelemetryTable(status, wide); }) +
                                "\n" + DescribeTelemetry(status, gaps, {}));
}

TEST(TelemetryRenderTest, AHistoryIsPlotted) {
  ExpectGolden("history", PlotHistory(SampleHistory(), {80, false}) + "\n" +
                              PlotHistory(SampleHistory(), {60, true}));
}

TEST(TelemetryRenderTest, AHistoryWithoutTrafficOrReadingsIsPlottedToo) {
  auto quiet = SampleHistory();
  for (auto& sample : *quiet.mutable_samples()) {
    sample.set_xmit_bytes(0);
    sample.clear_rcv_bytes();
    sample.clear_wait();
  }
  pb::GetPortHistoryResponse none;
  ExpectGolden("history_quiet",
               PlotHistory(quiet, {40, true}) + "\n" + PlotHistory(none, {0, true}));
}

TEST(TelemetryRenderTest, MissingValuesAreNotRenderedAsZero) {
  pb::Measurement none, zero;
  zero.set_value(0);
  EXPECT_EQ(GbpsText(none), "-");
  EXPECT_EQ(GbpsText(zero), "0");
  EXPECT_EQ(ShareText(none), "-");
  EXPECT_EQ(ShareText(zero), "0.0%");
  EXPECT_EQ(RatioText(none), "-");
  EXPECT_EQ(AgeCell("UNKNOWN", 600).text, "unknown 10m");
  EXPECT_EQ(AgeCell("NEVER", 0).text, "never");
}

}  // namespace
}  // namespace fabricd::cli::testing
