// SPDX-License-Identifier: Apache-2.0
// TelemetryService over a socket, on the small fabric with counters of a sample.
#include <google/protobuf/util/time_util.h>

#include "daemon/base/models.h"
#include "daemon/rpc/streams/rate_stream.h"
#include "fabric/v1/telemetry_service.grpc.pb.h"
#include "tests/unit/daemon/rpc/running_server.h"
#include "tests/unit/daemon/rpc/sample_telemetry.h"

namespace fabricd::rpc::testing {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;
using TelemetryStub = pb::TelemetryService::Stub;

constexpr telemetry::Millis kNow = TelemetryMaker::kNow;

class TelemetryServiceTest : public ::testing::Test {
 protected:
  TelemetryServiceTest() { backend_.telemetry_view = maker_.Make(); }

  template <typename Request, typename Response>
  grpc::Status Call(grpc::Status (TelemetryStub::*method)(grpc::ClientContext*, const Request&,
                                                          Response*),
                    const Request& request, Response* response) {
    return running_.Call(*stub_, method, request, response);
  }
  pb::PortCounters PortOf(const std::string& name) {
    pb::GetPortCountersRequest request;
    request.set_port(name);
    pb::GetPortCountersResponse response;
    const auto status = Call(&TelemetryStub::GetPortCounters, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.port();
  }
  pb::ListErrorsResponse Errors(const pb::ListErrorsRequest& request = {}) {
    pb::ListErrorsResponse response;
    const auto status = Call(&TelemetryStub::ListErrors, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  pb::ListTopResponse Top(pb::TopKind kind, pb::TopOrder order, uint32_t limit = 0) {
    pb::ListTopRequest request;
    request.set_kind(kind);
    request.set_order(order);
    request.set_limit(limit);
    pb::ListTopResponse response;
    const auto status = Call(&TelemetryStub::ListTop, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  pb::GetJobViewResponse Job(const std::vector<std::string>& hosts) {
    pb::GetJobViewRequest request;
    request.mutable_hosts()->Assign(hosts.begin(), hosts.end());
    pb::GetJobViewResponse response;
    const auto status = Call(&TelemetryStub::GetJobView, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  static const pb::Counter* Find(const pb::PortCounters& port, const std::string& key) {
    for (const pb::Counter& counter : port.counters())
      if (counter.key() == key) return &counter;
    ADD_FAILURE() << "no counter " << key;
    return nullptr;
  }
  template <typename Entries>
  static std::vector<std::string> Names(const Entries& entries) {
    std::vector<std::string> names;
    for (const auto& entry : entries) names.push_back(entry.name());
    return names;
  }
  static std::vector<std::pair<std::string, double>> Counts(const pb::PortErrors& port) {
    std::vector<std::pair<std::string, double>> counts;
    for (const pb::ErrorCount& error : port.errors())
      counts.emplace_back(error.key(), error.count());
    return counts;
  }

  SmallFabric fabric_;
  std::shared_ptr<const sweep::FabricView> view_ = fabric_.View();
  FakeBackend backend_{view_};
  TelemetryMaker maker_ = SampleTelemetry(fabric_, view_->snapshot);
  RunningServer running_{backend_};
  std::unique_ptr<TelemetryStub> stub_ = pb::TelemetryService::NewStub(running_.channel);
};

TEST_F(TelemetryServiceTest, APortHasItsCountersWithAgeSourceAndEpoch) {
  const pb::PortCounters port = PortOf("leaf1/1");
  EXPECT_EQ(port.name(), "leaf1/1");
  EXPECT_EQ(port.peer().node_name(), "node1 mlx5_0");
  EXPECT_EQ(port.freshness(), "FRESH");
  EXPECT_DOUBLE_EQ(port.age_seconds(), 10);
  EXPECT_EQ(port.lid(), 1u);
  EXPECT_EQ(port.epoch().number(), 1u);
  EXPECT_EQ(port.epoch().cause(), "FIRST_SEEN");
  const pb::Counter* symbols = Find(port, "symbol_errors");
  ASSERT_NE(symbols, nullptr);
  EXPECT_EQ(symbols->name(), "SymbolErrorCounter");
  EXPECT_DOUBLE_EQ(symbols->total(), 130);
  EXPECT_EQ(symbols->raw(), 1'130u);
  EXPECT_EQ(symbols->source(), "PortCountersExtended");
  EXPECT_FALSE(symbols->saturated());
  EXPECT_TRUE(Find(port, "link_downed")->saturated());
  const auto reset = PortOf("leaf2/1").epoch();
  EXPECT_EQ(reset.number(), 2u);
  EXPECT_EQ(reset.cause(), "COUNTER_RESET");
  EXPECT_EQ(reset.resets(), 1u);
}

TEST_F(TelemetryServiceTest, EachRateHasValueWindowAgeAndSource) {
  const pb::Rates rates = PortOf("leaf1/1").rates();
  EXPECT_DOUBLE_EQ(rates.xmit_bytes().value(), 6e9);
  EXPECT_DOUBLE_EQ(rates.rcv_bytes().value(), 1e9);
  EXPECT_DOUBLE_EQ(rates.xmit_bytes().window_seconds(), 30);
  EXPECT_DOUBLE_EQ(rates.xmit_bytes().age_seconds(), 10);
  EXPECT_EQ(rates.xmit_bytes().source(), "PortCountersExtended");
  EXPECT_NEAR(rates.utilisation().value(), 0.6, 1e-6);
  EXPECT_NEAR(rates.wait().value(), 0.02, 1e-6);
  EXPECT_DOUBLE_EQ(rates.symbol_ber().value(), 1e-12);
  EXPECT_FALSE(rates.symbol_ber().upper_bound());
  EXPECT_FALSE(rates.effective_ber().has_value());
  EXPECT_EQ(rates.effective_ber().freshness(), "NEVER");
  const pb::Rates quiet = PortOf("node1/mlx5_0/1").rates();
  EXPECT_DOUBLE_EQ(quiet.symbol_ber().value(), 3e-14);
  EXPECT_TRUE(quiet.symbol_ber().upper_bound());
  EXPECT_DOUBLE_EQ(PortOf("node2/mlx5_0/1").rates().temperature().value(), 52);
}

TEST_F(TelemetryServiceTest, StaleReadingsHaveNoValue) {
  const pb::PortCounters stale = PortOf("leaf1/3");
  EXPECT_EQ(stale.freshness(), "STALE");
  EXPECT_EQ(stale.rates().xmit_bytes().freshness(), "STALE");
  EXPECT_FALSE(stale.rates().xmit_bytes().has_value());
  EXPECT_FALSE(stale.rates().utilisation().has_value());
  EXPECT_FALSE(stale.rates().wait().has_value());
  EXPECT_DOUBLE_EQ(stale.rates().xmit_bytes().age_seconds(), 100);
  const pb::PortCounters never = PortOf("spine/1");
  EXPECT_EQ(never.freshness(), "NEVER");
  EXPECT_FALSE(never.rates().xmit_bytes().has_value());
  EXPECT_THAT(never.counters(), IsEmpty());
  EXPECT_FALSE(never.has_epoch());
  maker_.view.at += 300'000;
  backend_.telemetry_view = maker_.Make();
  const pb::PortCounters unknown = PortOf("leaf1/1");
  EXPECT_EQ(unknown.freshness(), "UNKNOWN");
  EXPECT_FALSE(unknown.rates().xmit_bytes().has_value());
  EXPECT_FALSE(unknown.rates().symbol_ber().has_value());
}

TEST_F(TelemetryServiceTest, ANodeThatAnotherHasReplacedIsNotTakenForIt) {
  SmallFabric other;
  other.maker.Add(wire::NodeType::kSwitch, Guid(0x200300), 4, "leaf3");
  FabricMaker renumbered;
  renumbered.Add(wire::NodeType::kSwitch, Guid(0x200900), 4, "someone else");
  maker_.view.snapshot = renumbered.builder.Build();
  backend_.telemetry_view = maker_.Make();
  EXPECT_EQ(PortOf("leaf1/1").freshness(), "NEVER");
}

TEST_F(TelemetryServiceTest, APortIsFilteredByNodeHostTypeCounterAndMask) {
  pb::ListPortCountersRequest request;
  request.add_names("node1");
  request.add_names("leaf1/1");
  request.add_counters("SymbolErrorCounter");
  pb::ListPortCountersResponse response;
  ASSERT_TRUE(Call(&TelemetryStub::ListPortCounters, request, &response).ok());
  EXPECT_THAT(Names(response.ports()), ElementsAre("leaf1/1", "node1 mlx5_0/1", "node1 mlx5_1/1"));
  ASSERT_EQ(response.ports(0).counters_size(), 1);
  EXPECT_EQ(response.ports(0).counters(0).key(), "symbol_errors");
  request.add_types("CA");
  request.mutable_read_mask()->add_paths("name");
  ASSERT_TRUE(Call(&TelemetryStub::ListPortCounters, request, &response).ok());
  EXPECT_THAT(Names(response.ports()), ElementsAre("node1 mlx5_0/1", "node1 mlx5_1/1"));
  EXPECT_FALSE(response.ports(0).has_rates());
  request.add_types("HUB");
  EXPECT_EQ(ReasonOf(Call(&TelemetryStub::ListPortCounters, request, &response)),
            "INVALID_REQUEST");
  request.clear_types();
  request.add_counters("colour");
  EXPECT_EQ(ReasonOf(Call(&TelemetryStub::ListPortCounters, request, &response)),
            "INVALID_REQUEST");
}

TEST_F(TelemetryServiceTest, AllPagesAreOfTheViewOfTheFirst) {
  pb::ListPortCountersRequest request;
  request.set_page_size(1);
  request.add_names("leaf1");
  pb::ListPortCountersResponse first, second;
  ASSERT_TRUE(Call(&TelemetryStub::ListPortCounters, request, &first).ok());
  EXPECT_EQ(first.total_size(), 4u);
  maker_.view.number = 2;
  maker_.view.at += 3'600'000;
  backend_.telemetry_view = maker_.Make();
  request.set_page_token(first.next_page_token());
  request.set_page_size(3);
  ASSERT_TRUE(Call(&TelemetryStub::ListPortCounters, request, &second).ok());
  EXPECT_THAT(Names(second.ports()), ElementsAre("leaf1/2", "leaf1/3", "leaf1/4"));
  EXPECT_EQ(second.ports(1).freshness(), "STALE");
  EXPECT_THAT(second.next_page_token(), IsEmpty());
  request.set_page_token(first.next_page_token() + "9");
  EXPECT_EQ(ReasonOf(Call(&TelemetryStub::ListPortCounters, request, &second)),
            "PAGE_TOKEN_EXPIRED");
  request.set_page_token("what");
  EXPECT_EQ(ReasonOf(Call(&TelemetryStub::ListPortCounters, request, &second)), "INVALID_REQUEST");
}

TEST_F(TelemetryServiceTest, ErrorsAreThoseOfTheEpochWithinTheRequestedTime) {
  pb::ListErrorsResponse errors = Errors();
  EXPECT_THAT(Names(errors.ports()), ElementsAre("leaf1/1", "leaf1/3", "leaf2/1"));
  EXPECT_THAT(Counts(errors.ports(0)),
              ElementsAre(Pair("symbol_errors", 130), Pair("link_downed", 1)));
  EXPECT_TRUE(errors.ports(0).errors(1).saturated());
  EXPECT_EQ(errors.ports(0).errors(0).name(), "SymbolErrorCounter");
  EXPECT_EQ(errors.ports(0).guid(), "0x0000000000200000");
  // The 50 of the epoch before are gone.
  EXPECT_THAT(Counts(errors.ports(2)), ElementsAre(Pair("rcv_errors", 3)));
  using google::protobuf::util::TimeUtil;
  const auto since = [&](int port) {
    return TimeUtil::TimestampToMilliseconds(errors.ports(port).covered_since());
  };
  EXPECT_NEAR(static_cast<double>(since(2) - since(0)), kNow - 30 * 60'000 - 60'000, 10);
  EXPECT_NEAR(static_cast<double>(
                  TimeUtil::TimestampToMilliseconds(errors.ports(0).errors(0).last_time()) -
                  TimeUtil::TimestampToMilliseconds(errors.ports(0).errors(0).first_time())),
              80 * 60'000, 1);
  pb::ListErrorsRequest hour;
  hour.mutable_since()->set_seconds(3600);
  hour.add_names("leaf1/1");
  hour.add_counters("symbol_errors");
  errors = Errors(hour);
  ASSERT_EQ(errors.ports_size(), 1);
  EXPECT_THAT(Counts(errors.ports(0)), ElementsAre(Pair("symbol_errors", 100)));
}

TEST_F(TelemetryServiceTest, ErrorsCountPortsWithoutFreshReadings) {
  const pb::ListErrorsResponse errors = Errors();
  EXPECT_EQ(errors.ports_checked(), 10u);
  EXPECT_EQ(errors.nodes_checked(), 6u);
  // leaf1/3, spine/1 and spine/2.
  EXPECT_EQ(errors.ports_not_fresh(), 3u);
  EXPECT_EQ(errors.ports(1).freshness(), "STALE");
  pb::ListErrorsRequest request;
  request.mutable_since()->set_seconds(-1);
  pb::ListErrorsResponse none;
  EXPECT_EQ(ReasonOf(Call(&TelemetryStub::ListErrors, request, &none)), "INVALID_REQUEST");
}

TEST_F(TelemetryServiceTest, PortsAreRankedByTheRequestedMeasure) {
  const pb::ListTopResponse xmit = Top(pb::TOP_KIND_PORT, pb::TOP_ORDER_XMIT, 3);
  EXPECT_EQ(xmit.total_size(), 10u);
  EXPECT_DOUBLE_EQ(xmit.interval_seconds(), 30);
  // leaf1/3 would be first, but is stale.
  EXPECT_THAT(Names(xmit.entries()), ElementsAre("leaf1/1", "leaf2/1", "node1 mlx5_0/1"));
  EXPECT_EQ(xmit.entries(0).peer().node_name(), "node1 mlx5_0");
  EXPECT_EQ(Top(pb::TOP_KIND_PORT, pb::TOP_ORDER_RCV).entries(0).name(), "node1 mlx5_0/1");
  EXPECT_EQ(Top(pb::TOP_KIND_PORT, pb::TOP_ORDER_WAIT).entries(0).name(), "leaf2/3");
  const auto errors = Top(pb::TOP_KIND_PORT, pb::TOP_ORDER_ERRORS);
  EXPECT_EQ(errors.entries(0).name(), "leaf1/1");
  EXPECT_DOUBLE_EQ(errors.entries(0).errors(), 101);
  // What was seen, then what was not, then what is not known.
  const auto ber = Top(pb::TOP_KIND_PORT, pb::TOP_ORDER_BER);
  EXPECT_EQ(ber.entries(0).name(), "leaf1/1");
  EXPECT_EQ(ber.entries(1).name(), "node1 mlx5_0/1");
  EXPECT_FALSE(ber.entries(2).rates().symbol_ber().has_value());
  const auto all = Top(pb::TOP_KIND_PORT, pb::TOP_ORDER_XMIT);
  EXPECT_EQ(all.entries_size(), 10);
  EXPECT_FALSE(all.entries(9).rates().xmit_bytes().has_value());
}

TEST_F(TelemetryServiceTest, HostsAndSwitchesAddUpAndLinksShowTheWorseEnd) {
  const auto hosts = Top(pb::TOP_KIND_HOST, pb::TOP_ORDER_RCV);
  EXPECT_THAT(Names(hosts.entries()), ElementsAre("node1", "node2"));
  EXPECT_EQ(hosts.entries(0).ports(), 2u);
  EXPECT_DOUBLE_EQ(hosts.entries(0).rates().rcv_bytes().value(), 6e9);
  const auto switches = Top(pb::TOP_KIND_SWITCH, pb::TOP_ORDER_XMIT);
  EXPECT_EQ(switches.entries(0).name(), "leaf1");
  EXPECT_DOUBLE_EQ(switches.entries(0).rates().xmit_bytes().value(), 6e9);
  EXPECT_EQ(switches.entries(0).ports(), 2u);
  EXPECT_EQ(switches.entries(0).ports_fresh(), 1u);
  EXPECT_EQ(switches.entries(0).freshness(), "STALE");
  EXPECT_EQ(switches.entries(2).name(), "MF0;spine:MQM8700/U1");
  EXPECT_FALSE(switches.entries(2).rates().xmit_bytes().has_value());
  const auto links = Top(pb::TOP_KIND_LINK, pb::TOP_ORDER_WAIT);
  ASSERT_EQ(links.entries_size(), 5);
  EXPECT_NEAR(links.entries(0).rates().wait().value(), 0.25, 1e-6);
  EXPECT_THAT(links.entries(0).port().node_name() + links.entries(0).peer().node_name(),
              HasSubstr("leaf2"));
  // Whichever end is the worse: the port is the one of the name, and the peer the other.
  for (const pb::TopEntry& link : links.entries()) {
    EXPECT_THAT(link.name(), HasSubstr(link.port().node_name() + "/"));
    EXPECT_NE(link.port().node_guid(), link.peer().node_guid()) << link.name();
  }
}

TEST_F(TelemetryServiceTest, TheHistoryOfAPortHasTheRateSentByItsPeerAsReceived) {
  backend_.on_history = [&](PortRef port, Duration span) {
    EXPECT_EQ(span, std::chrono::hours(1));
    telemetry::HistoryAnswer answer;
    answer.known = true;
    answer.now = kNow;
    answer.step = 30'000;
    const bool is_leaf = port.node == fabric_.leaf1;
    answer.samples = {{kNow - 30'000, true, is_leaf ? 100.F : 7.F, true, 0.5F},
                      {kNow, is_leaf, 200.F, false, 0}};
    return answer;
  };
  pb::GetPortHistoryRequest request;
  request.set_port("leaf1/1");
  pb::GetPortHistoryResponse history;
  ASSERT_TRUE(Call(&TelemetryStub::GetPortHistory, request, &history).ok());
  ASSERT_EQ(history.samples_size(), 2);
  EXPECT_EQ(history.name(), "leaf1/1");
  EXPECT_DOUBLE_EQ(history.step_seconds(), 30);
  EXPECT_DOUBLE_EQ(history.link_bytes_per_second(), 1e10);
  EXPECT_DOUBLE_EQ(history.samples(0).xmit_bytes(), 100);
  EXPECT_DOUBLE_EQ(history.samples(0).rcv_bytes(), 7);
  EXPECT_DOUBLE_EQ(history.samples(0).wait(), 0.5);
  EXPECT_FALSE(history.samples(1).has_rcv_bytes());
  EXPECT_FALSE(history.samples(1).has_wait());
  backend_.on_history = nullptr;
  const auto status = Call(&TelemetryStub::GetPortHistory, request, &history);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(ReasonOf(status), "NO_HISTORY");
}

TEST_F(TelemetryServiceTest, TheStatusCountsMeasurementGapsByReason) {
  pb::GetTelemetryStatusResponse status;
  ASSERT_TRUE(
      Call(&TelemetryStub::GetTelemetryStatus, pb::GetTelemetryStatusRequest(), &status).ok());
  EXPECT_EQ(status.state(), "POLLING");
  EXPECT_DOUBLE_EQ(status.interval_seconds(), 30);
  EXPECT_EQ(status.ports(), 10u);
  EXPECT_EQ(status.ports_fresh(), 7u);
  EXPECT_EQ(status.ports_stale(), 1u);
  EXPECT_EQ(status.ports_never(), 2u);
  EXPECT_EQ(status.ports_saturated(), 1u);
  EXPECT_EQ(status.devices(), 6u);
  EXPECT_EQ(status.devices_responding(), 5u);
  ASSERT_EQ(status.gaps_size(), 2);
  EXPECT_EQ(status.gaps(0).gap().reason(), "KEYED");
  EXPECT_EQ(status.gaps(0).devices(), 1u);
  EXPECT_DOUBLE_EQ(status.requests_by_attribute().at("PortCountersExtended"), 1'900);
  EXPECT_DOUBLE_EQ(status.record_bytes(), 1 << 20);
  pb::ListMeasurementGapsResponse gaps;
  ASSERT_TRUE(
      Call(&TelemetryStub::ListMeasurementGaps, pb::ListMeasurementGapsRequest(), &gaps).ok());
  ASSERT_EQ(gaps.devices_size(), 1);
  EXPECT_EQ(gaps.devices(0).node_name(), "node1 mlx5_1");
  EXPECT_EQ(gaps.devices(0).gaps_size(), 2);
  EXPECT_EQ(PortOf("node1/mlx5_1/1").gaps_size(), 2);
}

TEST_F(TelemetryServiceTest, TheInventoryHasTheDataOfModules) {
  pb::ListInventoryResponse inventory;
  ASSERT_TRUE(Call(&TelemetryStub::ListInventory, pb::ListInventoryRequest(), &inventory).ok());
  ASSERT_EQ(inventory.ports_size(), 1);
  const pb::PortInventory& port = inventory.ports(0);
  EXPECT_EQ(port.name(), "node2 mlx5_0/1");
  EXPECT_EQ(port.part(), "MCP4Y10-N002");
  EXPECT_EQ(port.serial(), "MT2231VB00391");
  EXPECT_DOUBLE_EQ(port.length_metres(), 2);
  EXPECT_DOUBLE_EQ(port.max_power_watts(), 1.5);
  EXPECT_DOUBLE_EQ(port.temperature().value(), 52);
  EXPECT_FALSE(port.has_temperature_alarm_high());
  EXPECT_EQ(port.cable_type(), "passive copper");
  EXPECT_EQ(port.identifier(), "OSFP");
  EXPECT_THAT(port.fec(), HasSubstr("PLR"));
}

TEST_F(TelemetryServiceTest, AJobHasItsWorstPortByEachMeasure) {
  const pb::GetJobViewResponse job = Job({"node1", "node2"});
  EXPECT_EQ(job.hosts(), 2u);
  // All ports that are ACTIVE, as the paths lead over the spine.
  EXPECT_EQ(job.ports(), 10u);
  EXPECT_EQ(job.ports_not_fresh(), 3u);
  std::map<std::string, pb::WorstPort> worst;
  for (const pb::WorstPort& each : job.worst()) worst[each.measure()] = each;
  EXPECT_NEAR(worst["utilisation"].value().value(), 0.6, 1e-6);
  EXPECT_EQ(worst["wait"].name(), "leaf2/3");
  EXPECT_EQ(worst["wait"].place(), "PATH");
  EXPECT_EQ(worst["wait"].peer().number(), 2u);
  EXPECT_THAT(worst["wait"].text(), HasSubstr("25.00 %"));
  EXPECT_DOUBLE_EQ(worst["wait"].value().window_seconds(), 30);
  EXPECT_EQ(worst["symbol_ber"].name(), "leaf1/1");
  EXPECT_EQ(worst["symbol_ber"].place(), "EDGE");
  EXPECT_EQ(worst["errors"].name(), "leaf1/1");
  EXPECT_DOUBLE_EQ(worst["errors"].value().value(), 101);
  EXPECT_EQ(worst["errors"].text(), "symbol_errors=100, link_downed=1");
  EXPECT_FALSE(worst["drop_ratio"].has_port());
  EXPECT_EQ(worst["drop_ratio"].text(), "not known of any port");
  EXPECT_NEAR(worst["link"].value().value(), 0.75, 1e-6);
  pb::GetJobViewRequest request;
  request.add_hosts("node9");
  pb::GetJobViewResponse none;
  EXPECT_EQ(ReasonOf(Call(&TelemetryStub::GetJobView, request, &none)), "HOST_NOT_FOUND");
}

TEST_F(TelemetryServiceTest, AHostAloneHasNoPaths) { EXPECT_EQ(Job({"node2"}).ports(), 2u); }

TEST_F(TelemetryServiceTest, PortsCanBeListedWithTheirRates) {
  pb::ListPortsRequest request;
  request.set_view(pb::PORT_VIEW_RATES);
  request.add_names("leaf1");
  pb::ListPortsResponse ports;
  ASSERT_TRUE(
      running_.Call(*running_.topology, &pb::TopologyService::Stub::ListPorts, request, &ports)
          .ok());
  ASSERT_EQ(ports.ports_size(), 5);
  EXPECT_DOUBLE_EQ(ports.ports(1).rates().xmit_bytes().value(), 6e9);
  EXPECT_DOUBLE_EQ(ports.ports(1).errors(), 101);
  EXPECT_EQ(ports.ports(3).rates().xmit_bytes().freshness(), "STALE");
  EXPECT_FALSE(ports.ports(3).has_errors());
  EXPECT_EQ(ports.ports(1).mtu_supported(), 4096u);
}

class RateWatch {
 public:
  RateWatch(TelemetryStub& stub, const pb::WatchRatesRequest& request) {
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    reader_ = stub.WatchRates(&context_, request);
  }
  // Names of the ports up to the next piece that completes a view, where it has some.
  std::vector<std::string> Next() {
    std::vector<std::string> names;
    pb::WatchRatesResponse piece;
    while (reader_->Read(&piece)) {
      for (const pb::PortCounters& port : piece.ports()) names.push_back(port.name());
      if (piece.complete() && !names.empty()) return names;
    }
    ADD_FAILURE() << reader_->Finish().error_message();
    return names;
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<pb::WatchRatesResponse>> reader_;
};

TEST_F(TelemetryServiceTest, AWatchShowsAllPortsAndThenThoseThatWereReadSince) {
  pb::WatchRatesRequest request;
  request.add_names("leaf1");
  RateWatch watch(*stub_, request);
  EXPECT_THAT(watch.Next(), ElementsAre("leaf1/1", "leaf1/3"));
  maker_.view.number = 2;
  maker_.view.at += 20'000;
  maker_.Port(fabric_.leaf1, 3).read_at[0] = maker_.view.at - 5'000;
  backend_.telemetry_view = maker_.Make();
  EXPECT_THAT(watch.Next(), ElementsAre("leaf1/3"));
}

TEST_F(TelemetryServiceTest, AWatcherThatTakesTooLongForAViewIsEnded) {
  // Enough ports for more than one piece.
  const NodeIndex big = fabric_.maker.Add(wire::NodeType::kSwitch, Guid(0x200300), 250, "a-wide");
  view_ = fabric_.View(8);
  backend_.Publish(view_);
  TelemetryMaker maker(view_->snapshot);
  for (int i = 1; i <= 250; ++i) maker.Port(big, static_cast<uint8_t>(i));
  backend_.telemetry_view = maker.Make();
  daemon::Models models(backend_);
  struct Reading : RateStreamBase {
    static auto Method() { return &Reading::Next; }
  };
  const auto next = Reading::Method();
  const auto stream = MakeRateStream(models, backend_, {}, std::chrono::milliseconds(-1));
  ASSERT_TRUE(stream.ok()) << stream.status();
  pb::WatchRatesResponse piece;
  const auto more = ((**stream).*next)(false, &piece);
  EXPECT_EQ(more.status().code(), absl::StatusCode::kResourceExhausted);
  const auto patient = MakeRateStream(models, backend_, {});
  ASSERT_TRUE(((**patient).*next)(false, &piece).ok());
  EXPECT_GE(piece.ports_size(), 250);
  EXPECT_FALSE(piece.complete());
}

TEST_F(TelemetryServiceTest, PollingIsAnsweredWhenAllPortsWereRead) {
  pb::PollCountersResponse response;
  EXPECT_TRUE(Call(&TelemetryStub::PollCounters, pb::PollCountersRequest(), &response).ok());
}

}  // namespace
}  // namespace fabricd::rpc::testing
