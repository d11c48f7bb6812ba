// SPDX-License-Identifier: Apache-2.0
// What `get -w` prints of a stream, word for word.
#include "cli/verbs/watch.h"

#include "tests/unit/cli/golden.h"
#include "tests/unit/cli/sample.h"

namespace fabricd::cli::testing {
namespace {

using pb::CHANGE_TYPE_ADDED;
using pb::CHANGE_TYPE_DELETED;
using pb::CHANGE_TYPE_MODIFIED;

class WatchTest : public ::testing::Test {
 protected:
  WatchTest() {
    options_.resource = Resource::kPort;
    const pb::ListPortsResponse sample = SamplePorts();
    ports_.assign(sample.ports().begin(), sample.ports().end());
  }
  void Begin() {
    watch_ = std::make_unique<StreamWatch>(globals_, options_);
    ::testing::internal::CaptureStdout();
    for (const pb::Port& port : ports_) Tell(CHANGE_TYPE_ADDED, port);
    pb::WatchTopologyResponse synced;
    synced.mutable_synced()->set_resource_version("1");
    EXPECT_TRUE(watch_->Take(synced).ok());
  }
  void Tell(pb::ChangeType type, const pb::Port& port) {
    pb::WatchTopologyResponse message;
    message.mutable_change()->set_type(type);
    *message.mutable_change()->mutable_port() = port;
    EXPECT_TRUE(watch_->Take(message).ok());
  }
  static std::string Printed() { return ::testing::internal::GetCapturedStdout(); }

  Globals globals_;
  GetOptions options_;
  std::vector<pb::Port> ports_;
  std::unique_ptr<StreamWatch> watch_;
};

TEST_F(WatchTest, AnObjectThatLeavesTheSelectionIsReportedOnce) {
  options_.fields = "state=ACTIVE";
  Begin();
  pb::Port port = ports_.front();
  port.set_state("INIT");
  Tell(CHANGE_TYPE_MODIFIED, port);
  port.set_state("DOWN");
  Tell(CHANGE_TYPE_MODIFIED, port);  // It was none of these before.
  port.set_state("ACTIVE");
  Tell(CHANGE_TYPE_MODIFIED, port);
  Tell(CHANGE_TYPE_MODIFIED, port);  // As a stream that goes on tells again.
  Tell(CHANGE_TYPE_DELETED, port);
  Tell(CHANGE_TYPE_DELETED, port);
  ExpectGolden("watch_selected", Printed());
}

TEST_F(WatchTest, OtherFilterOptionsAreSelectionsToo) {
  options_.states = {"ACTIVE"};
  globals_.format = Format::kName;
  Begin();
  const std::string first = Printed();
  ::testing::internal::CaptureStdout();
  pb::Port port = ports_.front();
  port.set_state("DOWN");
  Tell(CHANGE_TYPE_MODIFIED, port);
  Tell(CHANGE_TYPE_DELETED, port);
  const std::string later = Printed();
  EXPECT_EQ(later, first.substr(0, first.find('\n') + 1));
}

TEST_F(WatchTest, WithoutASelectionEachChangeIsReportedOnce) {
  Begin();
  pb::Port port = ports_.front();
  port.set_state("DOWN");
  Tell(CHANGE_TYPE_MODIFIED, port);
  Tell(CHANGE_TYPE_MODIFIED, port);
  Tell(CHANGE_TYPE_DELETED, port);
  ExpectGolden("watch", Printed());
}

TEST(WatchPrinterTest, AnObjectThatIsNoLongerListedIsReportedAsDeleted) {
  const Globals globals;
  GetOptions options;
  options.resource = Resource::kPort;
  const auto listed = [&](const pb::ListPortsResponse& ports) {
    Listing listing;
    EXPECT_TRUE(
        MakeListing(globals, options, std::make_unique<pb::ListPortsResponse>(ports), &listing)
            .ok());
    return listing;
  };
  WatchPrinter printer(globals);
  pb::ListPortsResponse ports = SamplePorts();
  ::testing::internal::CaptureStdout();
  printer.Print(listed(ports));
  ports.mutable_ports()->DeleteSubrange(0, 1);
  printer.Print(listed(ports));
  printer.Print(listed(ports));
  ExpectGolden("watch_gone", ::testing::internal::GetCapturedStdout());
}

}  // namespace
}  // namespace fabricd::cli::testing
