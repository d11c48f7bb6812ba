// SPDX-License-Identifier: Apache-2.0
// Subnet Administration of the whole daemon on a simulated fabric: clients on other hosts ask, join
// and are told, over the fabric's links and its RMPP.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mad/wire/sa_records.h"
#include "tests/sim/running_app.h"
#include "tests/sim/sa_client.h"

namespace fabricd::daemon {
namespace {

using SaServiceTest = RunningApp;

// 720 switches of 24 ports and 3456 hosts: 21,456 PortInfoRecords in 7,725 segments.
TEST_F(SaServiceTest, TablesOfManySegments) {
  Run("fat-tree:radix=24,levels=3");
  SaClient client(*app, "node0099 mlx5_0");
  auto answer = client.AskPatiently(wire::Method::kGetTable, wire::PortInfoRecord{}, 0);
  EXPECT_EQ(answer.kind, mad::IncomingMad::Kind::kReceived);
  EXPECT_EQ(HeaderOf(answer).mad.status, wire::kStatusOk);
  size_t ports = 0;
  app->view()->snapshot->ForEachNode([&](const fabric::Node& node) {
    for (const fabric::Port& port : node.ports) ports += port.known;
  });
  EXPECT_GT(ports, 20'000u);
  const auto records = RecordsOf<wire::PortInfoRecord>(answer);
  EXPECT_EQ(records.size(), ports);
  EXPECT_EQ(HeaderOf(answer).attribute_offset * 8u, wire::PortInfoRecord::kBytes);
  EXPECT_TRUE(std::is_sorted(records.begin(), records.end(), [](const auto& a, const auto& b) {
    return std::pair(a.lid, a.port) < std::pair(b.lid, b.port);
  }));
  answer = client.AskPatiently(wire::Method::kGetTable, wire::LinkRecord{}, 0);
  EXPECT_GT(RecordsOf<wire::LinkRecord>(answer).size(), 20'000u);
  client.Stop();
}

// One client requests a table that is too large: it receives an error, and the others do not wait.
TEST_F(SaServiceTest, EveryRequestOfAStormIsAnswered) {
  Run("superpod:sus=2,hosts=8,rails=8");
  SaClient storm(*app, "node0002 mlx5_0"), other(*app, "node0003 mlx5_0");
  constexpr uint32_t kRequests = 4000;
  const wire::PortInfoRecord wanted;
  for (uint32_t id = 1; id <= kRequests; ++id) storm.Send(wire::Method::kGetTable, wanted, 0, id);
  const auto answer = other.Ask(wire::Method::kGetTable, wanted, 0);
  EXPECT_EQ(HeaderOf(answer).mad.status, wire::kStatusOk) << "the storm is not its doing";
  uint32_t answered = 0, busy = 0;
  for (uint32_t id = 1; id <= kRequests; ++id) {
    const auto reply = storm.Receive();
    ASSERT_EQ(reply.kind, mad::IncomingMad::Kind::kReceived);
    const uint16_t status = HeaderOf(reply).mad.status;
    ASSERT_TRUE(status == wire::kStatusOk || status == wire::kStatusBusy) << status;
    ++(status == wire::kStatusOk ? answered : busy);
  }
  EXPECT_GE(answered, 1024u);
  EXPECT_GT(busy, 0u);
  storm.Stop();
  other.Stop();
}

wire::GuidInfoRecord GuidsOf(const App& app, const SaClient& client) {
  const auto view = app.view();
  return {view->lids->Of(view->snapshot->FindPort(client.gid().guid())).base, 0, {}};
}
// LID, BlockNum and some of the eight entries.
uint64_t EntriesMask(std::initializer_list<unsigned> entries) {
  uint64_t mask = 0b11;
  for (unsigned entry : entries) mask |= uint64_t{1} << (4 + entry);
  return mask;
}
// What the adapter holds when it holds this, or when nobody can be expected to wait any longer.
wire::GuidInfo AwaitGuids(SaClient& client, const wire::GuidInfo& wanted) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  wire::GuidInfo held;
  while (!((held = client.ReadOwn<wire::GuidInfo>(0)) == wanted) &&
         std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return held;
}
uint16_t StatusOfPathTo(SaClient& client, Guid guid) {
  wire::PathRecord path;
  path.dgid = {client.gid().prefix, guid.value()};
  path.sgid = client.gid();
  return HeaderOf(client.AskPatiently(wire::Method::kGet, path, 1u << 2 | 1u << 3)).mad.status;
}

// A hypervisor requests GUIDs for its virtual functions. They are written to the device and resolve
// for clients, also after a restart of the daemon and the loss of all device state.
TEST_F(SaServiceTest, AliasGuidsReachTheDeviceAndSurviveARestart) {
  const std::string topology = "superpod:sus=1,hosts=4,rails=2,radix=8";
  const std::string name = "node0002 mlx5_0";
  Run(topology);
  wire::GuidInfo wanted;
  {
    SaClient host(*app, name);
    wanted.guids[0] = host.gid().guid();
    wanted.guids[1] = Guid(0xA1);
    EXPECT_EQ(host.ReadOwn<wire::GuidInfo>(0).guids[1], Guid());
    EXPECT_EQ(StatusOfPathTo(host, wanted.guids[1]), wire::kSaStatusRequestInvalidGid);
    wire::GuidInfoRecord record = GuidsOf(*app, host);
    record.info.guids[1] = wanted.guids[1];
    const auto answer = host.AskPatiently(wire::Method::kSet, record, EntriesMask({1, 2}));
    ASSERT_EQ(HeaderOf(answer).mad.status, wire::kStatusOk);
    wanted.guids[2] = RecordsOf<wire::GuidInfoRecord>(answer, 1)[0].info.guids[2];
    EXPECT_TRUE(wanted.guids[2]) << "0 asks for one to be made up";
    EXPECT_EQ(AwaitGuids(host, wanted), wanted);
    EXPECT_EQ(StatusOfPathTo(host, wanted.guids[1]), wire::kStatusOk);
    host.Stop();
  }
  End();
  app.reset();
  Run(topology);
  SaClient host(*app, name);
  EXPECT_EQ(AwaitGuids(host, wanted), wanted);
  EXPECT_EQ(StatusOfPathTo(host, wanted.guids[2]), wire::kStatusOk);
  wire::GuidInfoRecord record = GuidsOf(*app, host);
  const auto shown = host.AskPatiently(wire::Method::kGet, record, 0b11);
  ASSERT_EQ(HeaderOf(shown).mad.status, wire::kStatusOk);
  EXPECT_EQ(RecordsOf<wire::GuidInfoRecord>(shown, 1)[0].info, wanted);
  const auto answer = host.AskPatiently(wire::Method::kDelete, record, EntriesMask({1}));
  EXPECT_EQ(HeaderOf(answer).mad.status, wire::kStatusOk);
  const Guid taken_back = std::exchange(wanted.guids[1], Guid());
  EXPECT_EQ(AwaitGuids(host, wanted), wanted);
  EXPECT_EQ(StatusOfPathTo(host, taken_back), wire::kSaStatusRequestInvalidGid);
  host.Stop();
}

TEST_F(SaServiceTest, VlTablesAreReadOnRequest) {
  Run("superpod:sus=1,hosts=4,rails=2,radix=8");
  SaClient client(*app, "node0002 mlx5_0");
  const auto view = app->view();
  const PortRef port = view->snapshot->FindPort(client.gid().guid());
  const NodeIndex leaf = view->snapshot->port(port)->peer.node;
  wire::SlToVlMappingTableRecord map;
  map.lid = view->lids->Of({leaf, PortNum(0)}).base;
  const auto answer = client.AskPatiently(wire::Method::kGetTable, map, 1);
  EXPECT_EQ(HeaderOf(answer).mad.status, wire::kStatusOk);
  const size_t ports = view->snapshot->node(leaf)->ports.size();
  EXPECT_EQ(RecordsOf<wire::SlToVlMappingTableRecord>(answer).size(), ports * ports);
  const auto all =
      client.AskPatiently(wire::Method::kGetTable, wire::VlArbitrationTableRecord{}, 0);
  EXPECT_EQ(HeaderOf(all).mad.status, wire::kStatusOk);
  EXPECT_GT(RecordsOf<wire::VlArbitrationTableRecord>(all).size(), 4 * ports);
  client.Stop();
}

TEST_F(SaServiceTest, AGroupSurvivesARestartAndSubscribersReceiveReports) {
  const std::string topology = "superpod:sus=1,hosts=4,rails=2,radix=8";
  Run(topology);
  {
    SaClient member(*app, "node0002 mlx5_0"), listener(*app, "node0003 mlx5_0");
    wire::InformInfo info;
    info.is_generic = info.subscribe = 1;
    info.lid_range_begin = Lid(0xFFFF);
    info.type = 0xFFFF;
    info.trap_number = 66;
    info.producer_type = 0xFFFFFF;
    auto answer = listener.AskPatiently(wire::Method::kSet, info, 0);
    ASSERT_EQ(HeaderOf(answer).mad.method, wire::Method::kGetResp);
    ASSERT_EQ(HeaderOf(answer).mad.status, wire::kStatusOk);
    answer = member.AskPatiently(wire::Method::kSet, Membership(member), kCreateMask);
    ASSERT_EQ(HeaderOf(answer).mad.status, wire::kStatusOk);
    const auto joined = RecordsOf<wire::McMemberRecord>(answer, 1);
    EXPECT_EQ(joined[0].mlid, Lid(0xC001));
    const auto report = listener.Receive();
    EXPECT_EQ(HeaderOf(report).mad.method, wire::Method::kReport);
    listener.Answer(report);
    member.Stop();
    listener.Stop();
  }
  End();
  app.reset();
  Run(topology);
  SaClient asker(*app, "node0004 mlx5_0");
  wire::McMemberRecord wanted;
  wanted.mgid = kMgid;
  const auto answer = asker.Ask(wire::Method::kGet, wanted, 1);
  EXPECT_EQ(HeaderOf(answer).mad.status, wire::kStatusOk);
  EXPECT_EQ(RecordsOf<wire::McMemberRecord>(answer, 1)[0].mlid, Lid(0xC001));
  asker.Stop();
}

}  // namespace
}  // namespace fabricd::daemon
