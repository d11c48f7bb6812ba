// SPDX-License-Identifier: Apache-2.0
// /metrics of a small fabric, line by line.
#include "daemon/http/metrics.h"

#include <map>
#include <set>
#include <string>

#include <absl/strings/str_split.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/daemon/rpc/sample_telemetry.h"

namespace fabricd::http {
namespace {

using rpc::testing::SmallFabric;
using rpc::testing::TelemetryMaker;
using telemetry::Counter;
using telemetry::Millis;
using testing::Contains;
using testing::HasSubstr;
using testing::Key;
using testing::Not;
using testing::Pair;

// leaf1/1 is busy and has errors, leaf1/3 is stale (rpc/sample_telemetry.h).
class MetricsTest : public testing::Test {
 protected:
  static std::string Switch(const std::string& suffix, const char* guid, int port,
                            const std::string& more = "") {
    return fmt::format("infiniband_switch_port_{}{{guid=\"{}\",port=\"{}\"{}}}", suffix, guid, port,
                       more);
  }
  std::string Text() {
    backend.telemetry_view = sample.Make();
    return MetricsText({&backend, "1.2.3", nullptr, {}});
  }
  // Series -> value, as it is written.
  std::map<std::string, std::string> Series() {
    std::map<std::string, std::string> series;
    for (const auto& line : absl::StrSplit(Text(), '\n', absl::SkipEmpty())) {
      const std::string text(line);
      if (text[0] == '#') continue;
      const size_t space = text.rfind(' ');
      EXPECT_TRUE(series.emplace(text.substr(0, space), text.substr(space + 1)).second) << text;
    }
    return series;
  }
  void Configure(const std::string& metrics, const std::string& counters) {
    config::Config config;
    config.telemetry.metrics = metrics;
    config.telemetry.metrics_counters = counters;
    backend.keeper =
        std::make_unique<daemon::ConfigKeeper>(config, "", daemon::ConfigKeeper::Hooks{});
  }

  static constexpr const char* kLeaf1 = "0x0000000000200000";
  static constexpr const char* kLeaf2 = "0x0000000000200100";
  SmallFabric fabric;
  std::shared_ptr<const sweep::FabricView> view = fabric.View();
  TelemetryMaker sample = rpc::testing::SampleTelemetry(fabric, view->snapshot);
  rpc::testing::FakeBackend backend{view};
};

TEST_F(MetricsTest, CountersAreTotalsAndDataIsInBytes) {
  const auto series = Series();
  EXPECT_THAT(series,
              Contains(Pair(Switch("transmit_data_bytes_total", kLeaf1, 1), "16000000000000")));
  EXPECT_THAT(series, Contains(Pair(Switch("symbol_error_total", kLeaf1, 1), "130")));
  EXPECT_THAT(series, Contains(Pair(Switch("counters_reset_total", kLeaf2, 1), "1")));
  // An HCA goes by its port GUID.
  EXPECT_THAT(series, Contains(Pair("infiniband_hca_port_transmit_packets_total"
                                    "{guid=\"0x0000000000100001\",port=\"1\"}",
                                    "0")));
}

TEST_F(MetricsTest, GaugesAreOfFreshReadings) {
  const auto series = Series();
  EXPECT_THAT(series, Contains(Pair(Switch("transmit_wait_ratio", kLeaf1, 1),
                                    testing::StartsWith("0.0199999"))));
  EXPECT_THAT(series, Contains(Pair(Switch("utilisation_ratio", kLeaf1, 1), "0.6")));
  EXPECT_THAT(series, Contains(Pair(Switch("sample_age_seconds", kLeaf1, 1), "10")));
  EXPECT_THAT(series, Contains(Pair("infiniband_hca_port_module_temperature_celsius"
                                    "{guid=\"0x0000000000100201\",port=\"1\"}",
                                    "52")));
}

TEST_F(MetricsTest, AnUpperBoundIsNoErrorRatio) {
  const auto series = Series();
  EXPECT_THAT(series, Contains(Pair(Switch("symbol_ber", kLeaf1, 1), "1e-12")));
  EXPECT_THAT(series, Not(Contains(Key(Switch("symbol_ber_upper_bound", kLeaf1, 1)))));
  const std::string hca = "{guid=\"0x0000000000100001\",port=\"1\"}";
  EXPECT_THAT(series, Contains(Pair("infiniband_hca_port_symbol_ber_upper_bound" + hca, "3e-14")));
  EXPECT_THAT(series, Not(Contains(Key("infiniband_hca_port_symbol_ber" + hca))));
  EXPECT_THAT(Text(), Not(HasSubstr("effective_ber")));
}

TEST_F(MetricsTest, OfAStalePortGaugesAreAbsent) {
  const auto series = Series();
  EXPECT_THAT(series, Contains(Key(Switch("transmit_packets_total", kLeaf1, 3))));
  EXPECT_THAT(series, Contains(Pair(Switch("sample_age_seconds", kLeaf1, 3), "100")));
  EXPECT_THAT(series, Not(Contains(Key(Switch("transmit_wait_ratio", kLeaf1, 3)))));
  EXPECT_THAT(series, Not(Contains(Key(Switch("utilisation_ratio", kLeaf1, 3)))));
}

TEST_F(MetricsTest, OfAnUnknownPortNothingButItsAgeIsLeft) {
  sample.Port(fabric.leaf1, 3).read_at[0] = TelemetryMaker::kNow - 301'000;
  const auto series = Series();
  EXPECT_THAT(series, Contains(Pair(Switch("sample_age_seconds", kLeaf1, 3), "301")));
  EXPECT_THAT(series, Not(Contains(Key(Switch("transmit_packets_total", kLeaf1, 3)))));
  EXPECT_THAT(series, Not(Contains(Key(Switch("counters_reset_total", kLeaf1, 3)))));
  EXPECT_THAT(series, Not(Contains(Key(Switch("utilisation_ratio", kLeaf1, 3)))));
}

TEST_F(MetricsTest, UnmeasuredCountersAreAbsent) {
  telemetry::PortRecord& record = sample.Port(fabric.leaf1, 1);
  record.measured.Remove(Counter::kQp1Dropped);
  record.invalid.Add(Counter::kRcvErrors);
  const auto series = Series();
  EXPECT_THAT(series, Not(Contains(Key(Switch("qp1_dropped_total", kLeaf1, 1)))));
  EXPECT_THAT(series, Not(Contains(Key(Switch("receive_errors_total", kLeaf1, 1)))));
  EXPECT_THAT(series, Not(Contains(Key(Switch("dli_mapping_errors_total", kLeaf1, 1)))));
  EXPECT_THAT(series, Contains(Key(Switch("vl15_dropped_total", kLeaf1, 1))));
  // A port that was never read.
  EXPECT_THAT(Text(), Not(HasSubstr("_total{guid=\"0x0000000000200200\"")));
}

TEST_F(MetricsTest, OnlySaturatedCountersAreMarked) {
  const auto series = Series();
  EXPECT_THAT(
      series,
      Contains(Pair(Switch("counter_saturated", kLeaf1, 1, ",counter=\"link_downed\""), "1")));
  EXPECT_THAT(Text(), Not(HasSubstr("counter_saturated{guid=\"0x0000000000200100\"")));
}

TEST_F(MetricsTest, APortThatIsDownHasNoGauges) {
  sample.Port(fabric.leaf1, 4).wait = {0.5F, TelemetryMaker::kLastRead, 30'000};
  const auto series = Series();
  EXPECT_THAT(series, Contains(Key(Switch("transmit_packets_total", kLeaf1, 4))));
  EXPECT_THAT(series, Not(Contains(Key(Switch("transmit_wait_ratio", kLeaf1, 4)))));
  EXPECT_THAT(series, Not(Contains(Key(Switch("sample_age_seconds", kLeaf1, 4)))));
}

TEST_F(MetricsTest, TheConfigurationSelectsPortsAndCounters) {
  sample.Port(fabric.leaf1, 1).measured.Add(Counter::kRcvLoopingErrors);
  EXPECT_THAT(Text(), HasSubstr("infiniband_switch_port_looping_errors_total{"));
  Configure("switches", "main");
  EXPECT_THAT(Text(), HasSubstr("infiniband_switch_port_receive_packets_total{"));
  EXPECT_THAT(Text(), Not(HasSubstr("infiniband_switch_port_looping_errors_total{")));
  EXPECT_THAT(Text(), Not(HasSubstr("unicast")));
  EXPECT_THAT(Text(), Not(HasSubstr("infiniband_hca_port_receive_packets_total{")));
  EXPECT_THAT(Text(), HasSubstr("infiniband_hca_port_state_id{"));
  Configure("none", "all");
  EXPECT_THAT(Text(), Not(HasSubstr("_packets_total{")));
  EXPECT_THAT(Text(), Not(HasSubstr("_port_sample_age_seconds{")));
  EXPECT_THAT(Text(), HasSubstr("fabricd_telemetry_ports{"));
}

TEST_F(MetricsTest, HasTheStatisticsOfTheCollector) {
  constexpr auto kAsk = static_cast<size_t>(telemetry::Ask::kExtended);
  sample.view.stats.responses_by_ask[kAsk] = 1'895;
  sample.view.stats.refused_by_ask[kAsk] = 5;
  sample.view.stats.timeouts_by_ask[kAsk] = 4;
  const auto series = Series();
  EXPECT_EQ(series.at("fabricd_telemetry_state{state=\"POLLING\"}"), "1");
  EXPECT_EQ(series.at("fabricd_telemetry_state{state=\"STANDBY\"}"), "0");
  EXPECT_EQ(series.at("fabricd_telemetry_interval_seconds"), "30");
  EXPECT_EQ(series.at("fabricd_telemetry_ports{freshness=\"FRESH\"}"), "7");
  EXPECT_EQ(series.at("fabricd_telemetry_ports{freshness=\"STALE\"}"), "1");
  EXPECT_EQ(series.at("fabricd_telemetry_ports{freshness=\"NEVER\"}"), "2");
  EXPECT_EQ(series.at("fabricd_telemetry_devices{responds=\"true\"}"), "5");
  EXPECT_EQ(series.at("fabricd_telemetry_devices{responds=\"false\"}"), "1");
  EXPECT_EQ(series.at("fabricd_telemetry_not_measured{attr=\"PPCNT 0x16\",reason=\"KEYED\"}"), "1");
  const std::string mads =
      "fabricd_telemetry_mads_total{class=\"Perf\",attr=\"PortCountersExtended\",result=";
  EXPECT_EQ(series.at(mads + "\"answered\"}"), "1890");
  EXPECT_EQ(series.at(mads + "\"refused\"}"), "5");
  EXPECT_EQ(series.at(mads + "\"timeout\"}"), "4");
  EXPECT_EQ(series.at("fabricd_telemetry_memory_bytes{kind=\"records\"}"), "1048576");
  EXPECT_THAT(series, Contains(Key("fabricd_telemetry_last_pass_seconds")));
}

TEST_F(MetricsTest, ACollectorThatIsOffHasOnlyItsState) {
  sample.view = {};
  sample.view.state = telemetry::State::kOff;
  EXPECT_EQ(Series().at("fabricd_telemetry_state{state=\"OFF\"}"), "1");
  EXPECT_THAT(Text(), Not(HasSubstr("fabricd_telemetry_ports{")));
  EXPECT_THAT(Text(), Not(HasSubstr("_packets_total{")));
}

TEST_F(MetricsTest, EachFamilyAppearsOnce) {
  std::set<std::string> seen;
  std::string family;
  for (const auto& line : absl::StrSplit(Text(), '\n', absl::SkipEmpty())) {
    const std::string text(line);
    if (text.rfind("# HELP ", 0) == 0) continue;
    if (text.rfind("# TYPE ", 0) == 0) {
      family = text.substr(7, text.find(' ', 7) - 7);
      EXPECT_TRUE(seen.insert(family).second) << family;
    } else {
      EXPECT_EQ(text.substr(0, text.find_first_of("{ ")), family);
    }
  }
  EXPECT_GT(seen.size(), 60u);
}

TEST_F(MetricsTest, StatesNamesAndNeighbours) {
  const auto series = Series();
  EXPECT_EQ(series.at(Switch("state_id", kLeaf1, 1)), "4");
  EXPECT_EQ(series.at(Switch("state_id", kLeaf1, 4)), "1");
  EXPECT_EQ(series.at(Switch("width", kLeaf1, 1)), "4");
  EXPECT_THAT(series, Not(Contains(Key(Switch("width", kLeaf1, 4)))));
  EXPECT_EQ(series.at(Switch("rate_bytes_per_second", kLeaf1, 1)), "12500000000");
  EXPECT_EQ(
      series.at("infiniband_switch_info{guid=\"0x0000000000200000\",switch=\"leaf1\",lid=\"1\"}"),
      "1");
  EXPECT_EQ(series.at("infiniband_switch_uplink_info{guid=\"0x0000000000200000\",port=\"1\","
                      "switch=\"leaf1\",uplink=\"node1 mlx5_0\",uplink_guid=\"0x0000000000100001\","
                      "uplink_type=\"CA\",uplink_port=\"1\",uplink_lid=\"4\"}"),
            "1");
}

}  // namespace
}  // namespace fabricd::http
