// SPDX-License-Identifier: Apache-2.0
// Causes that happen to a fabric which fabricd runs and telemetry polls, in virtual time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "common/status.h"
#include "sim/generate/generate.h"
#include "sim/verdicts/assessing_source.h"
#include "sim/verdicts/report.h"
#include "sim/verdicts/scenario_run.h"

namespace fabricd::sim {
namespace {

using std::chrono::duration_cast;
using std::chrono::seconds;
using telemetry::Counter;
using telemetry::TelemetryView;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr const char* kFabric = "superpod:sus=2,hosts=4,rails=2,radix=8";

// Concludes what it is given to.
class Double : public VerdictSource {
 public:
  using Rule = std::function<std::vector<Concluded>(const TelemetryView&)>;
  explicit Double(Rule rule = nullptr) : rule_(std::move(rule)) {}
  Looked Look(const TelemetryView& view, Instant now) override {
    last = std::make_shared<TelemetryView>(view);
    times.push_back(now);
    return {rule_ ? rule_(view) : std::vector<Concluded>(), {}, {}};
  }
  // Null: never read.
  const telemetry::PortRecord* Find(const fabric::FabricSnapshot& topology, PortRef port) const {
    const Guid guid = topology.node(port.node)->guid();
    return last->Find({last->snapshot->FindIndex(guid), port.port});
  }

  std::shared_ptr<TelemetryView> last;
  std::vector<Instant> times;

 private:
  const Rule rule_;
};

Concluded At(const TelemetryView& view, PortRef port, const char* verdict, const char* culprit) {
  return {view.snapshot->node(port.node)->guid(), port.port, verdict, culprit};
}

// Ports that have counted something, each for itself.
Double::Rule WhereverGrew(Counter counter) {
  return [counter](const TelemetryView& view) {
    std::vector<Concluded> all;
    for (const auto& record : view.ports) {
      // A node that is gone has records for a while.
      if (record == nullptr || view.snapshot->node(record->port.node) == nullptr) continue;
      if (record->Total(counter) > 0) {
        all.push_back(At(view, record->port, "GREW", ""));
      }
    }
    return all;
  };
}

class VerdictsTest : public ::testing::Test {
 protected:
  ScenarioResult Run(const std::string& text, Double& source, uint64_t seed = 1) {
    const auto scenario = ReadScenario(text);
    EXPECT_TRUE(scenario.ok()) << scenario.status();
    if (!scenario.ok()) return {};
    auto result = RunScenario(*topology_, *scenario, seed, source);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? *std::move(result) : ScenarioResult();
  }
  uint64_t Total(const Double& source, PortRef port, Counter counter) {
    const telemetry::PortRecord* record = source.Find(*topology_, port);
    return record == nullptr ? 0 : record->Total(counter);
  }
  double Wait(const Double& source, PortRef port) {
    const telemetry::PortRecord* record = source.Find(*topology_, port);
    return record == nullptr ? -1 : record->wait.share;
  }
  std::shared_ptr<const fabric::FabricSnapshot> topology_ = *Generate(kFabric);
};

TEST_F(VerdictsTest, TheSourceIsReadOnceInAnInterval) {
  Double source;
  const ScenarioResult result = Run("length 10m\ninterval 30s\n", source);
  ASSERT_THAT(source.times, SizeIs(20));
  EXPECT_EQ(source.times[1] - source.times[0], seconds(30));
  EXPECT_EQ(source.times.back(), result.end);
  size_t fresh = 0, ports = 0;
  for (const auto& record : source.last->ports) {
    if (record == nullptr) continue;
    ++ports;
    fresh += source.last->FreshnessOf(*record) == telemetry::Freshness::kFresh ? 1 : 0;
  }
  EXPECT_GT(ports, 30u);
  EXPECT_EQ(fresh, ports);
}

TEST_F(VerdictsTest, AHealthyFabricCountsNoErrors) {
  Double source(WhereverGrew(Counter::kRcvErrors));
  const ScenarioResult result = Run("length 20m\ntraffic ring all load=0.5\n", source);
  EXPECT_THAT(result.causes, IsEmpty());
  EXPECT_THAT(result.spans, IsEmpty());
}

TEST_F(VerdictsTest, ACauseListsOnlyConclusionsAboutItsLink) {
  Double source([](const TelemetryView& view) {
    std::vector<Concluded> all = WhereverGrew(Counter::kSymbolErrors)(view);
    for (const auto& record : view.ports) {
      if (record != nullptr && record->port.port.value() == 1) {
        all.push_back(At(view, record->port, "ALWAYS", "NOBODY"));
        break;
      }
    }
    return all;
  });
  const ScenarioResult result =
      Run("length 30m\nnoisy-cable random-host-link severity=1000 start=10m\n", source);
  ASSERT_THAT(result.causes, SizeIs(1));
  ASSERT_THAT(result.spans, SizeIs(3));
  const Injected& cause = result.causes[0];
  EXPECT_EQ(cause.start - result.begin, seconds(600));
  EXPECT_EQ(cause.end, result.end);
  EXPECT_FALSE(IsAbout(result.spans[0], cause)) << "was there before";
  EXPECT_TRUE(IsAbout(result.spans[1], cause)) << "both ends of the cable";
  EXPECT_TRUE(IsAbout(result.spans[2], cause));
  EXPECT_FALSE(result.spans[1].until.has_value());
  const std::string json = ToJson(kFabric, {result});
  EXPECT_THAT(json, HasSubstr("\"kind\": \"noisy-cable\""));
  EXPECT_THAT(json, HasSubstr("\"severity\": 1000"));
  EXPECT_THAT(json, HasSubstr("\"ends\": [\"" + cause.place + "\", \""));
  EXPECT_THAT(json, HasSubstr("\"after_intervals\""));
  EXPECT_LT(json.find("\"GREW\""), json.find("without_cause"));
  EXPECT_GT(json.find("\"ALWAYS\""), json.find("without_cause"));
  EXPECT_THAT(ToText(result), HasSubstr("without a cause: ALWAYS by NOBODY"));
}

TEST_F(VerdictsTest, TheAssessorNamesANoisyReceiverAndNothingOnACleanFabric) {
  const auto run = [&](const std::string& text) {
    AssessingSource source;
    ScenarioResult result = *RunScenario(*topology_, *ReadScenario(text), 1, source);
    std::erase_if(result.spans, [](const auto& span) { return !span.what.is_actionable; });
    return result;
  };
  EXPECT_THAT(run("length 1h\ntraffic ring all load=0.5\n").spans, IsEmpty());
  const ScenarioResult noisy =
      run("length 2h\ntraffic ring all load=0.5\n"
          "noisy-receiver random-host-link severity=100 start=20m\n");
  ASSERT_THAT(noisy.causes, SizeIs(1));
  ASSERT_THAT(noisy.spans, Not(IsEmpty()));
  for (const VerdictSpan& span : noisy.spans) {
    EXPECT_TRUE(IsAbout(span, noisy.causes[0]));
    EXPECT_EQ(span.what.verdict, "NOISY_PHY");
  }
}

TEST_F(VerdictsTest, SeedsRepeatAndDiffer) {
  const std::string text =
      "length 20m\ninterval 60s\nnoisy-receiver random-link severity=100..1000 start=5m\n"
      "host-reboot random-host start=6m..9m\ntraffic all-to-all 4\n";
  const auto once = [&](uint64_t seed) {
    Double source(WhereverGrew(Counter::kSymbolErrors));
    return ToJson(kFabric, {Run(text, source, seed)});
  };
  const std::string first = once(1);
  EXPECT_EQ(first, once(1));
  EXPECT_NE(first, once(2));
}

TEST_F(VerdictsTest, ALineDoesNotChangeTheDrawsOfAnother) {
  Double source;
  const std::string text = "length 15m\ndirty-cable random-trunk severity=1..100 start=5m\n";
  const ScenarioResult alone = Run(text, source);
  const ScenarioResult both = Run(text + "host-reboot random-host start=5m\n", source);
  ASSERT_THAT(both.causes, SizeIs(2));
  EXPECT_EQ(alone.causes[0].place, both.causes[0].place);
  EXPECT_EQ(alone.causes[0].severity, both.causes[0].severity);
}

TEST_F(VerdictsTest, ASlowReceiverMakesItsLeafWait) {
  Double source;
  const ScenarioResult result =
      Run("length 20m\ninterval 10s\nslow-receiver random-host-link severity=4 start=10m\n"
          "traffic all-to-all all load=0.8\n",
          source);
  ASSERT_THAT(result.causes[0].ends, SizeIs(2));
  EXPECT_NEAR(Wait(source, result.causes[0].ends[1]), 0.75, 0.02);
  EXPECT_GT(result.causes[0].counted, 0u);
}

TEST_F(VerdictsTest, ASlowReceiverWithoutTrafficHasNoEffect) {
  Double source;
  const ScenarioResult result = Run("length 20m\nslow-receiver random-host-link\n", source);
  EXPECT_EQ(result.causes[0].counter, sim::Counter::kXmitWait);
  EXPECT_EQ(result.causes[0].counted, 0u);
  EXPECT_THAT(ToText(result), HasSubstr("; 0 xmit-wait counted\n    nothing was concluded\n"));
  EXPECT_THAT(ToJson(kFabric, {result}), HasSubstr("\"counter\": \"xmit-wait\", \"counted\": 0"));
}

TEST_F(VerdictsTest, AnIncastKeepsTheLinkOfItsReceiverBusy) {
  Double source;
  const ScenarioResult result =
      Run("length 20m\ninterval 10s\nincast random-host-link severity=4 start=10m\n", source);
  const PortRef leaf = result.causes[0].ends[1];
  EXPECT_NEAR(Wait(source, leaf), 0.12, 0.02);
  EXPECT_GT(Total(source, leaf, Counter::kXmitData), 0u);
}

TEST_F(VerdictsTest, AFlappingCableIsCountedAtBothEnds) {
  Double source;
  const ScenarioResult result =
      Run("length 90m\nflapping-cable random-trunk severity=20 start=20m duration=30m\n", source);
  const uint64_t downs = Total(source, result.causes[0].ends[0], Counter::kLinkDowned);
  EXPECT_EQ(result.causes[0].counted,
            2 * Total(source, result.causes[0].ends[1], Counter::kLinkDowned));
  EXPECT_GT(downs, 2u);
  EXPECT_LT(downs, 25u);
}

TEST_F(VerdictsTest, AHostThatRestartsIsUpAgain) {
  Double source;
  const ScenarioResult result =
      Run("length 30m\nhost-reboot random-host start=5m duration=3m\n", source);
  ASSERT_THAT(result.causes[0].ends, SizeIs(4)) << "two adapters, both ends of each link";
  for (PortRef end : result.causes[0].ends) {
    const telemetry::PortRecord* record = source.Find(*topology_, end);
    ASSERT_NE(record, nullptr);
    EXPECT_EQ(source.last->FreshnessOf(*record), telemetry::Freshness::kFresh);
  }
}

TEST_F(VerdictsTest, FirmwareDefectsAreOfAShareOfOneFamily) {
  Double source(WhereverGrew(Counter::kSymbolErrors));
  const ScenarioResult result =
      Run("length 30m\nfirmware-defect all severity=1e6 share=0.25 start=5m\n", source);
  EXPECT_THAT(result.causes[0].ends, SizeIs(8)) << "4 of 16 HCAs, both ends of each link";
  EXPECT_THAT(result.spans, SizeIs(4)) << "HCAs only";
}

TEST_F(VerdictsTest, ABlackoutMakesPortsStale) {
  Double source;
  Run("length 20m\ntelemetry-blackout all start=5m duration=1h\n", source);
  for (const auto& record : source.last->ports) {
    if (record == nullptr) continue;
    EXPECT_NE(source.last->FreshnessOf(*record), telemetry::Freshness::kFresh);
  }
}

// Each kind of cause starts and ends while all others are active.
TEST_F(VerdictsTest, AllCausesTogetherRun) {
  Double source;
  const ScenarioResult result =
      Run("length 30m\ninterval 60s\ntraffic ring all load=0.3\n"
          "noisy-transmitter random-trunk start=2m duration=10m burst=4\n"
          "hot-module random-link start=3m duration=10m\n"
          "cable-pulled random-trunk start=4m duration=2m\n"
          "peer-disable random-trunk start=4m duration=2m\n"
          "switch-reboot random-switch start=6m\n"
          "counter-clear all start=8m\n"
          "multicast-noise random-switch start=2m duration=5m\n"
          "rail-storm random-rail start=10m duration=5m\n",
          source);
  EXPECT_THAT(result.causes, SizeIs(8));
  for (const auto& record : source.last->ports) {
    if (record == nullptr) continue;
    EXPECT_EQ(source.last->FreshnessOf(*record), telemetry::Freshness::kFresh)
        << record->port.node.value() << " " << int{record->port.port.value()};
  }
  EXPECT_THAT(ToText(result), HasSubstr("nothing was concluded"));
}

std::string SerialAt(const Double& source, const fabric::FabricSnapshot& topology, PortRef port) {
  const Guid guid = topology.node(port.node)->guid();
  const auto* inventory =
      source.last->FindInventory({source.last->snapshot->FindIndex(guid), port.port});
  return inventory == nullptr ? "" : inventory->serial.data();
}

TEST_F(VerdictsTest, ASwappedCableHasOtherSerialNumbersAndAPulledOneTheSame) {
  Double source;
  const auto serial = [&](const std::string& cause) {
    const ScenarioResult result =
        Run("length 40m\n" + cause + " su1-rail0-leaf/5 start=5m duration=1m\n", source);
    return SerialAt(source, *topology_, result.causes.at(0).ends[0]);
  };
  const std::string before = serial("cable-pulled");
  EXPECT_THAT(before, testing::StartsWith("SN"));
  const std::string after = serial("cable-swapped");
  EXPECT_EQ(after, "R1-" + before.substr(2));
}

TEST_F(VerdictsTest, ARoughLinkUpDropsOnceAndIsCleanAfterwards) {
  Double source(WhereverGrew(Counter::kSymbolErrors));
  const ScenarioResult result =
      Run("length 30m\nrough-link-up random-trunk severity=1e6 start=5m duration=8m\n", source);
  const PortRef end = result.causes[0].ends[0];
  EXPECT_EQ(Total(source, end, Counter::kLinkDowned), 1u);
  EXPECT_THAT(result.spans, SizeIs(2)) << "both ends count symbol errors";
  // 400 Gb/s x 1e-8 = 4,000 a second for 7 of 25 min.
  EXPECT_NEAR(static_cast<double>(Total(source, end, Counter::kSymbolErrors)), 7 * 60 * 4000, 2e5);
}

TEST_F(VerdictsTest, AnOddAgentLacksTheAttributesOfItsQuirks) {
  Double source;
  const ScenarioResult result =
      Run("length 20m\nodd-agent random-host as=classic_only,no_vendor start=0s\n", source);
  ASSERT_THAT(result.causes[0].ends, SizeIs(4));
  const telemetry::PortRecord* odd = source.Find(*topology_, result.causes[0].ends[0]);
  const telemetry::PortRecord* leaf = source.Find(*topology_, result.causes[0].ends[1]);
  ASSERT_TRUE(odd != nullptr && leaf != nullptr);
  EXPECT_EQ(source.last->FreshnessOf(*leaf), telemetry::Freshness::kFresh);
  EXPECT_FALSE(odd->window.has_registers) << "no vendor class";
  EXPECT_TRUE(leaf->window.has_registers);
}

TEST_F(VerdictsTest, NothingIsReadOfTheHostsBehindASickPath) {
  Double source;
  const ScenarioResult result =
      Run("length 20m\nsick-path random-leaf start=5m duration=1h\n", source);
  ASSERT_THAT(result.causes[0].ends, SizeIs(8)) << "4 hosts, both ends of each link";
  for (size_t i = 0; i < 8; ++i) {
    const telemetry::PortRecord* record = source.Find(*topology_, result.causes[0].ends[i]);
    ASSERT_NE(record, nullptr);
    const bool is_fresh = source.last->FreshnessOf(*record) == telemetry::Freshness::kFresh;
    EXPECT_EQ(is_fresh, i % 2 == 1) << "ends of the leaf only";
  }
}

TEST_F(VerdictsTest, Vl15DropsAreCountedAtAllPortsOfTheirPlace) {
  Double source;
  const ScenarioResult result = Run("length 20m\nvl15-drops all severity=10 start=5m\n", source);
  for (PortRef end : result.causes[0].ends) {
    EXPECT_NEAR(static_cast<double>(Total(source, end, Counter::kVl15Dropped)), 9000, 600);
  }
}

TEST_F(VerdictsTest, AfterARestartOfFabricdTelemetryBeginsWithNothing) {
  class Restarted : public Double {
   public:
    void OnRestart(Instant now) override { at.push_back(now); }
    std::vector<Instant> at;
  } source;
  const ScenarioResult result =
      Run("length 30m\nfabricd-restart all start=10m duration=1m\n", source);
  ASSERT_THAT(source.at, SizeIs(1));
  EXPECT_EQ(source.at[0] - result.begin, seconds(660));
  EXPECT_LE(source.at[0] - source.last->started, std::chrono::milliseconds(1));
  for (const auto& record : source.last->ports) {
    if (record == nullptr) continue;
    EXPECT_EQ(source.last->FreshnessOf(*record), telemetry::Freshness::kFresh);
  }
}

TEST_F(VerdictsTest, SeveritiesAreGivenInTimesTheLimitToo) {
  Double source;
  const ScenarioResult result =
      Run("length 20m\ntraffic all-to-all all load=0.8\nnoisy-cable random-trunk severity=7\n"
          "dirty-cable random-trunk severity=1000\nslow-receiver random-host-link severity=8\n"
          "flapping-cable random-trunk severity=36\nincast random-host-link\n",
          source);
  EXPECT_EQ(result.causes[0].limits, 7);
  EXPECT_LT(result.causes[1].limits, 1e-3) << "FEC corrects it";
  EXPECT_EQ(result.causes[2].limits, 4);
  EXPECT_NEAR(result.causes[2].wait, 0.87, 0.05);
  EXPECT_EQ(result.causes[3].limits, 2);
  EXPECT_EQ(result.causes[4].limits, 0) << "nothing is ever due";
}

TEST_F(VerdictsTest, TheReportSeparatesInformativeFromActionableVerdicts) {
  class Source : public Double {
   public:
    Looked Look(const TelemetryView& view, Instant now) override {
      Double::Look(view, now);
      Looked looked;
      const PortRef port = view.ports[0]->port;
      looked.verdicts = {At(view, port, "NOISY_PHY", "cable"), At(view, port, "SUSPECT", "cable"),
                         At(view, port, "UNKNOWN", "")};
      looked.verdicts[1].is_actionable = looked.verdicts[2].is_actionable = false;
      // The budget is free again at the third look.
      looked.verdicts[0].action = times.size() < 3 ? "recommend" : "cordon";
      if (times.size() < 3) looked.verdicts[0].refused_by = "budget";
      if (times.size() < 5)
        looked.findings = {{"SWITCH", "leaf1", fmt::format("{}", times.size())}};
      if (times.size() >= 3) looked.holds = {{"node0001", "NOISY_PHY", "node0001 mlx5_0/1"}};
      return looked;
    }
  } source;
  const ScenarioResult result = Run("length 5m\n", source);
  const std::string json = ToJson(kFabric, {result});
  EXPECT_THAT(json, HasSubstr("\"verdict\": \"NOISY_PHY\""));
  EXPECT_LT(json.find("\"NOISY_PHY\""), json.find("\"informative\""));
  EXPECT_GT(json.find("\"SUSPECT\""), json.find("\"informative\""));
  EXPECT_THAT(json, HasSubstr("\"actionable\": true, \"action\": \"cordon\"}"));
  EXPECT_THAT(json, Not(HasSubstr("UNKNOWN"))) << "every link is, at times";
  EXPECT_THAT(json, HasSubstr("\"cause\": \"SWITCH\", \"about\": \"leaf1\", \"text\": \"4\", "
                              "\"at_s\": 30.000, \"until_s\": 150.000"));
  EXPECT_THAT(json, HasSubstr("\"host\": \"node0001\", \"verdict\": \"NOISY_PHY\", \"port\": "
                              "\"node0001 mlx5_0/1\", \"at_s\": 90.000}"));
  EXPECT_THAT(ToText(result), HasSubstr("would be cordoned at 90 s"));
}

TEST_F(VerdictsTest, TheAssessorWouldCordonTheHostAndNamesTheSwitchThatStarted) {
  AssessingSource source;
  ScenarioResult result =
      *RunScenario(*topology_,
                   *ReadScenario("length 90m\ntraffic ring all load=0.5\n"
                                 "noisy-receiver \"node0003 mlx5_1/1\" severity=100 start=15m\n"
                                 "switch-reboot su2-rail0-leaf start=50m\n"),
                   1, source);
  ASSERT_THAT(result.holds, SizeIs(1));
  EXPECT_EQ(result.holds[0].what.host, "node0003");
  std::erase_if(result.spans, [](const auto& span) { return !span.what.is_actionable; });
  ASSERT_THAT(result.spans, Not(IsEmpty()));
  EXPECT_EQ(result.spans.back().what.action, "cordon");
  ASSERT_THAT(result.findings, Not(IsEmpty()));
  EXPECT_EQ(result.findings.back().what.cause, "SWITCH_RESTART");
  EXPECT_EQ(result.findings.back().what.about, "su2-rail0-leaf");
}

TEST_F(VerdictsTest, RefusesTargetsThatTheFabricLacksByName) {
  Double source;
  const auto error = [&](const std::string& text) {
    const auto result = RunScenario(*topology_, *ReadScenario(text), 1, source);
    return result.ok() ? std::string() : Message(result.status());
  };
  EXPECT_THAT(error("noisy-cable nowhere/1"), HasSubstr("noisy-cable nowhere/1: no node"));
  EXPECT_THAT(error("noisy-cable nowhere"), HasSubstr("NODE/PORT is wanted"));
  EXPECT_THAT(error("traffic ring nobody,nowhere"), HasSubstr("no host 'nobody'"));
  EXPECT_THAT(error("rail-storm 7"), HasSubstr("no rail 7"));
  EXPECT_THAT(error("slow-receiver su1-rail0-leaf/1"), Not(IsEmpty()));
  std::string many;
  for (int i = 0; i < 9; ++i) many += "host-reboot random-host\n";
  EXPECT_THAT(error(many), HasSubstr("without a cause is left"));
  EXPECT_THAT(error("host-reboot node0001"), HasSubstr("the manager runs there"));
}

}  // namespace
}  // namespace fabricd::sim
