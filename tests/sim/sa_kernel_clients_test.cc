// SPDX-License-Identifier: Apache-2.0
// Clients like the kernel's ib_sa, for which any status is the final answer: they lose no request,
// whatever the subnet goes through.
#include <gtest/gtest.h>

#include <random>

#include "mad/wire/port_info.h"
#include "mad/wire/sa_path_records.h"
#include "mad/wire/sa_state_records.h"
#include "sa/paths/path_query.h"
#include "tests/sim/running_app.h"
#include "tests/sim/sa_client.h"

namespace fabricd::daemon {
namespace {

constexpr int kTimes = 5, kBounces = 20;

class SaKernelClientsTest : public RunningApp {
 protected:
  void SetUp() override { Run("superpod:sus=1,hosts=4,rails=2,radix=8"); }

  template <typename Predicate>
  static bool Await(Predicate holds) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!holds() && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return holds();
  }
  sim::Control& fabric() { return *app->sim_control(); }
  static bool IsActive(SaClient& client) {
    return client.ReadOwn<wire::PortInfo>(1).port_state == wire::PortState::kActive;
  }
  bool IsSeen(const SaClient& client) const {
    const auto view = app->view();
    const PortRef port = view->snapshot->FindPort(client.gid().guid());
    return !port.IsNone() && view->snapshot->port(port)->IsUp();
  }
  // What IPoIB and rdma_cm do as soon as the port is ACTIVE.
  void ExpectService(SaClient& client, Gid to) {
    wire::PathRecord path;
    path.sgid = client.gid();
    path.dgid = to;
    const auto bit = [](sa::PathComponent component) {
      return uint64_t{1} << static_cast<unsigned>(component);
    };
    const auto found = client.AskLikeTheKernel(
        wire::Method::kGet, path, bit(sa::PathComponent::kSgid) | bit(sa::PathComponent::kDgid));
    ASSERT_EQ(found.kind, mad::IncomingMad::Kind::kReceived);
    EXPECT_EQ(HeaderOf(found).mad.status, wire::kStatusOk);
    wire::ServiceRecord service;
    service.service_id = 7;
    service.service_gid = client.gid();
    const auto set = client.AskLikeTheKernel(wire::Method::kSet, service, 0b11);
    ASSERT_EQ(set.kind, mad::IncomingMad::Kind::kReceived);
    EXPECT_EQ(HeaderOf(set).mad.status, wire::kStatusOk);
  }

  const std::string name_ = "node0002 mlx5_0";
};

TEST_F(SaKernelClientsTest, LoseNoRequestWhenTheirLinkComesUp) {
  SaClient client(*app, name_), peer(*app, "node0003 mlx5_0");
  for (int time = 0; time < kTimes; ++time) {
    ASSERT_TRUE(fabric().Unlink(name_, PortNum(1)).ok());
    ASSERT_TRUE(Await([&] { return !IsSeen(client); }));
    ASSERT_TRUE(fabric().Link(name_, PortNum(1)).ok());
    ASSERT_TRUE(Await([&] { return IsActive(client); }));
    ExpectService(client, peer.gid());
  }
  client.Stop();
  peer.Stop();
}

// IPoIB joins once, as soon as the port is ACTIVE again, and takes the answer for good.
TEST_F(SaKernelClientsTest, StayMembersOfAGroupThatTheyJoinAfterTheirLinkBounced) {
  SaClient client(*app, name_);
  std::minstd_rand random(1);
  for (int time = 0; time < kBounces; ++time) {
    ASSERT_TRUE(fabric().Unlink(name_, PortNum(1)).ok());
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 40'000));
    ASSERT_TRUE(fabric().Link(name_, PortNum(1)).ok());
    ASSERT_TRUE(Await([&] { return IsActive(client); }));
    const auto joined =
        client.AskLikeTheKernel(wire::Method::kSet, Membership(client), kCreateMask);
    ASSERT_EQ(joined.kind, mad::IncomingMad::Kind::kReceived);
    ASSERT_EQ(HeaderOf(joined).mad.status, wire::kStatusOk);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const auto found = client.AskLikeTheKernel(wire::Method::kGet, Membership(client), 0b11);
    ASSERT_EQ(found.kind, mad::IncomingMad::Kind::kReceived);
    ASSERT_EQ(HeaderOf(found).mad.status, wire::kStatusOk) << "bounce " << time;
  }
  client.Stop();
}

TEST_F(SaKernelClientsTest, LoseNoRequestWhenTheirHostReboots) {
  SaClient client(*app, name_), peer(*app, "node0003 mlx5_0");
  for (int time = 0; time < kTimes; ++time) {
    ASSERT_TRUE(fabric().Reboot(name_).ok());
    ASSERT_TRUE(Await([&] { return IsActive(client); }));
    ExpectService(client, peer.gid());
  }
  client.Stop();
  peer.Stop();
}

}  // namespace
}  // namespace fabricd::daemon
