// SPDX-License-Identifier: Apache-2.0
// Job start: every HCA asks for the paths to all others, several at a time, and none asks twice. A
// request that is not answered in time, or BUSY, is one that a real client would repeat or give up.
//   FABRICD_NIGHTLY=1 sa_service_test --gtest_filter='SaStorm*'   2,016 hosts with 8 HCAs each
#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <absl/container/flat_hash_set.h>
#include <absl/functional/function_ref.h>

#include "mad/wire/sa_path_records.h"
#include "sa/paths/path_query.h"
#include "sim/transport/sim_transport.h"
#include "tests/sim/running_app.h"
#include "tests/sim/sa_client.h"

namespace fabricd::daemon {
namespace {

using Clock = std::chrono::steady_clock;

// What users of librdmacm commonly give rdma_resolve_route.
constexpr std::chrono::seconds kClientTimeout{2};
constexpr uint32_t kWindow = 2;

bool IsNightly() { return std::getenv("FABRICD_NIGHTLY") != nullptr; }

constexpr uint64_t Bit(sa::PathComponent component) {
  return uint64_t{1} << static_cast<unsigned>(component);
}

// Until there is a first view of the subnet, clients are told to ask again.
void AwaitFirstView(App& app) {
  const auto view = app.view();
  std::string host;
  view->snapshot->ForEachNode([&](const fabric::Node& node) {
    if (host.empty() && !node.IsSwitch() && node.index != view->sm.port.node)
      host = node.description;
  });
  SaClient client(app, host);
  wire::PathRecord record;
  record.slid = record.dlid = view->sm.lid;
  client.AskPatiently(wire::Method::kGet, record,
                      Bit(sa::PathComponent::kSlid) | Bit(sa::PathComponent::kDlid));
  client.Stop();
}

// Its answers come on the simulated fabric's thread, which also sends what follows them.
class Storm {
 public:
  // Each of the askers asks for the paths to the `each` HCAs that follow it, round and round, so
  // that every one is asked for as often. Leaves out the subnet manager's own port.
  Storm(App& app, uint32_t each, absl::FunctionRef<bool(const fabric::Node&)> asks) : each_(each) {
    AwaitFirstView(app);
    auto& fabric = dynamic_cast<sim::SimTransport&>(*app.sim_control());
    const auto view = app.view();
    sm_lid_ = view->sm.lid;
    ends_ = view->snapshot->node_count();  // Each has one.
    view->snapshot->ForEachNode([&](const fabric::Node& node) {
      if (node.IsSwitch() || node.index == view->sm.port.node) return;
      targets_.push_back({0xFE80000000000000, node.ports[1].guid.value()});
      if (!asks(node)) return;
      auto opened = fabric.OpenProgram(node.description);
      ASSERT_TRUE(opened.ok()) << opened.status();
      hcas_.emplace_back();
      hcas_.back().transport = *std::move(opened);
      hcas_.back().place = static_cast<uint32_t>(targets_.size() - 1);
    });
  }
  ~Storm() {
    for (Hca& hca : hcas_) hca.transport->Stop();
  }

  // Each asks once, for the paths to all of them.
  void AskForTables() {
    tables_ = true;
    each_ = 1;
    timeout_ = kPatience;
  }

  void Start() {
    start_ = Clock::now();
    for (uint32_t i = 0; i < hcas_.size(); ++i) {
      const absl::Status started = hcas_[i].transport->Start([this, i](auto burst) {
        for (mad::Incoming& what : burst) Take(i, what);
      });
      ASSERT_TRUE(started.ok()) << started;
    }
    std::lock_guard lock(mutex_);
    for (uint32_t i = 0; i < hcas_.size(); ++i)
      for (uint32_t n = 0; n < kWindow; ++n) SendNext(i);
  }
  uint64_t total() const { return uint64_t{each_} * hcas_.size(); }
  // Until so many have ended. False: they do not.
  bool WaitFor(uint64_t count) {
    std::unique_lock lock(mutex_);
    wanted_ = std::min(count, total());
    return ended_enough_.wait_for(lock, 10 * kPatience, [this] { return ended_ >= wanted_; });
  }
  void ExpectAllAnswered() {
    std::lock_guard lock(mutex_);
    EXPECT_EQ(ended_, total());
    EXPECT_EQ(answered_, total());
    EXPECT_EQ(other_, 0u) << "answered BUSY or with no path; the last status: " << last_status_;
    EXPECT_EQ(silent_, 0u);
    EXPECT_EQ(wrong_, 0u) << "answered with another path";
  }
  void Print(const char* what) {
    std::lock_guard lock(mutex_);
    std::sort(waits_.begin(), waits_.end());
    const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    const auto at = [&](size_t part) { return waits_[waits_.size() * part / 1000] / 1000.0; };
    printf("%s: %zu HCAs, %zu answers, %.0f/s, p50 %.1f ms, p99 %.1f ms, longest %.1f ms\n", what,
           hcas_.size(), waits_.size(), static_cast<double>(waits_.size()) / seconds, at(500),
           at(990), waits_.back() / 1000.0);
  }

 private:
  struct Asked {
    uint32_t number = 0;  // 0: free.
    Clock::time_point at;
  };
  struct Hca {
    std::unique_ptr<mad::Transport> transport;
    uint32_t place = 0;  // In targets_.
    uint32_t sent = 0;
    Asked asked[kWindow];
  };

  Gid Target(const Hca& hca, uint32_t number) const {
    return targets_[(hca.place + number) % targets_.size()];
  }

  // With the lock.
  void SendNext(uint32_t index) {
    Hca& hca = hcas_[index];
    if (hca.sent == each_) return;
    const uint32_t number = ++hca.sent;
    mad::OutgoingMad out;
    out.agent = mad::Agent::kSubnAdm;
    out.to.lid = sm_lid_;
    out.to.qpn = 1;
    out.to.qkey = 0x80010000;
    out.timeout = timeout_;
    out.payload.resize(wire::kMadBytes);
    wire::SaHeader header;
    header.mad.management_class = wire::ManagementClass::kSubnAdm;
    header.mad.class_version = wire::kSaClassVersion;
    header.mad.method = tables_ ? wire::Method::kGetTable : wire::Method::kGet;
    header.mad.attribute = static_cast<wire::AttributeId>(wire::SaAttribute::kPathRecord);
    header.mad.transaction_id = number;
    using enum sa::PathComponent;
    header.component_mask = Bit(kSgid) | Bit(kReversible) | Bit(kNumbPath);
    if (!tables_) header.component_mask |= Bit(kDgid);
    header.Encode(std::span<uint8_t, wire::kMadBytes>(out.payload.data(), wire::kMadBytes));
    wire::PathRecord record;
    record.sgid = targets_[hca.place];
    record.dgid = Target(hca, number);
    record.reversible = true;
    record.numb_path = 1;
    record.Encode(std::span<uint8_t, wire::PathRecord::kBytes>(out.payload.data() + wire::kSaDataAt,
                                                               wire::PathRecord::kBytes));
    Asked* free = std::find_if(hca.asked, hca.asked + kWindow,
                               [](const Asked& asked) { return asked.number == 0; });
    *free = {number, Clock::now()};
    const absl::Status sent = hca.transport->Send(out);
    EXPECT_TRUE(sent.ok()) << sent;
  }

  bool IsRight(const Hca& hca, uint32_t number, const std::vector<uint8_t>& payload) const {
    constexpr size_t kBytes = wire::PathRecord::kBytes;
    if (tables_) return payload.size() == wire::kSaDataAt + ends_ * kBytes;
    const auto path = wire::PathRecord::Decode(
        std::span<const uint8_t>(payload).subspan(wire::kSaDataAt).first<kBytes>());
    return path.sgid == targets_[hca.place] && path.dgid == Target(hca, number);
  }

  void Take(uint32_t index, const mad::Incoming& what) {
    const auto* mad = std::get_if<mad::IncomingMad>(&what);
    if (mad == nullptr || mad->agent != mad::Agent::kSubnAdm) return;
    const auto header =
        wire::SaHeader::Decode(std::span<const uint8_t>(mad->payload).first<wire::kMadBytes>());
    std::lock_guard lock(mutex_);
    Hca& hca = hcas_[index];
    const auto number = static_cast<uint32_t>(header.mad.transaction_id);
    Asked* asked = std::find_if(hca.asked, hca.asked + kWindow,
                                [&](const Asked& one) { return one.number == number; });
    if (number == 0 || asked == hca.asked + kWindow) {
      ++wrong_;
      return;
    }
    waits_.push_back(static_cast<uint32_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - asked->at).count()));
    asked->number = 0;
    if (mad->kind != mad::IncomingMad::Kind::kReceived) {
      ++silent_;
    } else if (header.mad.status != wire::kStatusOk) {
      last_status_ = header.mad.status;
      ++other_;
    } else {
      ++(IsRight(hca, number, mad->payload) ? answered_ : wrong_);
    }
    SendNext(index);
    if (++ended_ == wanted_) ended_enough_.notify_all();
  }

  uint32_t each_;
  bool tables_ = false;
  Duration timeout_ = kClientTimeout;
  size_t ends_ = 0;  // End ports of the fabric.
  Lid sm_lid_;
  std::vector<Gid> targets_;
  std::vector<Hca> hcas_;
  Clock::time_point start_;

  std::mutex mutex_;
  std::condition_variable ended_enough_;
  uint64_t wanted_ = 0, ended_ = 0;
  uint64_t answered_ = 0, other_ = 0, silent_ = 0, wrong_ = 0;
  uint16_t last_status_ = 0;
  std::vector<uint32_t> waits_;  // Microseconds.
};

using SaStormTest = RunningApp;

TEST_F(SaStormTest, JobStartIsAnsweredWithoutARetry) {
  Run(IsNightly() ? "superpod:sus=63" : "superpod:sus=2,hosts=8,rails=8");
  Storm storm(*app, IsNightly() ? 256 : 126, [](const fabric::Node&) { return true; });
  storm.Start();
  ASSERT_TRUE(storm.WaitFor(UINT64_MAX));
  storm.ExpectAllAnswered();
  storm.Print("job start");
}

TEST_F(SaStormTest, AllPairsByTablesOfEachHca) {
  Run(IsNightly() ? "superpod:sus=63" : "superpod:sus=2,hosts=8,rails=8");
  Storm storm(*app, 1, [](const fabric::Node&) { return true; });
  storm.AskForTables();
  storm.Start();
  ASSERT_TRUE(storm.WaitFor(UINT64_MAX));
  storm.ExpectAllAnswered();
  storm.Print("tables of all");
}

// Cables between switches are pulled and plugged again: requests meanwhile get a path. Only HCAs at
// the subnet manager's leaf send requests, because MADs under way on a pulled cable are lost.
TEST_F(SaStormTest, RequestsDuringReroutesAreAnswered) {
  Run(IsNightly() ? "superpod:sus=4" : "superpod:sus=2,hosts=8,rails=8");
  sim::Control& control = *app->sim_control();
  absl::flat_hash_set<std::string> switches;
  for (const sim::SimNode& node : control.ListNodes())
    if (node.is_switch) switches.insert(node.description);
  std::vector<sim::SimCable> cables;
  for (const sim::SimCable& cable : control.ListCables())
    if (cables.size() < 5 && switches.contains(cable.a.node) && switches.contains(cable.b.node))
      cables.push_back(cable);
  ASSERT_EQ(cables.size(), 5u);
  const auto snapshot = app->view()->snapshot;
  const NodeIndex leaf = snapshot->node(app->view()->sm.port.node)->ports[1].peer.node;
  const auto is_near = [leaf](const fabric::Node& node) { return node.ports[1].peer.node == leaf; };
  const uint32_t each = IsNightly() ? 50'000 : 3000;
  {
    Storm before(*app, each, is_near);
    before.Start();
    ASSERT_TRUE(before.WaitFor(UINT64_MAX));
    before.ExpectAllAnswered();
    before.Print("at rest");
  }
  Storm storm(*app, each, is_near);
  storm.Start();
  for (uint64_t step = 1; step <= 2 * cables.size(); ++step) {
    ASSERT_TRUE(storm.WaitFor(storm.total() * step / (2 * cables.size() + 1)));
    const sim::SimCable& cable = cables[(step - 1) / 2];
    const absl::Status done = step % 2 == 1 ? control.Unlink(cable.a.node, cable.a.port)
                                            : control.Link(cable.a.node, cable.a.port);
    ASSERT_TRUE(done.ok()) << done;
  }
  ASSERT_TRUE(storm.WaitFor(UINT64_MAX));
  storm.ExpectAllAnswered();
  storm.Print("reroutes");
}

}  // namespace
}  // namespace fabricd::daemon
