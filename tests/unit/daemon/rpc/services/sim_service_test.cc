// SPDX-License-Identifier: Apache-2.0
// SimService hands names on to the simulator.
#include "fabric/sim/v1/sim.grpc.pb.h"
#include "sim/fabric/control.h"
#include "tests/unit/daemon/rpc/running_server.h"

namespace fabricd::rpc::testing {
namespace {

namespace simpb = ::fabric::sim::v1;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using SimStub = simpb::SimService::Stub;

// Writes down what it is asked, and answers `answer`.
class RecordingControl final : public sim::Control {
 public:
  absl::Status Unlink(const std::string& node, PortNum port) override {
    return Record(fmt::format("unlink {} {}", node, port));
  }
  absl::Status Link(const std::string& node, PortNum port) override {
    return Record(fmt::format("link {} {}", node, port));
  }
  absl::Status Connect(const std::string& a, PortNum port_a, const std::string& b,
                       PortNum port_b) override {
    return Record(fmt::format("connect {} {} {} {}", a, port_a, b, port_b));
  }
  absl::Status Reboot(const std::string& node) override { return Record("reboot " + node); }
  absl::Status SetErrors(const std::string& node, PortNum port,
                         const sim::PortErrors& errors) override {
    std::string text = fmt::format("errors {} {}", node, port);
    if (errors.clear) text += " clear";
    for (const auto& [counter, count] : errors.counts) {
      text += fmt::format(" {}={}", sim::CounterName(counter), count);
    }
    if (errors.rates) text += fmt::format(" symbol-ber={}", errors.rates->symbol);
    if (errors.module_celsius) text += fmt::format(" {} degrees", *errors.module_celsius);
    return Record(std::move(text));
  }
  absl::Status SetPerformance(const std::string& node,
                              const sim::PerformanceOptions& options) override {
    return Record(fmt::format("performance '{}' {}", node, ToText(options)));
  }
  absl::Status SetClockRate(double rate) override { return Record(fmt::format("clock {}", rate)); }
  absl::Status StartTraffic(const sim::TrafficJob& job) override {
    return Record(fmt::format("start {} {} {} {}", job.name, TrafficPatternName(job.pattern),
                              fmt::join(job.hosts, ","), job.load));
  }
  absl::Status StopTraffic(const std::string& name) override { return Record("stop " + name); }
  std::vector<sim::TrafficReport> ListTraffic() override {
    return {{{"job", sim::TrafficPattern::kAllToAll, {"node1", "node2"}, 0.5}, 2, 1, 400, 100}};
  }
  std::vector<sim::SimCable> ListCables() override {
    return {
        {{"leaf1", kLeaf1, PortNum(1)}, {"node1 mlx5_0", kNode1Rail0, PortNum(1)}, true, false}};
  }
  std::vector<sim::SimNode> ListNodes() override { return {}; }

  absl::Status answer;
  std::vector<std::string> asked;

 private:
  absl::Status Record(std::string what) {
    asked.push_back(std::move(what));
    return answer;
  }
};

class SimServiceTest : public ::testing::Test {
 protected:
  SimServiceTest() {
    backend_.control = &control_;
    running_ = std::make_unique<RunningServer>(backend_);
    sim_ = simpb::SimService::NewStub(running_->channel);
  }
  grpc::Status Unlink(const std::string& port) {
    simpb::UnlinkRequest request;
    request.set_port(port);
    simpb::UnlinkResponse response;
    return running_->Call(*sim_, &SimStub::Unlink, request, &response);
  }
  SmallFabric fabric_;
  FakeBackend backend_{fabric_.View()};
  RecordingControl control_;
  std::unique_ptr<RunningServer> running_;
  std::unique_ptr<SimStub> sim_;
};

TEST_F(SimServiceTest, NamesOfTheViewBecomeGuids) {
  EXPECT_TRUE(Unlink("leaf1[3]").ok());
  EXPECT_TRUE(Unlink("spine/2").ok());
  EXPECT_TRUE(
      Unlink("no such node:1").ok());  // The simulator may know nodes that the view does not.
  simpb::RebootRequest reboot;
  reboot.set_node("node2");
  simpb::RebootResponse rebooted;
  EXPECT_TRUE(running_->Call(*sim_, &SimStub::Reboot, reboot, &rebooted).ok());
  simpb::LinkRequest link;
  link.set_port("leaf1:3");
  simpb::LinkResponse linked;
  EXPECT_TRUE(running_->Call(*sim_, &SimStub::Link, link, &linked).ok());
  simpb::ConnectRequest connect;
  connect.set_a("leaf1/4");
  connect.set_b("leaf2/4");
  simpb::ConnectResponse connected;
  EXPECT_TRUE(running_->Call(*sim_, &SimStub::Connect, connect, &connected).ok());
  EXPECT_THAT(control_.asked, ElementsAre("unlink 0x0000000000200000 3",
                                          "unlink 0x0000000000200200 2", "unlink no such node 1",
                                          "reboot 0x0000000000100200", "link 0x0000000000200000 3",
                                          "connect 0x0000000000200000 4 0x0000000000200100 4"));
}

TEST_F(SimServiceTest, FailuresHaveDistinctReasons) {
  EXPECT_EQ(Unlink("leaf1").error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_TRUE(control_.asked.empty());
  control_.answer = absl::NotFoundError("no node");
  EXPECT_EQ(ReasonOf(Unlink("x/1")), "NODE_NOT_FOUND");
  control_.answer = absl::FailedPreconditionError("pulled already");
  const auto status = Unlink("leaf1/3");
  EXPECT_EQ(ReasonOf(status), "CABLE_STATE");
  EXPECT_EQ(status.error_message(), "pulled already");
}

TEST_F(SimServiceTest, ErrorsOfPortsAreHandedOn) {
  simpb::SetErrorsRequest request;
  request.set_port("leaf1/3");
  request.set_clear(true);
  (*request.mutable_counters())["symbol-errors"] = 7;
  request.mutable_rates()->set_symbol(0.5);
  request.set_module_celsius(-3);
  simpb::SetErrorsResponse response;
  EXPECT_TRUE(running_->Call(*sim_, &SimStub::SetErrors, request, &response).ok());
  EXPECT_THAT(control_.asked, ElementsAre("errors 0x0000000000200000 3 clear symbol-errors=7 "
                                          "symbol-ber=0.5 -3 degrees"));
  (*request.mutable_counters())["no-such"] = 7;
  const auto refused = running_->Call(*sim_, &SimStub::SetErrors, request, &response);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(refused.error_message(), HasSubstr("rcv-errors"));
  request.clear_counters();
  request.mutable_rates()->set_raw(2);
  EXPECT_EQ(running_->Call(*sim_, &SimStub::SetErrors, request, &response).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(SimServiceTest, PerformanceAndClockAreHandedOn) {
  simpb::SetPerformanceRequest request;
  request.set_options("plain,slow=5");
  simpb::SetPerformanceResponse response;
  EXPECT_TRUE(running_->Call(*sim_, &SimStub::SetPerformance, request, &response).ok());
  request.set_node("leaf1");
  EXPECT_TRUE(running_->Call(*sim_, &SimStub::SetPerformance, request, &response).ok());
  simpb::SetClockRequest clock;
  clock.set_rate(60);
  simpb::SetClockResponse set;
  EXPECT_TRUE(running_->Call(*sim_, &SimStub::SetClock, clock, &set).ok());
  EXPECT_THAT(control_.asked,
              ElementsAre("performance '' plain,slow=5",
                          "performance '0x0000000000200000' plain,slow=5", "clock 60"));
  request.set_options("fast");
  EXPECT_EQ(running_->Call(*sim_, &SimStub::SetPerformance, request, &response).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  control_.answer = absl::InvalidArgumentError("too fast");
  EXPECT_EQ(running_->Call(*sim_, &SimStub::SetClock, clock, &set).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(SimServiceTest, JobsAreStartedStoppedAndListed) {
  simpb::StartTrafficRequest start;
  start.mutable_job()->set_name("job");
  start.mutable_job()->set_pattern("ring");
  start.mutable_job()->add_hosts("node1");
  start.mutable_job()->add_hosts("node2");
  simpb::StartTrafficResponse started;
  EXPECT_TRUE(running_->Call(*sim_, &SimStub::StartTraffic, start, &started).ok());
  simpb::StopTrafficRequest stop;
  stop.set_name("job");
  simpb::StopTrafficResponse stopped;
  EXPECT_TRUE(running_->Call(*sim_, &SimStub::StopTraffic, stop, &stopped).ok());
  EXPECT_THAT(control_.asked, ElementsAre("start job ring node1,node2 1", "stop job"));
  simpb::ListTrafficResponse jobs;
  ASSERT_TRUE(running_->Call(*sim_, &SimStub::ListTraffic, {}, &jobs).ok());
  ASSERT_EQ(jobs.jobs_size(), 1);
  EXPECT_EQ(jobs.jobs(0).job().pattern(), "all-to-all");
  EXPECT_EQ(jobs.jobs(0).job().hosts_size(), 2);
  EXPECT_EQ(jobs.jobs(0).unrouted(), 1u);
  EXPECT_EQ(jobs.jobs(0).slowest_gigabits(), 100);

  control_.answer = absl::NotFoundError("none");
  EXPECT_EQ(ReasonOf(running_->Call(*sim_, &SimStub::StopTraffic, stop, &stopped)),
            "JOB_NOT_FOUND");
  EXPECT_EQ(ReasonOf(running_->Call(*sim_, &SimStub::StartTraffic, start, &started)),
            "HOST_NOT_FOUND");
  start.mutable_job()->set_pattern("star");
  EXPECT_EQ(running_->Call(*sim_, &SimStub::StartTraffic, start, &started).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(SimServiceTest, CablesAreListed) {
  simpb::ListLinksResponse links;
  ASSERT_TRUE(running_->Call(*sim_, &SimStub::ListLinks, simpb::ListLinksRequest(), &links).ok());
  ASSERT_EQ(links.links_size(), 1);
  EXPECT_EQ(links.links(0).a().guid(), "0x0000000000200000");
  EXPECT_EQ(links.links(0).b().node(), "node1 mlx5_0");
  EXPECT_TRUE(links.links(0).plugged());
  EXPECT_FALSE(links.links(0).up());
}

}  // namespace
}  // namespace fabricd::rpc::testing
