// SPDX-License-Identifier: Apache-2.0
// Subnet Administration of the whole daemon on a simulated fabric: clients on other hosts ask, join
// and are told, over the fabric's links and its RMPP.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <filesystem>
#include <mutex>
#include <thread>

#include "config/config.h"
#include "daemon/app.h"
#include "mad/wire/sa_records.h"
#include "mad/wire/sa_state_records.h"
#include "sim/sim_transport.h"
#include "tests/unit/store/temp_dir.h"

namespace fabricd::daemon {
namespace {

constexpr auto kPatience = std::chrono::seconds(120);

// A program on a host that asks the SA.
class Client {
 public:
  Client(App& app, const std::string& host) {
    auto& fabric = dynamic_cast<sim::SimTransport&>(*app.sim_control());
    auto opened = fabric.OpenProgram(host);
    EXPECT_TRUE(opened.ok()) << opened.status();
    transport_ = *std::move(opened);
    sm_lid_ = app.view()->sm.lid;
    EXPECT_TRUE(transport_->Start([this](auto what) { Take(std::move(what)); }).ok());
  }
  Gid gid() const { return {0xFE80000000000000, transport_->local_port().port_guid.value()}; }

  template <typename Record>
  void Send(wire::Method method, const Record& record, uint64_t mask, uint32_t transaction) {
    mad::OutgoingMad out;
    out.agent = mad::Agent::kSubnAdm;
    out.to.lid = sm_lid_;
    out.to.qpn = 1;
    out.to.qkey = 0x80010000;
    out.timeout = kPatience;
    out.payload.resize(wire::kMadBytes);
    wire::SaHeader header;
    header.mad.management_class = wire::ManagementClass::kSubnAdm;
    header.mad.class_version = wire::kSaClassVersion;
    header.mad.method = method;
    header.mad.attribute = static_cast<wire::AttributeId>(Record::kAttribute);
    header.mad.transaction_id = transaction;
    header.component_mask = mask;
    header.Encode(std::span<uint8_t, wire::kMadBytes>(out.payload.data(), wire::kMadBytes));
    record.Encode(
        std::span<uint8_t, Record::kBytes>(out.payload.data() + wire::kSaDataAt, Record::kBytes));
    const absl::Status sent = transport_->Send(out);
    EXPECT_TRUE(sent.ok()) << sent;
  }
  // The next MAD that came, of whatever kind.
  mad::IncomingMad Receive() {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(came_.wait_for(lock, kPatience, [this] { return !arrived_.empty(); }));
    if (arrived_.empty()) return {};
    mad::IncomingMad first = std::move(arrived_.front());
    arrived_.pop_front();
    return first;
  }
  template <typename Record>
  mad::IncomingMad Ask(wire::Method method, const Record& record, uint64_t mask) {
    Send(method, record, mask, ++transaction_);
    return Receive();
  }
  void Answer(const mad::IncomingMad& report) {
    mad::OutgoingMad out{report.agent, report.from, {}, report.payload};
    out.to.qkey = 0x80010000;
    out.payload[3] |= wire::kResponseBit;
    EXPECT_TRUE(transport_->Send(out).ok());
  }
  void Stop() { transport_->Stop(); }

 private:
  void Take(std::variant<mad::IncomingMad, mad::LocalPortEvent> what) {
    auto* mad = std::get_if<mad::IncomingMad>(&what);
    if (mad == nullptr || mad->agent != mad::Agent::kSubnAdm) return;
    std::lock_guard lock(mutex_);
    arrived_.push_back(std::move(*mad));
    came_.notify_all();
  }

  std::unique_ptr<mad::Transport> transport_;
  Lid sm_lid_;
  uint32_t transaction_ = 0;
  std::mutex mutex_;
  std::condition_variable came_;
  std::deque<mad::IncomingMad> arrived_;
};

wire::SaHeader HeaderOf(const mad::IncomingMad& mad) {
  return wire::SaHeader::Decode(std::span<const uint8_t>(mad.payload).first<wire::kMadBytes>());
}
template <typename Record>
std::vector<Record> RecordsOf(const mad::IncomingMad& mad, size_t most = SIZE_MAX) {
  std::vector<Record> records;
  for (size_t at = wire::kSaDataAt; at + Record::kBytes <= mad.payload.size() && most > 0;
       at += Record::kBytes, --most)
    records.push_back(
        Record::Decode(std::span<const uint8_t>(mad.payload).subspan(at).first<Record::kBytes>()));
  return records;
}

// The daemon, brought up; it ends with the test.
class SaServiceTest : public testing::Test {
 protected:
  void Run(const std::string& topology) {
    config::Config config;
    config.fabric = "sim:" + topology;
    config.state_dir = state_.path();
    config.listen.clear();
    auto made = App::Create(config, {});
    ASSERT_TRUE(made.ok()) << made.status();
    app = *std::move(made);
    runner_ = std::thread([this] { app->Run(); });
    const auto end = std::chrono::steady_clock::now() + kPatience;
    // Its readers poll too: there is nothing in-process that tells of a view.
    while (!app->view()->subnet_up && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ASSERT_TRUE(app->view()->subnet_up);
  }
  void End() {
    if (!runner_.joinable()) return;
    app->Stop();
    runner_.join();
  }
  void TearDown() override { End(); }

  store::TempDir state_;
  std::unique_ptr<App> app;
  std::thread runner_;
};

// 720 switches of 24 ports and 3456 hosts: 21,456 PortInfoRecords in 7,725 segments.
TEST_F(SaServiceTest, TablesOfManySegments) {
  Run("fat-tree:radix=24,levels=3");
  Client client(*app, "node0099 mlx5_0");
  auto answer = client.Ask(wire::Method::kGetTable, wire::PortInfoRecord{}, 0);
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
  answer = client.Ask(wire::Method::kGetTable, wire::LinkRecord{}, 0);
  EXPECT_GT(RecordsOf<wire::LinkRecord>(answer).size(), 20'000u);
  client.Stop();
}

TEST_F(SaServiceTest, EveryRequestOfAStormIsAnswered) {
  Run("superpod:sus=1,hosts=4,rails=2,radix=8");
  Client storm(*app, "node0002 mlx5_0"), other(*app, "node0003 mlx5_0");
  constexpr uint32_t kRequests = 20'000;
  wire::NodeRecord wanted;
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
  EXPECT_EQ(answered + busy, kRequests);
  EXPECT_GT(answered, 0u);
  storm.Stop();
  other.Stop();
}

constexpr Gid kMgid{0xFF15A01C00000000, 0x77};

wire::McMemberRecord Membership(const Client& client) {
  wire::McMemberRecord record;
  record.mgid = kMgid;
  record.port_gid = client.gid();
  record.p_key = PKey(0xFFFF);
  record.join_state = 1;
  return record;
}
// MGID, PortGID, Q_Key, TClass, P_Key, SL, FlowLabel, JoinState.
constexpr uint64_t kCreateMask =
    1u << 0 | 1u << 1 | 1u << 2 | 1u << 6 | 1u << 7 | 1u << 12 | 1u << 13 | 1u << 16;

TEST_F(SaServiceTest, AGroupOutlivesTheDaemonAndSubscribersHearOfIt) {
  const std::string topology = "superpod:sus=1,hosts=4,rails=2,radix=8";
  Run(topology);
  {
    Client member(*app, "node0002 mlx5_0"), listener(*app, "node0003 mlx5_0");
    wire::InformInfo info;
    info.is_generic = info.subscribe = 1;
    info.lid_range_begin = Lid(0xFFFF);
    info.type = 0xFFFF;
    info.trap_number = 66;
    info.producer_type = 0xFFFFFF;
    auto answer = listener.Ask(wire::Method::kSet, info, 0);
    ASSERT_EQ(HeaderOf(answer).mad.method, wire::Method::kGetResp);
    ASSERT_EQ(HeaderOf(answer).mad.status, wire::kStatusOk);
    answer = member.Ask(wire::Method::kSet, Membership(member), kCreateMask);
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
  Client asker(*app, "node0004 mlx5_0");
  wire::McMemberRecord wanted;
  wanted.mgid = kMgid;
  const auto answer = asker.Ask(wire::Method::kGet, wanted, 1);
  EXPECT_EQ(HeaderOf(answer).mad.status, wire::kStatusOk);
  EXPECT_EQ(RecordsOf<wire::McMemberRecord>(answer, 1)[0].mlid, Lid(0xC001));
  asker.Stop();
}

}  // namespace
}  // namespace fabricd::daemon
