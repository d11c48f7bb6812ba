// SPDX-License-Identifier: Apache-2.0
// History and live stream as clients see them.
#include "daemon/record/event_log.h"

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

#include "tests/unit/daemon/rpc/running_server.h"

namespace fabricd::rpc::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using EventStub = pb::EventService::Stub;

fabric::FabricEvent Event(const std::string& type, Guid node = Guid(),
                          fabric::Severity severity = fabric::Severity::kInfo) {
  fabric::FabricEvent event;
  event.type = type;
  event.node = node;
  event.severity = severity;
  return event;
}

// A running WatchEvents.
class Watch {
 public:
  Watch(RunningServer& server, const pb::WatchEventsRequest& request) {
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    reader_ = server.events->WatchEvents(&context_, request);
  }
  ~Watch() { context_.TryCancel(); }
  pb::WatchEventsResponse Next() {
    pb::WatchEventsResponse response;
    EXPECT_TRUE(reader_->Read(&response));
    return response;
  }
  std::string NextType() {
    const auto response = Next();
    if (response.has_synced()) return "SYNCED";
    if (response.has_bookmark()) return "BOOKMARK";
    return response.event().type();
  }
  grpc::Status Finish() { return reader_->Finish(); }
  bool Read(pb::WatchEventsResponse* response) { return reader_->Read(response); }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<pb::WatchEventsResponse>> reader_;
};

class EventServiceTest : public ::testing::Test {
 protected:
  void EmitEvents(std::vector<fabric::FabricEvent> events) {
    backend_.log->Append(std::move(events), Instant());
  }
  grpc::Status List(const pb::ListEventsRequest& request) {
    response_.Clear();
    return running_.Call(*running_.events, &EventStub::ListEvents, request, &response_);
  }
  std::vector<std::string> Types() const {
    std::vector<std::string> types;
    for (const pb::Event& event : response_.events()) types.push_back(event.type());
    return types;
  }

  SmallFabric fabric_;
  FakeBackend backend_{fabric_.View()};
  RunningServer running_{backend_};
  pb::ListEventsResponse response_;
};

TEST_F(EventServiceTest, ListsAllOfAReroute) {
  fabric::FabricEvent event = Event("RerouteCompleted", kLeaf1, fabric::Severity::kWarning);
  event.subject = "leaf1/3 ↔ spine/1";
  event.port = PortNum(3);
  event.message = "routes lead round it";
  event.facts = {{"links", "1"}};
  fabric::Reroute& cost = event.reroute.emplace();
  cost.cause = "trap 128";
  cost.engine = "least change of rail";
  cost.surveyed = std::chrono::milliseconds(2);
  cost.planned = std::chrono::microseconds(4500);
  cost.applied = std::chrono::milliseconds(9);
  cost.smps_sent = 70;
  cost.blocks_written = 9;
  cost.switches_written = 3;
  cost.destinations_changed = 4;
  cost.waves = 2;
  cost.superseded = true;
  EmitEvents({event});
  ASSERT_TRUE(List({}).ok());
  ASSERT_EQ(response_.events_size(), 1);
  const pb::Event& shown = response_.events(0);
  EXPECT_EQ(shown.resource_version(), response_.resource_version());
  EXPECT_GT(shown.time().seconds(), 1'600'000'000);
  EXPECT_EQ(shown.severity(), pb::SEVERITY_WARNING);
  EXPECT_EQ(shown.subject(), "leaf1/3 ↔ spine/1");
  EXPECT_EQ(shown.node_guid(), "0x0000000000200000");
  EXPECT_EQ(shown.port(), 3u);
  EXPECT_EQ(shown.message(), "routes lead round it");
  EXPECT_EQ(shown.facts().at("links"), "1");
  const pb::RerouteCompleted& reroute = shown.reroute();
  EXPECT_EQ(reroute.cause(), "trap 128");
  EXPECT_EQ(reroute.subject(), "leaf1/3 ↔ spine/1");
  EXPECT_EQ(reroute.engine(), "least change of rail");
  EXPECT_EQ(reroute.surveyed_ms(), 2);
  EXPECT_EQ(reroute.planned_ms(), 4.5);
  EXPECT_EQ(reroute.applied_ms(), 9);
  EXPECT_EQ(reroute.smps_sent(), 70u);
  EXPECT_EQ(reroute.blocks_written(), 9u);
  EXPECT_EQ(reroute.switches(), 3u);
  EXPECT_EQ(reroute.destinations_changed(), 4u);
  EXPECT_EQ(reroute.waves(), 2u);
  EXPECT_TRUE(reroute.superseded());
}

TEST_F(EventServiceTest, ListsByTypeNodeHostSeverityAndAge) {
  EmitEvents({Event("LinkUp", kLeaf1), Event("LinkDown", kNode1Rail1, fabric::Severity::kError),
              Event("LinkUp", Guid(0xDEAD)), Event("SubnetUp")});
  pb::ListEventsRequest request;
  request.add_types("LinkUp");
  ASSERT_TRUE(List(request).ok());
  EXPECT_THAT(Types(), ElementsAre("LinkUp", "LinkUp"));
  request.Clear();
  request.add_nodes("node1");  // A host: both of its HCAs.
  ASSERT_TRUE(List(request).ok());
  EXPECT_THAT(Types(), ElementsAre("LinkDown"));
  request.Clear();
  request.add_nodes("leaf1");
  request.add_nodes("0x000000000000dead");  // Not part of the fabric.
  ASSERT_TRUE(List(request).ok());
  EXPECT_THAT(Types(), ElementsAre("LinkUp", "LinkUp"));
  request.Clear();
  request.set_min_severity(pb::SEVERITY_WARNING);
  ASSERT_TRUE(List(request).ok());
  EXPECT_THAT(Types(), ElementsAre("LinkDown"));
  request.Clear();
  request.mutable_within()->set_seconds(60);
  ASSERT_TRUE(List(request).ok());
  EXPECT_EQ(response_.events_size(), 4);
  request.mutable_within()->set_seconds(-60);
  ASSERT_TRUE(List(request).ok());
  EXPECT_THAT(Types(), IsEmpty());
  request.mutable_within()->set_seconds(int64_t{5'000} * 365 * 86'400);
  ASSERT_TRUE(List(request).ok());
  EXPECT_EQ(response_.events_size(), 4);
  request.mutable_within()->set_seconds(INT64_MAX);
  EXPECT_EQ(List(request).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  request.Clear();
  request.add_nodes("nowhere");
  const auto status = List(request);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(ReasonOf(status), "NODE_NOT_FOUND");
}

TEST_F(EventServiceTest, FindsHostsAtEitherEndAndVanishedNodes) {
  fabric::FabricEvent host = Event("LinkDown", kLeaf1), gone = Event("LinkDown", kLeaf2);
  host.subject = "leaf1/1 ↔ node1 mlx5_0/1";
  host.peer = kNode1Rail0;
  host.peer_port = PortNum(1);
  gone.subject = "leaf2/7 ↔ node9 mlx5_3/1";
  gone.peer = Guid(0x999);
  EmitEvents({host, gone});
  const auto list = [&](const std::string& node) {
    pb::ListEventsRequest request;
    request.add_nodes(node);
    const auto status = List(request);
    EXPECT_TRUE(status.ok()) << node << ": " << status.error_message();
    return response_.events_size() == 1 ? response_.events(0).subject() : "";
  };
  for (const char* node : {"node1", "node1 mlx5_0", "node1/mlx5_0", "leaf1"})
    EXPECT_EQ(list(node), host.subject) << node;
  EXPECT_EQ(response_.events(0).peer_guid(), fmt::format("{}", kNode1Rail0));
  EXPECT_EQ(response_.events(0).peer_port(), 1u);
  for (const char* node : {"node9", "node9 mlx5_3", "node9/mlx5_3", "0x0000000000000999", "leaf2"})
    EXPECT_EQ(list(node), gone.subject) << node;
  pb::WatchEventsRequest request;
  request.add_nodes("node9");
  Watch watch(running_, request);
  EXPECT_EQ(watch.NextType(), "SYNCED");
  EmitEvents({host, gone});
  EXPECT_EQ(watch.Next().event().subject(), gone.subject);
  request.set_nodes(0, "node8");
  EXPECT_EQ(ReasonOf(Watch(running_, request).Finish()), "NODE_NOT_FOUND");
}

TEST_F(EventServiceTest, RefusesUnknownEventTypes) {
  pb::ListEventsRequest request;
  request.add_types("LinkDwn");
  const auto status = List(request);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), ::testing::HasSubstr("LinkDown, LinkReleased"));
  pb::WatchEventsRequest watched;
  watched.add_types("LinkDwn");
  EXPECT_EQ(Watch(running_, watched).Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

// In all sources that emit events.
TEST(EventTypes, AreExactlyTheTypesInTheSources) {
  const std::regex made(R"re((?:Tell|TellOfLink|OfSubnet|EventOf)\(\s*"([A-Z]\w+)")re"
                        R"re(|(?:event\.|[ *])type = (?:[^;"]*\? )?"([A-Z]\w+)"(?: : "(\w+)")?)re"
                        R"re(|tell\([\w.>, -]+"([A-Z]\w+)"\))re"
                        R"re(|\{"([A-Z]\w+)", Severity::k)re"
                        R"re(|gone = expired \? "(\w+)" : "(\w+)")re");
  std::set<std::string> types;
  for (const char* folder : {"sweep", "daemon", "policy"})
    for (const auto& entry : std::filesystem::recursive_directory_iterator(
             std::string(FABRICD_SOURCE_DIR) + "/" + folder)) {
      if (entry.path().extension() != ".cc") continue;
      std::ifstream file(entry.path());
      const std::string text{std::istreambuf_iterator<char>(file), {}};
      for (std::sregex_iterator at(text.begin(), text.end(), made), end; at != end; ++at)
        for (size_t group = 1; group < at->size(); ++group)
          if ((*at)[group].matched) types.insert((*at)[group]);
    }
  const std::set<std::string> known(fabric::kEventTypes.begin(), fabric::kEventTypes.end());
  EXPECT_EQ(types, known);
}

TEST_F(EventServiceTest, ListsInPagesOrTheLatest) {
  EmitEvents({Event("1"), Event("2"), Event("3"), Event("4"), Event("5")});
  pb::ListEventsRequest request;
  request.set_page_size(2);
  std::vector<std::string> all;
  do {
    ASSERT_TRUE(List(request).ok());
    for (const std::string& type : Types()) all.push_back(type);
    request.set_page_token(response_.next_page_token());
  } while (!request.page_token().empty());
  EXPECT_THAT(all, ElementsAre("1", "2", "3", "4", "5"));
  request.Clear();
  request.set_last(2);
  ASSERT_TRUE(List(request).ok());
  EXPECT_THAT(Types(), ElementsAre("4", "5"));
  EXPECT_EQ(response_.next_page_token(), "");
  request.Clear();
  request.set_page_token("another.1");
  auto status = List(request);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::OUT_OF_RANGE);
  EXPECT_EQ(ReasonOf(status), "PAGE_TOKEN_EXPIRED");
  request.Clear();
  request.set_page_size(-1);
  status = List(request);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(EventServiceTest, WatchBeginsNowOrResumes) {
  EmitEvents({Event("Before")});
  Watch live(running_, {});
  const auto synced = live.Next();
  ASSERT_TRUE(synced.has_synced());
  EmitEvents({Event("LinkUp"), Event("LinkDown", kLeaf1)});
  EXPECT_EQ(live.NextType(), "LinkUp");
  EXPECT_EQ(live.NextType(), "LinkDown");
  backend_.log->Beat();
  const auto bookmark = live.Next();
  ASSERT_TRUE(bookmark.has_bookmark());
  EXPECT_EQ(bookmark.bookmark().resource_version(), backend_.log->version());

  pb::WatchEventsRequest request;
  request.set_resource_version(synced.synced().resource_version());
  Watch resumed(running_, request);
  EXPECT_EQ(resumed.NextType(), "LinkUp");
  EXPECT_EQ(resumed.NextType(), "LinkDown");
  EXPECT_EQ(resumed.NextType(), "SYNCED");
  EmitEvents({Event("SubnetUp")});
  EXPECT_EQ(resumed.NextType(), "SubnetUp");
  EXPECT_EQ(live.NextType(), "SubnetUp");
}

TEST_F(EventServiceTest, WatchFiltersEventsAndSendsBookmarksForOthers) {
  const std::string begin = backend_.log->version();
  EmitEvents({Event("LinkUp", kLeaf1), Event("LinkDown", kLeaf1), Event("LinkUp", kLeaf2)});
  pb::WatchEventsRequest request;
  request.set_resource_version(begin);
  request.add_types("LinkUp");
  request.add_nodes("leaf2");
  Watch watch(running_, request);
  EXPECT_EQ(watch.NextType(), "LinkUp");
  EXPECT_EQ(watch.NextType(), "SYNCED");
  EmitEvents({Event("LinkDown", kLeaf2)});
  backend_.log->Beat();
  const auto bookmark = watch.Next();
  ASSERT_TRUE(bookmark.has_bookmark()) << bookmark.ShortDebugString();
  EXPECT_EQ(bookmark.bookmark().resource_version(), backend_.log->version());
}

TEST_F(EventServiceTest, WatchFromAnExpiredVersionReturnsWhereToBegin) {
  backend_.log = *daemon::EventLog::Open(backend_.store, backend_.on_store,
                                         {backend_.store, backend_.on_store}, {.ring = 2});
  RunningServer small(backend_);
  EmitEvents({Event("LinkUp"), Event("LinkDown"), Event("SubnetUp"), Event("D")});
  pb::WatchEventsRequest request;
  request.set_resource_version(backend_.log->VersionOf(1));
  Watch watch(small, request);
  pb::WatchEventsResponse response;
  EXPECT_FALSE(watch.Read(&response));
  const auto status = watch.Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::OUT_OF_RANGE);
  EXPECT_EQ(ReasonOf(status), "RESOURCE_VERSION_TOO_OLD");
  const auto info = DetailOf<google::rpc::ErrorInfo>(status);
  request.set_resource_version(info.metadata().at("oldest"));
  Watch again(small, request);
  EXPECT_EQ(again.NextType(), "SubnetUp");
}

TEST_F(EventServiceTest, AWatcherThatDoesNotReadIsEnded) {
  backend_.log = *daemon::EventLog::Open(backend_.store, backend_.on_store,
                                         {backend_.store, backend_.on_store}, {.ring = 100});
  RunningServer small(backend_);
  Watch watch(small, {});
  ASSERT_EQ(watch.NextType(), "SYNCED");
  // More than HTTP/2's window and gRPC's buffers hold.
  for (int i = 0; i < 40; ++i) {
    std::vector<fabric::FabricEvent> events(100, Event("LinkUp"));
    for (auto& event : events) event.message = std::string(10'000, 'x');
    EmitEvents(std::move(events));
  }
  pb::WatchEventsResponse response;
  int got = 0;
  while (watch.Read(&response)) ++got;
  const auto status = watch.Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonOf(status), "SLOW_WATCHER");
  EXPECT_LT(got, 4000);
}

}  // namespace
}  // namespace fabricd::rpc::testing
