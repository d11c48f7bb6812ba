// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/streams/topology_watch.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/rng.h"
#include "tests/unit/daemon/rpc/running_server.h"

namespace fabricd::rpc::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

std::string KeyOf(const pb::TopologyChange& change) {
  const auto port = [](const pb::PortId& id) {
    return id.node_guid() + "/" + std::to_string(id.number());
  };
  switch (change.object_case()) {
    case pb::TopologyChange::kNode: return change.node().guid();
    case pb::TopologyChange::kHost: return change.host().name();
    case pb::TopologyChange::kPort: return port(change.port().id());
    case pb::TopologyChange::kLink: return port(change.link().a()) + "-" + port(change.link().b());
    default: return "?";
  }
}

// A client that keeps what it was told of.
class Watching {
 public:
  Watching(RunningServer& server, const pb::WatchTopologyRequest& request) {
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    reader_ = server.topology->WatchTopology(&context_, request);
  }
  ~Watching() {
    context_.TryCancel();
    if (!finished_) reader_->Finish();
  }
  // Reads until all is told, and gives the changes as "ADDED key".
  std::vector<std::string> ReadToSync() {
    std::vector<std::string> read;
    for (;;) {
      pb::WatchTopologyResponse response;
      if (!reader_->Read(&response)) {
        ADD_FAILURE() << "ended";
        return read;
      }
      if (response.has_synced()) version = response.synced().resource_version();
      if (response.has_synced()) return read;
      read.push_back(Take(response.change()));
    }
  }
  std::string ReadChange() {
    pb::WatchTopologyResponse response;
    EXPECT_TRUE(reader_->Read(&response));
    return Take(response.change());
  }
  std::string ReadBookmark() {
    pb::WatchTopologyResponse response;
    EXPECT_TRUE(reader_->Read(&response));
    EXPECT_TRUE(response.has_bookmark());
    return response.bookmark().resource_version();
  }
  grpc::Status Finish() {
    pb::WatchTopologyResponse response;
    EXPECT_FALSE(reader_->Read(&response));
    finished_ = true;
    return reader_->Finish();
  }

  std::string version;
  std::map<std::string, std::string> objects;  // By key, serialised.

 private:
  std::string Take(const pb::TopologyChange& change) {
    const std::string key = KeyOf(change);
    pb::TopologyChange shown = change;
    shown.clear_type();
    if (change.type() == pb::CHANGE_TYPE_DELETED)
      objects.erase(key);
    else
      objects[key] = shown.SerializeAsString();
    return pb::ChangeType_Name(change.type()).substr(12) + " " + key;
  }

  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<pb::WatchTopologyResponse>> reader_;
  bool finished_ = false;
};

pb::WatchTopologyRequest Of(pb::TopologyKind kind, std::vector<std::string> names = {}) {
  pb::WatchTopologyRequest request;
  request.set_kind(kind);
  for (const std::string& name : names) request.add_names(name);
  return request;
}

class TopologyWatchTest : public ::testing::Test {
 protected:
  void Publish() {
    backend_.Publish(fabric_.View(++generation_));
    server_.server->OnPublished();
  }
  fabric::SnapshotBuilder& builder() { return fabric_.maker.builder; }

  uint64_t generation_ = 1;
  SmallFabric fabric_;
  FakeBackend backend_{fabric_.View(1)};
  RunningServer server_{backend_};
};

TEST_F(TopologyWatchTest, SendsTheCurrentObjectsThenChanges) {
  Watching hosts(server_, Of(pb::TOPOLOGY_KIND_HOST));
  EXPECT_THAT(hosts.ReadToSync(), ElementsAre("ADDED node1", "ADDED node2"));
  Watching nodes(server_, Of(pb::TOPOLOGY_KIND_NODE, {"leaf2", "node2 mlx5_0"}));
  EXPECT_THAT(nodes.ReadToSync(),
              ElementsAre("ADDED 0x0000000000200100", "ADDED 0x0000000000100200"));
  builder().RemoveNode(fabric_.node2);
  Publish();
  EXPECT_EQ(hosts.ReadChange(), "DELETED node2");
  EXPECT_EQ(nodes.ReadChange(), "DELETED 0x0000000000100200");
  EXPECT_EQ(nodes.ReadChange(), "MODIFIED 0x0000000000200100");
}

TEST_F(TopologyWatchTest, SendsChangesOfLinksAndOfPortsAtBothEnds) {
  Watching links(server_, Of(pb::TOPOLOGY_KIND_LINK));
  EXPECT_EQ(links.ReadToSync().size(), 5u);
  Watching ports(server_, Of(pb::TOPOLOGY_KIND_PORT, {"leaf1", "spine/1"}));
  // Ports 0 to 4 of the leaf.
  EXPECT_EQ(ports.ReadToSync().size(), 6u);
  builder().Unlink({fabric_.leaf1, PortNum(3)});
  Publish();
  EXPECT_EQ(links.ReadChange(), "DELETED 0x0000000000200000/3-0x0000000000200200/1");
  EXPECT_THAT(
      (std::vector{ports.ReadChange(), ports.ReadChange()}),
      UnorderedElementsAre("MODIFIED 0x0000000000200000/3", "MODIFIED 0x0000000000200200/1"));
}

TEST_F(TopologyWatchTest, SendsAChangeForAHold) {
  Watching nodes(server_, Of(pb::TOPOLOGY_KIND_NODE));
  nodes.ReadToSync();
  policy::HoldStatus status;
  status.hold.id = 1;
  status.hold.kind = policy::HoldKind::kCordon;
  status.hold.target.kind = policy::TargetKind::kHca;
  status.hold.target.nodes = {kNode2};
  fabric_.policy.holds = {status};
  Publish();
  EXPECT_EQ(nodes.ReadChange(), "MODIFIED 0x0000000000100200");
}

TEST_F(TopologyWatchTest, ContinuesFromAVersion) {
  std::string version;
  {
    Watching links(server_, Of(pb::TOPOLOGY_KIND_LINK));
    links.ReadToSync();
    version = links.version;
    // A beat shows that it is at rest.
    backend_.events().Beat();
    EXPECT_EQ(links.ReadBookmark(), version);
  }
  builder().Unlink({fabric_.leaf2, PortNum(1)});
  Publish();
  auto request = Of(pb::TOPOLOGY_KIND_LINK);
  request.set_resource_version(version);
  Watching again(server_, request);
  // What was missed comes before the word that all has been told.
  EXPECT_THAT(again.ReadToSync(), ElementsAre("DELETED 0x0000000000200100/1-0x0000000000100200/1"));
  request.set_resource_version(again.version);
  Watching third(server_, request);
  EXPECT_EQ(third.ReadToSync().size(), 0u);
}

TEST_F(TopologyWatchTest, RefusesInvalidRequestsByReason) {
  const auto reason = [&](const pb::WatchTopologyRequest& request) {
    return ReasonOf(Watching(server_, request).Finish());
  };
  EXPECT_EQ(reason({}), "INVALID_REQUEST");
  EXPECT_EQ(reason(Of(pb::TOPOLOGY_KIND_HOST, {"node9"})), "HOST_NOT_FOUND");
  EXPECT_EQ(reason(Of(pb::TOPOLOGY_KIND_NODE, {"node9"})), "NODE_NOT_FOUND");
  auto old = Of(pb::TOPOLOGY_KIND_NODE);
  old.set_resource_version("0.7");
  EXPECT_EQ(reason(old), "RESOURCE_VERSION_TOO_OLD");
  old.set_resource_version("yesterday");
  EXPECT_EQ(reason(old), "INVALID_REQUEST");
}

// After any changes, a client that applied them has the current objects.
TEST_F(TopologyWatchTest, ChangesAddUpToTheCurrentObjects) {
  daemon::Models models(backend_);
  TopologyDeltas deltas;
  Rng rng(3);
  const std::vector<NodeIndex> nodes = {fabric_.leaf1,   fabric_.leaf2,   fabric_.spine,
                                        fabric_.node1_0, fabric_.node1_1, fabric_.node2};
  const auto original = fabric_.maker.builder.Build();
  const auto show = [](const query::ReadModel& model, const Watched& watched,
                       const ObjectKey& key) {
    pb::TopologyChange shown;
    ToProto(model, watched, key, &shown);
    return shown.SerializeAsString();
  };
  for (const auto kind : {pb::TOPOLOGY_KIND_NODE, pb::TOPOLOGY_KIND_HOST, pb::TOPOLOGY_KIND_PORT,
                          pb::TOPOLOGY_KIND_LINK}) {
    const Watched watched{kind, pb::PORT_VIEW_FULL};
    auto model = models.Current();
    std::map<ObjectKey, std::string> known;
    for (const ObjectChange& change : AllOf(*model, watched))
      known[change.key] = show(*model, watched, change.key);
    for (int round = 0; round < 100; ++round) {
      const NodeIndex node = nodes[rng.Below(nodes.size())];
      const PortRef port{node, PortNum(1)};
      if (builder().node(node) == nullptr) {
        builder().PutNode(original->node(node)->info);
        builder().SetDescription(node, original->node(node)->description);
      } else if (rng.Below(6) == 0) {
        builder().RemoveNode(node);
      } else if (rng.Below(5) == 0) {
        builder().SetDescription(node, fmt::format("node{} mlx5_{}", rng.Below(3), node.value()));
      } else if (rng.Below(3) == 0) {
        builder().SetPortInfo(port, MakePortInfo(wire::PortState::kActive, rng.Below(2) ? 1 : 2));
      } else if (const NodeIndex other = nodes[rng.Below(nodes.size())];
                 other != node && builder().node(other) != nullptr) {
        builder().Link(port, {other, PortNum(1)});
      }
      backend_.Publish(fabric_.View(++generation_));
      const auto next = models.Current();
      for (const ObjectChange& change : *deltas.Between(model, next, watched)) {
        if (change.type == pb::CHANGE_TYPE_DELETED)
          EXPECT_EQ(known.erase(change.key), 1u);
        else
          known[change.key] = show(*next, watched, change.key);
      }
      std::map<ObjectKey, std::string> there;
      for (const ObjectChange& change : AllOf(*next, watched))
        there[change.key] = show(*next, watched, change.key);
      ASSERT_EQ(known, there) << pb::TopologyKind_Name(kind) << " round " << round;
      model = next;
    }
  }
}

struct IdleStream : WatchHub::Stream {
  void OnChange(bool) override {}
};

TEST(WatchHubTest, StreamsAreBoundedAndForgotten) {
  WatchHub hub;
  auto first = std::make_shared<IdleStream>();
  ASSERT_TRUE(hub.Add(first, 1));
  EXPECT_FALSE(hub.Add(std::make_shared<IdleStream>(), 1));
  first.reset();
  EXPECT_EQ(hub.stream_count(), 0u);
  EXPECT_TRUE(hub.Add(std::make_shared<IdleStream>(), 1));
}

}  // namespace
}  // namespace fabricd::rpc::testing
