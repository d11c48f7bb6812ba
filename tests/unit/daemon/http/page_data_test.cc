// SPDX-License-Identifier: Apache-2.0
// The data of the page /ui about counters and verdicts.
#include <algorithm>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/process_clock.h"
#include "daemon/http/counter_page.h"
#include "daemon/http/fabric_page.h"
#include "daemon/http/verdict_page.h"
#include "tests/unit/daemon/http/sample_verdicts.h"
#include "tests/unit/daemon/rpc/sample_telemetry.h"

namespace fabricd::http {
namespace {

using rpc::testing::FakeBackend;
using rpc::testing::SmallFabric;
using rpc::testing::TelemetryMaker;
using testing::HasSubstr;
using testing::Not;

class PageDataTest : public testing::Test {
 protected:
  PageDataTest() {
    counters.view.started = ProcessClock::Now() - std::chrono::milliseconds(TelemetryMaker::kNow);
    backend.telemetry_view = counters.Make();
  }
  void PublishVerdicts() {
    made.view.at = ProcessClock::Now();
    for (query::VerdictRecord& record : made.view.records)
      record.standing.since = made.view.at - std::chrono::minutes(5);
    backend.PublishVerdicts(made.Make());
  }
  static telemetry::HistoryAnswer History(size_t samples) {
    telemetry::HistoryAnswer answer;
    answer.known = true;
    answer.step = 30'000;
    answer.now = static_cast<telemetry::Millis>(samples) * answer.step;
    for (size_t i = 1; i <= samples; ++i)
      answer.samples.push_back(
          {static_cast<telemetry::Millis>(i) * answer.step, true, 1000.0F * i, true, 0.01F * i});
    return answer;
  }

  SmallFabric fabric;
  std::shared_ptr<const sweep::FabricView> view = fabric.View();
  FakeBackend backend{view};
  daemon::Models models{backend};
  TelemetryMaker counters = rpc::testing::SampleTelemetry(fabric, view->snapshot);
  sample::VerdictMaker made = sample::SampleVerdicts(fabric, view->snapshot);
  CounterPage counter_page{backend, models};
  VerdictPage verdict_page{backend};
  FabricPage fabric_page{backend, models};
};

TEST_F(PageDataTest, HeatHasBothEndsAndStalePortsAreUnknown) {
  const std::string text = *counter_page.Heat({}).body;
  EXPECT_THAT(text, HasSubstr("\"generation\":7,\"state\":\"POLLING\",\"live\":true"));
  EXPECT_THAT(text, HasSubstr("[600,20,0,120,0]"));  // leaf1/1: errors at leaf1, none at node1.
  EXPECT_THAT(text, HasSubstr("[-1,-1,-1,-1,-1]"));  // leaf1/3 is stale, the spine was never read.
  EXPECT_THAT(text, Not(HasSubstr("[900,")));        // What leaf1/3 was when it was read.
}

TEST_F(PageDataTest, HeatIsMadeOncePerView) {
  const Reply first = counter_page.Heat({});
  EXPECT_EQ(counter_page.Heat({}).body, first.body);
  EXPECT_EQ(*counter_page.Heat({{"have", "7.1.1"}}).body, "{\"version\":\"7.1.1\"}");
  counters.view.number = 2;
  backend.telemetry_view = counters.Make();
  EXPECT_THAT(*counter_page.Heat({{"have", "7.1.1"}}).body, HasSubstr("\"version\":\"7.2.1\""));
}

TEST_F(PageDataTest, ACollectorThatHangsOrIsStandbyHasNoLiveData) {
  counters.view.started -= std::chrono::seconds(301);
  backend.telemetry_view = counters.Make();
  EXPECT_THAT(*counter_page.Heat({}).body, HasSubstr("\"live\":false"));
  EXPECT_THAT(*counter_page.Heat({}).body, Not(HasSubstr("[600,")));
  counters.view.started += std::chrono::seconds(301);
  counters.view.state = telemetry::State::kStandby;
  counters.view.number = 2;
  backend.telemetry_view = counters.Make();
  EXPECT_THAT(*counter_page.Heat({}).body, HasSubstr("\"state\":\"STANDBY\",\"live\":false"));
  EXPECT_THAT(*counter_page.Heat({}).body, Not(HasSubstr("[600,")));
}

TEST_F(PageDataTest, PortsHaveTheirCountersAndVerdicts) {
  PublishVerdicts();
  const std::string leaf = *fabric_page.Ports({{"guid", "0x0000000000200000"}}).body;
  EXPECT_THAT(leaf, HasSubstr("\"peer_port\":1,\"verdict\":\"NOISY_PHY\",\"use\":600,\"wait\":20,"
                              "\"ber\":120,\"celsius\":null,\"freshness\":\"FRESH\"}"));
  EXPECT_THAT(leaf, HasSubstr("\"verdict\":\"\",\"use\":-1,\"wait\":-1,\"ber\":-1,"
                              "\"celsius\":null,\"freshness\":\"STALE\"}"));
  EXPECT_THAT(*fabric_page.Ports({{"host", "node2"}}).body,
              HasSubstr("\"verdict\":\"SUSPECT\",\"use\":"));
  EXPECT_THAT(*fabric_page.Ports({{"host", "node2"}}).body, HasSubstr("\"celsius\":52"));
}

TEST_F(PageDataTest, AHistoryHasBothDirections) {
  backend.on_history = [&](PortRef port, Duration span) {
    EXPECT_EQ(span, std::chrono::hours(1));
    telemetry::HistoryAnswer answer = History(3);
    if (port == PortRef{fabric.leaf1, PortNum(1)}) {
      answer.samples[1].known = answer.samples[1].knows_wait = false;
    } else {
      answer.samples.erase(answer.samples.begin());
    }
    return answer;
  };
  EXPECT_EQ(*counter_page.History({{"guid", "0x0000000000200000"}, {"port", "1"}}).body,
            "{\"step\":30,\"link\":10000000000,\"points\":[[60,1000,null,0.0100],"
            "[30,null,2000,null],[0,3000,3000,0.0300]]}");
}

TEST_F(PageDataTest, ALongHistoryIsPutTogether) {
  backend.on_history = [&](PortRef, Duration span) {
    EXPECT_EQ(span, std::chrono::hours(24));
    return History(2 * CounterPage::kMostPoints);
  };
  const std::string text =
      *counter_page.History({{"guid", "0x0000000000200000"}, {"port", "1"}, {"span", "24h"}}).body;
  EXPECT_THAT(text, HasSubstr("{\"step\":60,"));
  // Rates are means, the wait is the largest.
  EXPECT_THAT(text, HasSubstr("[17940,1500,1500,0.0200],[17880,3500,3500,0.0400]"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '[') - 1, CounterPage::kMostPoints);
}

TEST_F(PageDataTest, NoHistoryIsNoZero) {
  EXPECT_EQ(counter_page.History({{"guid", "0x0000000000200000"}, {"port", "1"}}).status, 503);
  for (const char* port : {"0", "5", "x", ""})
    EXPECT_EQ(counter_page.History({{"guid", "0x0000000000200000"}, {"port", port}}).status, 404);
  EXPECT_EQ(counter_page.History({{"guid", "0x77"}, {"port", "1"}}).status, 404);
}

TEST_F(PageDataTest, VerdictsAreSortedByStageWithTheirActions) {
  PublishVerdicts();
  const std::string text = *verdict_page.Verdicts({}).body;
  EXPECT_THAT(text, HasSubstr("\"number\":1,\"enabled\":true,\"interval\":60,"
                              "\"counts\":{\"HEALTHY\":3,\"SUSPECT\":1,\"NOISY_PHY\":1,"));
  EXPECT_THAT(
      text,
      HasSubstr("\"verdicts\":[{\"verdict\":\"NOISY_PHY\",\"stage\":\"BAD\",\"culprit\":"
                "\"transmitter\",\"confidence\":0.75,\"since\":300,\"a\":{\"name\":"
                "\"node1 mlx5_0/1\",\"guid\":\"0x0000000000100000\",\"port\":1,\"host\":\"node1\"},"
                "\"b\":{\"name\":\"leaf1/1\",\"guid\":\"0x0000000000200000\",\"port\":1,\"host\":"
                "\"\"},\"end\":\"b\",\"remedy\":"
                "\"reseat the cable\",\"recommended\":\"cordon\",\"action\":\"recommend\","
                "\"held_back\":\"budget\",\"hold\":0,\"operator\":false,\"known\":true,"
                "\"acknowledged\":\"\",\"overruled\":\"\",\"cause\":\"\",\"root\":null},"
                "{\"verdict\":\"SUSPECT\""));
  EXPECT_THAT(
      text,
      HasSubstr("\"causes\":[{\"cause\":\"SWITCH\",\"subject\":\"leaf2\",\"text\":"
                "\"errors on 3 of 4 host links of switch 0x0000000000200100\",\"over\":false}]"));
  EXPECT_THAT(text, HasSubstr("\"holds\":2,\"budget\":10,\"breaker\":false"));
}

TEST_F(PageDataTest, RootsOfCongestionHaveTheirVictims) {
  PublishVerdicts();
  const std::string text = *verdict_page.Verdicts({}).body;
  EXPECT_THAT(text, HasSubstr("\"roots_total\":1,\"victims_total\":1,\"without_root\":0,"
                              "\"roots\":[{\"kind\":\"HOT_LINK\",\"port\":{\"name\":"));
  EXPECT_THAT(text, HasSubstr("\"wait\":0.010,\"use\":0.970,\"cycle\":false,\"victims_total\":1,"
                              "\"victims\":[{\"port\":{\"name\":\"leaf1/3\","));
  EXPECT_THAT(text, HasSubstr("\"wait\":0.400,\"use\":0.600,\"hops\":1,\"towards\":{"));
}

TEST_F(PageDataTest, ListsAreBoundedAndCounted) {
  for (size_t i = 0; i < VerdictPage::kMostVerdicts; ++i)
    made.Add({fabric.node1_1, PortNum(1)}, policy::Stage::kHealthy, policy::Verdict::kVictim);
  telemetry::CongestionRoot& root = made.view.congestion.roots[0];
  root.victims.resize(VerdictPage::kMostVictims + 5, root.victims[0]);
  PublishVerdicts();
  const std::string text = *verdict_page.Verdicts({}).body;
  const auto times = [&](const std::string& word) {
    size_t count = 0;
    for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++count;
    return count;
  };
  EXPECT_THAT(text, HasSubstr(fmt::format("\"total\":{}", VerdictPage::kMostVerdicts + 2)));
  EXPECT_EQ(times("{\"verdict\":"), VerdictPage::kMostVerdicts);
  EXPECT_THAT(text, HasSubstr(fmt::format("\"victims_total\":{}", VerdictPage::kMostVictims + 5)));
  EXPECT_EQ(times("\"hops\":"), VerdictPage::kMostVictims);
}

TEST_F(PageDataTest, VerdictsAreMadeOncePerAssessment) {
  EXPECT_EQ(*verdict_page.Verdicts({}).body, "{\"age\":0,\"number\":0,\"enabled\":false}");
  PublishVerdicts();
  EXPECT_EQ(*verdict_page.Verdicts({{"have", "1"}}).body, "{\"age\":0,\"number\":1}");
  made.view.number = 2;
  made.view.records.pop_back();
  PublishVerdicts();
  EXPECT_THAT(*verdict_page.Verdicts({{"have", "1"}}).body, HasSubstr("\"number\":2"));
}

TEST_F(PageDataTest, EvidenceIsTheTextForOperators) {
  backend.on_evaluate = [&](PortRef port, daemon::VerdictDone done) {
    EXPECT_EQ(port, (PortRef{fabric.leaf1, PortNum(1)}));
    auto record = std::make_shared<query::VerdictRecord>(made.view.records[0]);
    policy::LinkEvidence evidence;
    evidence.a.node = rpc::testing::kNode1Rail0;
    evidence.b.node = rpc::testing::kLeaf1;
    evidence.a.port = evidence.b.port = PortNum(1);
    record->evidence = std::make_shared<const policy::LinkEvidence>(evidence);
    done(absl::OkStatus(), record);
  };
  const Query leaf = {{"guid", "0x0000000000200000"}, {"port", "1"}};
  const std::string text = *verdict_page.Evidence(leaf).body;
  EXPECT_THAT(text, HasSubstr("{\"verdict\":\"NOISY_PHY\",\"text\":\""));
  EXPECT_THAT(text, HasSubstr("node1 mlx5_0/1"));
  EXPECT_THAT(text, HasSubstr("leaf1/1"));
  EXPECT_THAT(text, HasSubstr("reseat the cable"));
}

TEST_F(PageDataTest, WithoutEvidenceThereIsNoText) {
  const Query leaf = {{"guid", "0x0000000000200000"}, {"port", "1"}};
  backend.on_evaluate = [](PortRef, const daemon::VerdictDone& done) {
    done(absl::NotFoundError(""), nullptr);
  };
  EXPECT_EQ(verdict_page.Evidence(leaf).status, 404);
  backend.on_evaluate = [](PortRef, const daemon::VerdictDone& done) {
    done(absl::UnavailableError(""), nullptr);
  };
  EXPECT_EQ(verdict_page.Evidence(leaf).status, 503);
  backend.on_evaluate = nullptr;  // Nobody answers.
  EXPECT_EQ(verdict_page.Evidence(leaf).status, 503);
  EXPECT_EQ(verdict_page.Evidence({{"guid", "0x77"}, {"port", "1"}}).status, 404);
}

}  // namespace
}  // namespace fabricd::http
