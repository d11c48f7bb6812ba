// SPDX-License-Identifier: Apache-2.0
// SimService hands names on to the simulator.
#include "fabric/sim/v1/sim.grpc.pb.h"
#include "sim/fabric/control.h"
#include "tests/unit/daemon/rpc/running_server.h"

namespace fabricd::rpc::testing {
namespace {

namespace simpb = ::fabric::sim::v1;
using ::testing::ElementsAre;
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

TEST_F(SimServiceTest, FailuresAreToldApart) {
  EXPECT_EQ(Unlink("leaf1").error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_TRUE(control_.asked.empty());
  control_.answer = absl::NotFoundError("no node");
  EXPECT_EQ(ReasonOf(Unlink("x/1")), "NODE_NOT_FOUND");
  control_.answer = absl::FailedPreconditionError("pulled already");
  const auto status = Unlink("leaf1/3");
  EXPECT_EQ(ReasonOf(status), "CABLE_STATE");
  EXPECT_EQ(status.error_message(), "pulled already");
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
