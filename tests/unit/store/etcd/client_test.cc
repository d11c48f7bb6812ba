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

#include "common/mutex.h"
#include "common/status.h"
#include "store/etcd/grpc_client.h"
#include "tests/support/etcd.h"
#include "tests/support/tcp_proxy.h"
#include "tests/unit/daemon/rpc/security/certificates.h"
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

// What a watch has reported.
class Recorder final : public WatchHandler {
 public:
  void OnEvents(const std::vector<WatchEvent>& events, int64_t revision) override {
    MutexLock lock(mutex_);
    for (const WatchEvent& event : events)
      calls_.push_back(event.kv.key + (event.is_delete ? " deleted" : "=" + event.kv.value));
    revision_ = revision;
    changed_.NotifyAll();
  }
  void OnCompacted(int64_t revision) override {
    MutexLock lock(mutex_);
    calls_.push_back("compacted at " + std::to_string(revision));
    changed_.NotifyAll();
  }
  void OnConnection(const absl::Status& status) override {
    MutexLock lock(mutex_);
    connected_ = status.ok();
    broken_ = broken_ || !status.ok();
    changed_.NotifyAll();
  }
  std::vector<std::string> WaitFor(size_t count) {
    MutexLock lock(mutex_);
    EXPECT_TRUE(changed_.WaitFor(lock, seconds(20), [&] { return calls_.size() >= count; }));
    return calls_;
  }
  void WaitUntilConnected() {
    MutexLock lock(mutex_);
    EXPECT_TRUE(changed_.WaitFor(lock, seconds(20), [&] { return connected_; }));
  }
  void WaitUntilBroken() {
    MutexLock lock(mutex_);
    EXPECT_TRUE(changed_.WaitFor(lock, seconds(20), [&] { return broken_; }));
  }
  int64_t revision() {
    MutexLock lock(mutex_);
    return revision_;
  }

 private:
  Mutex mutex_;
  Condition changed_;
  std::vector<std::string> calls_;
  int64_t revision_ = 0;
  bool connected_ = false, broken_ = false;
};

TEST(EndOfPrefix, IsTheFirstKeyBehindAllThatBeginWithIt) {
  EXPECT_EQ(EndOfPrefix("a/"), "a0");
  EXPECT_EQ(EndOfPrefix("a\xFF\xFF"), "b");
  EXPECT_EQ(EndOfPrefix("\xFF"), std::string(1, '\0'));
  EXPECT_EQ(EndOfPrefix(""), std::string(1, '\0'));
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

TEST_F(ClientTest, WritesReadsAndDeletes) {
  const std::string bytes("a\0b\xFF", 4);
  const int64_t first = Put("/p/1", bytes), second = Put("/p/2", "two");
  EXPECT_EQ(second, first + 1);
  Put("/q", "other");
  const auto all = client_->Range({"/p/", EndOfPrefix("/p/")});
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_THAT(all->kvs, ElementsAre(KeyValue{"/p/1", bytes, first, first, 1, 0},
                                    KeyValue{"/p/2", "two", second, second, 1, 0}));
  EXPECT_EQ(all->revision, second + 1);
  EXPECT_NE(all->cluster, 0u);
  Put("/p/2", "new");
  const auto before = client_->Range({.key = "/p/2", .revision = second});
  EXPECT_EQ(before->kvs.at(0).value, "two");
  EXPECT_EQ(*client_->DeleteRange("/p/", EndOfPrefix("/p/")), 2);
  EXPECT_TRUE(client_->Range({"/p/1"})->kvs.empty());
  EXPECT_EQ(client_->Range({"/q"})->kvs.size(), 1u);
  const auto status = client_->Status();
  ASSERT_TRUE(status.ok()) << status.status();
  EXPECT_THAT(status->version, HasSubstr("3."));
  EXPECT_NE(status->leader, 0u);
}

TEST_F(ClientTest, ATransactionIsCarriedOutOnlyIfAllComparisonsHold) {
  using Field = Comparison::Field;
  const int64_t revision = Put("a", "1");
  const std::vector<Change> changes = {{"b", "2"}, {"a", "", true}};
  const auto refused = client_->Commit(
      {{{"a", Field::kModRevision, revision}, {"c", Field::kVersion, 1}}, changes, {{"a"}, {"c"}}});
  ASSERT_TRUE(refused.ok()) << refused.status();
  EXPECT_FALSE(refused->succeeded);
  ASSERT_EQ(refused->kvs.size(), 1u);
  EXPECT_EQ(refused->kvs[0].value, "1");
  EXPECT_TRUE(client_->Range({"b"})->kvs.empty());
  const auto done = client_->Commit(
      {{{"a", Field::kModRevision, revision}, {"c", Field::kCreateRevision, 0}}, changes});
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_TRUE(done->succeeded);
  EXPECT_EQ(done->revision, revision + 1);
  EXPECT_TRUE(client_->Range({"a"})->kvs.empty());
  EXPECT_EQ(client_->Range({"b"})->kvs.at(0).mod_revision, revision + 1);
}

TEST_F(ClientTest, ATransactionAboveTheBoundsIsRefusedAndChangesNothing) {
  Transaction many;
  for (int i = 0; i < 129; ++i) many.changes.push_back({"many" + std::to_string(i), "x"});
  EXPECT_EQ(client_->Commit(many).status().code(), absl::StatusCode::kInvalidArgument);
  const Transaction large{{}, {{"large", std::string(2 << 20, 'x')}}};
  EXPECT_EQ(client_->Commit(large).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(client_->Range({"a", "z"})->kvs.empty());
}

TEST_F(ClientTest, ARangeOfManyPagesIsOfOneRevision) {
  for (int i = 0; i < 25; ++i) Put("k" + std::string(1, static_cast<char>('a' + i)), "v");
  const auto all = RangeAll(*client_, {"k", EndOfPrefix("k")}, 7);
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->kvs.size(), 25u);
  EXPECT_EQ(all->kvs.back().key, "ky");
  Put("kz", "later");
  EXPECT_EQ(
      RangeAll(*client_, {.key = "k", .range_end = "l", .revision = all->revision}, 7)->kvs.size(),
      25u);
}

TEST_F(ClientTest, ALeaseKeepsItsKeysWhileItLives) {
  const auto lease = client_->GrantLease(seconds(1));
  ASSERT_TRUE(lease.ok()) << lease.status();
  EXPECT_GE(lease->ttl, seconds(1));
  Put("leased", "x", lease->id);
  EXPECT_EQ(client_->Range({"leased"})->kvs.at(0).lease, lease->id);
  const auto left = client_->KeepAlive(lease->id);
  ASSERT_TRUE(left.ok()) << left.status();
  EXPECT_EQ(*left, lease->ttl);
  ASSERT_TRUE(client_->RevokeLease(lease->id).ok());
  EXPECT_TRUE(client_->Range({"leased"})->kvs.empty());
  EXPECT_EQ(client_->KeepAlive(lease->id).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(client_->RevokeLease(lease->id).code(), absl::StatusCode::kNotFound);
}

TEST_F(ClientTest, AWatchReportsEachChangeOnce) {
  const int64_t before = Put("/w/old", "0");
  Recorder recorder;
  const auto watch = client_->StartWatch({"/w/", EndOfPrefix("/w/"), before}, recorder);
  Put("/w/a", "1");
  Put("/other", "x");
  ASSERT_TRUE(client_->DeleteRange("/w/a", "").ok());
  EXPECT_THAT(recorder.WaitFor(3), ElementsAre("/w/old=0", "/w/a=1", "/w/a deleted"));
  EXPECT_EQ(recorder.revision(), before + 3);
}

TEST_F(ClientTest, AWatchGoesOnWhereItWasWhenItsMemberIsBack) {
  Recorder recorder;
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

TEST_F(ClientTest, AWatchFromBeforeTheCompactionSaysSo) {
  const int64_t first = Put("/w/a", "1");
  const int64_t last = Put("/w/a", "2");
  cluster_->Control("compact " + std::to_string(last));
  Recorder recorder;
  const auto watch = client_->StartWatch({"/w/", EndOfPrefix("/w/"), first}, recorder);
  EXPECT_THAT(recorder.WaitFor(1), ElementsAre("compacted at " + std::to_string(last)));
  EXPECT_EQ(client_->Range({.key = "/w/a", .revision = first}).status().code(),
            absl::StatusCode::kOutOfRange);
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
}  // namespace fabricd::store::etcd
