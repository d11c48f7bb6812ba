// SPDX-License-Identifier: Apache-2.0
// The client against real etcds on loopback.
#include "store/etcd/client.h"

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status.h"
#include "store/etcd/grpc_client.h"
#include "tests/support/etcd.h"
#include "tests/support/tcp_proxy.h"
#include "tests/unit/daemon/rpc/security/certificates.h"
#include "tests/unit/store/etcd/client_kinds.h"
#include "tests/unit/store/etcd/watch_recorder.h"
#include "tests/unit/store/temp_dir.h"

namespace fabricd::store::etcd {
namespace {

using fabricd::support::EtcdCluster;
using fabricd::support::TcpProxy;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;

#define SKIP_WITHOUT_ETCD() \
  if (!fabricd::support::HaveEtcd()) GTEST_SKIP() << "no etcd and etcdctl: tools/deps"

std::unique_ptr<Client> Make(ClientOptions options) {
  auto client = MakeGrpcClient(std::move(options));
  EXPECT_TRUE(client.ok()) << client.status();
  return *std::move(client);
}

TEST(MakeGrpcClient, RefusesOptionsThatCannotWork) {
  const auto code = [](ClientOptions options) {
    return MakeGrpcClient(std::move(options)).status().code();
  };
  using enum absl::StatusCode;
  EXPECT_EQ(code({}), kInvalidArgument);
  EXPECT_EQ(code({.endpoints = {"a:1"}, .ca = "/nowhere/ca.pem"}), kInvalidArgument);
  EXPECT_EQ(code({.endpoints = {"a:1"}, .ca = "/dev/null", .cert = "/dev/null"}), kInvalidArgument);
  EXPECT_EQ(code({.endpoints = {"a:1"}, .cert = "/dev/null", .key = "/dev/null"}),
            kInvalidArgument);
}

// Both etcds of their own, or the one that all tests of the program share.
class RealHome final : public ClientHome {
 public:
  explicit RealHome(EtcdCluster& cluster) : cluster_(cluster), client_(cluster.MakeClient()) {}
  explicit RealHome(std::unique_ptr<EtcdCluster> own) : RealHome(*own) { own_ = std::move(own); }
  Client& client() override { return *client_; }
  void Compact(int64_t revision) override {
    cluster_.Control("compact " + std::to_string(revision));
  }
  void Pass(milliseconds time) override { std::this_thread::sleep_for(time); }
  void Fill() override {
    for (int i = 0; i < 100; ++i)
      if (!client_->Put("fill" + std::to_string(i), std::string(1 << 20, 'x'), 0).ok()) return;
    ADD_FAILURE() << "100 MiB fit in";
  }

 private:
  std::unique_ptr<EtcdCluster> own_;
  EtcdCluster& cluster_;
  const std::unique_ptr<Client> client_;
};

class ClientTest : public ::testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_ETCD();
    cluster_ = &EtcdCluster::Shared();
    client_ = cluster_->MakeClient();
  }
  int64_t Put(const std::string& key, const std::string& value, int64_t lease = 0) {
    const auto revision = client_->Put(key, value, lease);
    EXPECT_TRUE(revision.ok()) << revision.status();
    return revision.value_or(0);
  }
  EtcdCluster* cluster_ = nullptr;
  std::unique_ptr<Client> client_;
};

TEST_F(ClientTest, AWatchGoesOnWhereItWasWhenItsMemberIsBack) {
  WatchRecorder recorder;
  const auto watch = client_->StartWatch({"/w/", EndOfPrefix("/w/")}, recorder);
  recorder.WaitUntilConnected();
  Put("/w/a", "1");
  recorder.WaitFor(1);
  cluster_->Kill(0);
  recorder.WaitUntilBroken();
  cluster_->Start(0);
  cluster_->WaitUntilReady();
  Put("/w/b", "2");
  EXPECT_THAT(recorder.WaitFor(2), ElementsAre("/w/a=1", "/w/b=2"));
}

TEST_F(ClientTest, CallsEndAtTheirDeadlineWhereNothingAnswers) {
  TcpProxy proxy(cluster_->endpoints()[0]);
  const auto client = Make({.endpoints = {proxy.address()},
                            .timeout = milliseconds(600),
                            .attempt_timeout = milliseconds(200)});
  ASSERT_TRUE(client->Put("a", "1", 0).ok());
  proxy.Set(TcpProxy::Mode::kSwallow);
  const auto begun = Clock::now();
  EXPECT_EQ(client->Range({"a"}).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_LT(Clock::now() - begun, seconds(2));
  proxy.Set(TcpProxy::Mode::kRefuse);
  EXPECT_EQ(client->Put("a", "2", 0).status().code(), absl::StatusCode::kUnavailable);
  proxy.Set(TcpProxy::Mode::kPass);
  const auto patient = Make({.endpoints = {proxy.address()}});
  EXPECT_EQ(patient->Range({"a"})->kvs.at(0).value, "1");
}

TEST(ClientOfThreeMembers, GoesOnWhileMostOfThemLive) {
  SKIP_WITHOUT_ETCD();
  EtcdCluster& cluster = EtcdCluster::Shared(3);
  const auto client = cluster.MakeClient();
  const auto write = [&] {
    for (int i = 0; i < 3; ++i) {
      const auto written = client->Put("a", std::to_string(i), 0);
      EXPECT_TRUE(written.ok()) << written.status();
    }
  };
  write();
  cluster.Pause(0);  // Its connections stay.
  write();
  cluster.Continue(0);
  cluster.Kill(1);
  write();
  // One of three has no leader, and says so.
  cluster.Kill(0);
  ClientOptions options = cluster.client_options();
  options.timeout = milliseconds(500);
  EXPECT_EQ(Make(options)->Put("a", "x", 0).status().code(), absl::StatusCode::kUnavailable);
}

TEST(ClientWithTls, NeedsACertificateThatTheMembersTrust) {
  SKIP_WITHOUT_ETCD();
  const TempDir directory;
  const rpc::testing::Certificates made(directory.path() + "/tls", "signer");
  made.Sign("server", "etcd", "IP:127.0.0.1");
  made.Sign("client", "fabricd", "DNS:head1");
  const rpc::testing::Certificates others(directory.path() + "/others", "signer");
  others.Sign("client", "fabricd", "DNS:head1");
  EtcdCluster cluster({.members = 1, .certificates = directory.path() + "/tls"});
  ASSERT_TRUE(cluster.MakeClient()->Put("a", "1", 0).ok());
  const auto code = [&](auto change) {
    ClientOptions options = cluster.client_options();
    options.timeout = milliseconds(300);
    change(options);
    return Make(std::move(options))->Range({"a"}).status().code();
  };
  using enum absl::StatusCode;
  EXPECT_EQ(code([](ClientOptions& options) { options.ca = options.cert = options.key = ""; }),
            kUnavailable);
  EXPECT_EQ(code([](ClientOptions& options) { options.cert = options.key = ""; }), kUnavailable);
  EXPECT_EQ(code([&](ClientOptions& options) { options.ca = others.path("ca.pem"); }),
            kUnavailable);
  EXPECT_EQ(code([&](ClientOptions& options) {
              options.cert = others.path("client.pem");
              options.key = others.path("client.key");
            }),
            kUnavailable);
}

TEST(ClientWithAPassword, AuthenticatesAgainWhenItsTokenIsForgotten) {
  SKIP_WITHOUT_ETCD();
  // Passwords that are cheap to check.
  EtcdCluster cluster({.members = 1, .arguments = {"--bcrypt-cost=4"}});
  ClientOptions options = cluster.client_options();
  options.timeout = seconds(20);
  options.attempt_timeout = seconds(10);
  options.user = "fabricd";
  options.password = "secret";
  const auto client = Make(options);
  // Until authentication is enabled no token is needed.
  ASSERT_TRUE(client->Put("/fabricd/a", "1", 0).ok());
  for (const char* command : {"user add root:r", "user add fabricd:secret", "role add fabricd",
                              "role grant-permission fabricd --prefix=true readwrite /fabricd/",
                              "user grant-role fabricd fabricd", "auth enable"})
    cluster.Control(command);
  const auto put = client->Put("/fabricd/a", "2", 0);
  EXPECT_TRUE(put.ok()) << put.status();
  EXPECT_EQ(client->Put("/other", "x", 0).status().code(), absl::StatusCode::kPermissionDenied);
  // A member keeps tokens in memory alone.
  cluster.Kill(0);
  cluster.Start(0);
  const auto again = client->Put("/fabricd/a", "3", 0);
  EXPECT_TRUE(again.ok()) << again.status();
  // Tokens of before are refused.
  cluster.Control("--user=root:r user add other:x");
  const auto lease = client->GrantLease(seconds(5));
  EXPECT_TRUE(lease.ok()) << lease.status();
  options.password = "wrong";
  const auto wrong = Make(options)->Put("/fabricd/a", "4", 0);
  EXPECT_EQ(wrong.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(wrong.status()), HasSubstr("authentication failed"));
}

}  // namespace

std::vector<ClientKind> ClientKinds() {
  if (!fabricd::support::HaveEtcd()) return {};
  const auto small = [] {
    return std::make_unique<EtcdCluster>(
        EtcdCluster::Options{.members = 1, .arguments = {"--quota-backend-bytes=8388608"}});
  };
  return {{"Real", [] { return std::make_unique<RealHome>(EtcdCluster::Shared()); },
           [small] { return std::make_unique<RealHome>(small()); }}};
}

}  // namespace fabricd::store::etcd
