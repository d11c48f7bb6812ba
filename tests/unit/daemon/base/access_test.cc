// SPDX-License-Identifier: Apache-2.0
// Every method against every role, over real connections; certificates that change; limits; the
// audit log.
#include "daemon/base/access.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "common/status.h"
#include "daemon/rpc/convert/grpc_status.h"
#include "daemon/rpc/security/certificates.h"
#include "fabric/sim/v1/sim.grpc.pb.h"
#include "fabric/v1/subnet_admin_service.grpc.pb.h"
#include "sim/fabric/control.h"
#include "tests/unit/daemon/rpc/running_server.h"
#include "tests/unit/daemon/rpc/security/certificates.h"

namespace fabricd::rpc::testing {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::MethodDescriptor;
using google::protobuf::ServiceDescriptor;
using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::Not;
using enum Role;

// Every service of the API: of all files in proto/, so that a new one is found by itself.
std::vector<const ServiceDescriptor*> Services() {
  std::set<std::string> files;
  for (const char* folder : {"fabric/v1", "fabric/sim/v1"})
    for (const auto& entry :
         std::filesystem::directory_iterator(std::string(FABRICD_SOURCE_DIR) + "/proto/" + folder))
      files.insert(std::string(folder) + "/" + entry.path().filename().string());
  std::vector<const ServiceDescriptor*> services;
  for (const std::string& name : files) {
    const auto* file = DescriptorPool::generated_pool()->FindFileByName(name);
    EXPECT_NE(file, nullptr) << name << " is not linked into the server";
    for (int i = 0; file != nullptr && i < file->service_count(); ++i)
      services.push_back(file->service(i));
  }
  EXPECT_GE(services.size(), 8u);
  return services;
}

std::string PathOf(const MethodDescriptor& method) {
  return method.service()->full_name() + "/" + method.name();
}

// A fabric that is simulated, for SimService to be served.
class NoCables final : public sim::Control {
 public:
  absl::Status Unlink(const std::string&, PortNum) override { return none_; }
  absl::Status Link(const std::string&, PortNum) override { return none_; }
  absl::Status Connect(const std::string&, PortNum, const std::string&, PortNum) override {
    return none_;
  }
  absl::Status Reboot(const std::string&) override { return none_; }
  absl::Status SetErrors(const std::string&, PortNum, const sim::PortErrors&) override {
    return none_;
  }
  absl::Status SetPerformance(const std::string&, const sim::PerformanceOptions&) override {
    return none_;
  }
  absl::Status SetClockRate(double) override { return none_; }
  absl::Status StartTraffic(const sim::TrafficJob&) override { return none_; }
  absl::Status StopTraffic(const std::string&) override { return none_; }
  std::vector<sim::TrafficReport> ListTraffic() override { return {}; }
  std::vector<sim::SimCable> ListCables() override { return {}; }
  std::vector<sim::SimNode> ListNodes() override { return {}; }

 private:
  const absl::Status none_ = absl::FailedPreconditionError("no cables");
};

Caller Known(const std::string& principal) { return {principal, principal, {principal}}; }

TEST(AccessRules, AreThoseOfTheServices) {
  std::set<std::string> rules, methods;
  for (const MethodRule& rule : MethodRules())
    if (rule.method.starts_with("fabric.")) rules.emplace(rule.method);
  for (const ServiceDescriptor* service : Services())
    for (int i = 0; i < service->method_count(); ++i) methods.insert(PathOf(*service->method(i)));
  EXPECT_EQ(rules, methods);
}

TEST(AccessRules, MutationsNeedMoreThanTheViewerRole) {
  for (const MethodRule& rule : MethodRules()) {
    if (rule.is_mutation) {
      EXPECT_GE(rule.least, kScheduler) << rule.method;
    }
    EXPECT_EQ(FindRule(rule.method), &rule);
  }
  EXPECT_EQ(FindRule(""), nullptr);
  EXPECT_EQ(FindRule("fabric.v1.TopologyService/"), nullptr);
}

TEST(AccessRules, TheHighestRoleOfAllPrincipalsCounts) {
  config::Security security;
  security.viewers = {"group:staff", "dns:a"};
  security.schedulers = {"user:slurm"};
  security.operators = {"group:staff2"};
  security.admins = {"spiffe://c/x"};
  Access access(security);
  EXPECT_EQ(access.RoleOf({"", "", {"user:slurm", "group:staff"}}), kScheduler);
  EXPECT_EQ(access.RoleOf({"", "", {"group:staff", "group:staff2"}}), kOperator);
  EXPECT_EQ(access.RoleOf(Known("spiffe://c/x")), kAdmin);
  EXPECT_EQ(access.RoleOf(Known("user:0")), kAdmin);
  EXPECT_EQ(access.RoleOf(Known("cn:a")), kNone);
  EXPECT_EQ(access.RoleOf({}), kNone);
  EXPECT_EQ(access.Admit(Known("user:slurm"), "fabric.v1.Nothing/Nothing").code(),
            absl::StatusCode::kUnimplemented);
  security.schedulers.clear();
  access.Set(security);
  EXPECT_EQ(access.RoleOf(Known("user:slurm")), kNone);
}

TEST(AccessRules, EachClientHasItsOwnLimits) {
  config::Security security;
  security.viewers = {"user:a", "user:b"};
  security.max_calls = 2;
  security.calls_per_second = 5;
  Access access(security);
  const std::string method = "fabric.v1.TopologyService/GetSm";
  {
    const auto first = access.Begin(Known("user:a")), second = access.Begin(Known("user:a"));
    const absl::Status refused = access.Admit(Known("user:a"), method);
    EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(Message(refused), HasSubstr("max_calls"));
    EXPECT_EQ(ReasonOf(ToGrpc(refused)), "TOO_MANY_CALLS");
    const auto quota = DetailOf<google::rpc::QuotaFailure>(ToGrpc(refused));
    EXPECT_EQ(quota.violations(0).subject(), "user:a");
    const auto facts = DetailOf<google::rpc::ErrorInfo>(ToGrpc(refused)).metadata();
    EXPECT_EQ(facts.at("method"), method);
    EXPECT_EQ(facts.at("role"), "viewer");
    EXPECT_EQ(facts.at("limit"), "2");
    EXPECT_EQ(facts.at("key"), "security.max_calls");
    EXPECT_TRUE(access.Admit(Known("user:b"), method).ok());
  }
  absl::Status status;
  int admitted = 0;
  for (int i = 0; i < 1000 && status.ok(); ++i) {
    status = access.Admit(Known("user:a"), method);
    admitted += status.ok();
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Message(status), HasSubstr("calls_per_second"));
  EXPECT_EQ(ReasonOf(ToGrpc(status)), "CALLS_TOO_FAST");
  EXPECT_GE(admitted, 5);
  EXPECT_TRUE(access.Admit(Known("user:b"), method).ok());
}

TEST(AccessRules, AStormOfCallsIsRejectedUnheard) {
  config::Security security;
  security.calls_per_second = 5;
  Access access(security);
  int heard = 0;
  absl::Status status;
  for (; heard < 1000; ++heard)
    if (status = access.Hear(Known("user:a")); !status.ok()) break;
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_GE(heard, 10);  // More than may begin.
  EXPECT_TRUE(access.Hear(Known("user:b")).ok());
}

TEST(AccessRules, AClientWithTooManyUnfinishedCallsIsRejectedUnheard) {
  config::Security security;
  security.max_calls = 200;
  Access access(security);
  std::vector<std::shared_ptr<void>> held;
  int expected = 0;
  for (; expected < 1000 && access.Hear(Known("user:a")).ok(); ++expected) {
    access.Expect(Known("user:a"));
    if (expected % 2 == 0) held.push_back(access.Hold(Known("user:a")));
  }
  EXPECT_EQ(expected, 400);
  EXPECT_TRUE(access.Hear(Known("user:b")).ok());
  held.pop_back();
  EXPECT_TRUE(access.Hear(Known("user:a")).ok());
}

TEST(AccessRules, AClientWithTooManyUnreadAnswersIsRefused) {
  Access access{config::Security()};
  const std::string method = "fabric.v1.AdminService/GetCaller";
  auto one = access.Send(Known("user:a"), 30 << 20);
  EXPECT_TRUE(access.Admit(Known("user:a"), method).ok());
  const auto other = access.Send(Known("user:a"), 2 << 20);
  EXPECT_EQ(ReasonOf(ToGrpc(access.Admit(Known("user:a"), method))), "TOO_MANY_ANSWERS");
  EXPECT_TRUE(access.Admit(Known("user:b"), method).ok());
  one.reset();
  EXPECT_TRUE(access.Admit(Known("user:a"), method).ok());
}

TEST(AccessRules, AnUnauthenticatedCallerMayOnlyAskForItsIdentity) {
  Access access{config::Security()};
  const auto status = ToGrpc(access.Admit({}, "fabric.v1.TopologyService/GetSm"));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(ReasonOf(status), "CALLER_UNKNOWN");
  EXPECT_TRUE(access.Admit({}, "fabric.v1.AdminService/GetCaller").ok());
}

// A server on TCP whose clients are certificates, one for each role.
class TlsTest : public ::testing::Test {
 protected:
  TlsTest() : certificates_(directory_ / "tls", "signer") {
    certificates_.Sign("server", "head1", "DNS:localhost");
    config::Security& security = options_.security;
    security.tls_cert = certificates_.path("server.pem");
    security.tls_key = certificates_.path("server.key");
    security.tls_ca = certificates_.path("ca.pem");
    security.viewers = {"dns:monitor.example"};
    security.schedulers = {"spiffe://cluster/slurm"};
    security.operators = {"cn:alice"};
    security.admins = {"spiffe://cluster/root"};
    certificates_.Sign("none", "nobody", "");
    certificates_.Sign("viewer", "x", "DNS:monitor.example");
    certificates_.Sign("scheduler", "y", "URI:spiffe://cluster/slurm");
    certificates_.Sign("operator", "alice", "");
    certificates_.Sign("admin", "z", "URI:spiffe://cluster/root");
    options_.listen = {"localhost:0"};
    options_.version = "1";
    options_.certificate_refresh_seconds = 1;
    Start();
  }
  // With the options as they are now.
  void Start() {
    server_.reset();
    auto started = Server::Start(options_, backend_);
    EXPECT_TRUE(started.ok()) << started.status();
    if (started.ok()) server_ = *std::move(started);
  }
  std::shared_ptr<grpc::Channel> Connect(const Certificates& made, const std::string& name,
                                         const Certificates& trusted) {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = trusted.Read("ca.pem");
    if (!name.empty()) {
      options.pem_private_key = made.Read(name + ".key");
      options.pem_cert_chain = made.Read(name + ".pem");
    }
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel(fmt::format("localhost:{}", server_->ports()[0]),
                                     grpc::SslCredentials(options), arguments);
  }
  std::shared_ptr<grpc::Channel> Connect(const std::string& name) {
    return Connect(certificates_, name, certificates_);
  }
  static grpc::Status CallEmpty(const std::shared_ptr<grpc::Channel>& channel,
                                const std::string& path, milliseconds timeout) {
    grpc::GenericStub stub(channel);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + timeout);
    grpc::CompletionQueue queue;
    grpc::ByteBuffer request(nullptr, 0), response;
    grpc::Slice nothing;
    request = grpc::ByteBuffer(&nothing, 1);
    auto call = stub.PrepareUnaryCall(&context, "/" + path, request, &queue);
    call->StartCall();
    grpc::Status status;
    call->Finish(&response, &status, nullptr);
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    return status;
  }
  static grpc::Status GetSm(const std::shared_ptr<grpc::Channel>& channel) {
    return CallEmpty(channel, "fabric.v1.TopologyService/GetSm", std::chrono::seconds(20));
  }
  std::vector<store::AuditRecord> Audit() {
    std::lock_guard lock(backend_.store_mutex);
    return *backend_.store.ListAudit({});
  }

  TempDir directory_;
  Certificates certificates_;
  SmallFabric fabric_;
  FakeBackend backend_{fabric_.View()};
  ServerOptions options_;
  std::unique_ptr<Server> server_;
};

TEST_F(TlsTest, EveryMethodAgainstEveryRole) {
  const std::pair<const char*, Role> kRoles[] = {{"none", kNone},
                                                 {"viewer", kViewer},
                                                 {"scheduler", kScheduler},
                                                 {"operator", kOperator},
                                                 {"admin", kAdmin}};
  backend_.on_partitions = [](const auto&, const daemon::PartitionsDone& done) {
    done(absl::FailedPreconditionError("no master"), nullptr);
  };
  backend_.on_sweep = [](bool, const auto& done) { done(absl::OkStatus()); };
  backend_.on_mastership = [](const auto&, const daemon::MastershipDone& done) {
    done(absl::FailedPreconditionError("no master"), nullptr);
  };
  size_t refused = 0, calls = 0;
  NoCables control;
  backend_.control = &control;
  Start();
  for (const auto& [name, role] : kRoles) {
    const auto channel = Connect(name);
    for (const ServiceDescriptor* service : Services()) {
      for (int i = 0; i < service->method_count(); ++i) {
        const MethodDescriptor& method = *service->method(i);
        const MethodRule* rule = FindRule(PathOf(method));
        ASSERT_NE(rule, nullptr) << PathOf(method);
        const bool may = role >= rule->least;
        const bool endless = method.name().starts_with("Watch");
        const auto status = CallEmpty(channel, PathOf(method),
                                      may && endless ? milliseconds(200) : milliseconds(20'000));
        const bool denied = status.error_code() == grpc::StatusCode::PERMISSION_DENIED;
        EXPECT_EQ(denied, !may) << PathOf(method) << " as " << name << ": "
                                << status.error_message();
        if (denied) {
          EXPECT_THAT(status.error_message(),
                      HasSubstr(std::string("needs the role ") + RoleName(rule->least)));
          EXPECT_EQ(ReasonOf(status), "ROLE_REQUIRED");
          const auto facts = DetailOf<google::rpc::ErrorInfo>(status).metadata();
          EXPECT_EQ(facts.at("method"), PathOf(method));
          EXPECT_EQ(facts.at("needed_role"), RoleName(rule->least));
          EXPECT_EQ(facts.at("role"), name);
          EXPECT_FALSE(facts.at("caller").empty());
        }
        EXPECT_THAT(status.error_message(), Not(HasSubstr("connect")));
        EXPECT_NE(status.error_code(), grpc::StatusCode::UNIMPLEMENTED) << PathOf(method);
        refused += denied;
        ++calls;
      }
    }
  }
  EXPECT_GT(refused, 50u);
  EXPECT_GE(calls, 200u);
  server_.reset();  // Before the control.
}

TEST_F(TlsTest, ServicesOfGrpcItselfAreGuardedToo) {
  const char* reflection = "grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";
  const auto none = Connect("none");
  const auto refused = CallEmpty(none, reflection, std::chrono::seconds(20));
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(refused.error_message(), HasSubstr("needs the role viewer"));
  EXPECT_NE(CallEmpty(Connect("viewer"), reflection, std::chrono::seconds(20)).error_code(),
            grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_TRUE(CallEmpty(none, "grpc.health.v1.Health/Check", std::chrono::seconds(20)).ok());
  // Served with a simulator only, and refused without one too.
  EXPECT_EQ(
      CallEmpty(none, "fabric.sim.v1.SimService/Reboot", std::chrono::seconds(20)).error_code(),
      grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(
      CallEmpty(Connect("admin"), "fabric.v1.TopologyService/BurnDown", std::chrono::seconds(20))
          .error_code(),
      grpc::StatusCode::UNIMPLEMENTED);
}

TEST_F(TlsTest, AFastCallerIsRefusedAndAStormIsCutOff) {
  options_.security.calls_per_second = 5;
  Start();
  const auto scheduler = Connect("scheduler");
  size_t admitted = 0, told = 0, cut_short = 0;
  for (int i = 0; i < 2000 && cut_short == 0; ++i) {
    const auto status =
        CallEmpty(scheduler, "fabric.v1.AdminService/StartSweep", std::chrono::seconds(20));
    if (status.error_code() == grpc::StatusCode::PERMISSION_DENIED) {
      ++admitted;
      continue;
    }
    ASSERT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    if (status.error_details().empty()) {
      ++cut_short;
      continue;
    }
    ++told;
    EXPECT_EQ(ReasonOf(status), "CALLS_TOO_FAST");
    EXPECT_EQ(DetailOf<google::rpc::ErrorInfo>(status).metadata().at("limit"), "5");
  }
  EXPECT_GE(admitted, 5u);
  EXPECT_GE(told, 1u);
  EXPECT_EQ(cut_short, 1u);
  EXPECT_EQ(Audit().size(), admitted);  // Not one for each that is too fast.
}

// Calls that were refused or have ended do not count as running.
TEST_F(TlsTest, RefusedCallsDoNotCountAsRunning) {
  options_.security.max_calls = 2;
  Start();
  const auto viewer = Connect("viewer");
  const auto stub = pb::TopologyService::NewStub(viewer);
  pb::WatchTopologyRequest request;
  request.set_kind(pb::TOPOLOGY_KIND_NODE);
  pb::WatchTopologyResponse response;
  {
    grpc::ClientContext contexts[2];
    std::unique_ptr<grpc::ClientReader<pb::WatchTopologyResponse>> readers[2];
    for (int i = 0; i < 2; ++i) {
      readers[i] = stub->WatchTopology(&contexts[i], request);
      EXPECT_TRUE(readers[i]->Read(&response));
    }
    for (int i = 0; i < 10; ++i) EXPECT_EQ(ReasonOf(GetSm(viewer)), "TOO_MANY_CALLS");
    contexts[0].TryCancel();
    contexts[1].TryCancel();
    for (const auto& reader : readers) reader->Finish();
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  // A place is given back a little after the client has its answer.
  int in_a_row = 0;
  while (in_a_row < 10 && std::chrono::steady_clock::now() < end)
    in_a_row = GetSm(viewer).ok() ? in_a_row + 1 : 0;
  EXPECT_EQ(in_a_row, 10);
}

// The end of every admitted call is recorded, for each kind of method.
TEST_F(TlsTest, CallsThatHaveEndedAreNotHeld) {
  options_.security.max_calls = 1;
  Start();
  const auto viewer = Connect("viewer");
  for (int i = 0; i < 120; ++i) {
    for (const char* method : {"fabric.v1.TopologyService/GetSm", "fabric.v1.AdminService/StepDown",
                               "grpc.health.v1.Health/Check",
                               "grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"}) {
      const auto status = CallEmpty(viewer, method, std::chrono::seconds(20));
      ASSERT_THAT(status.error_message(), Not(HasSubstr("have not ended yet"))) << method << i;
    }
  }
}

TEST_F(TlsTest, AConnectionWithoutACertificateIsRefused) {
  EXPECT_EQ(GetSm(Connect("")).error_code(), grpc::StatusCode::UNAVAILABLE);
  const Certificates strangers(directory_ / "strangers", "signer");
  strangers.Sign("admin", "z", "URI:spiffe://cluster/root");
  EXPECT_EQ(GetSm(Connect(strangers, "admin", certificates_)).error_code(),
            grpc::StatusCode::UNAVAILABLE);
  const auto plain = grpc::CreateChannel(fmt::format("localhost:{}", server_->ports()[0]),
                                         grpc::InsecureChannelCredentials());
  EXPECT_EQ(GetSm(plain).error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_TRUE(GetSm(Connect("viewer")).ok());
}

TEST_F(TlsTest, CertificatesAreRotatedWithoutARestart) {
  const auto before = Connect("viewer");
  ASSERT_TRUE(GetSm(before).ok());
  const Certificates next(directory_ / "next", "next signer");
  next.Sign("server", "head1", "DNS:localhost");
  next.Sign("viewer", "x", "DNS:monitor.example");
  using std::filesystem::copy_options;
  for (const char* file : {"server.key", "server.pem", "ca.pem"})
    std::filesystem::copy_file(next.path(file), certificates_.path(file),
                               copy_options::overwrite_existing);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  grpc::Status status;
  do {
    status = GetSm(Connect(next, "viewer", next));
  } while (!status.ok() && std::chrono::steady_clock::now() < end);
  EXPECT_TRUE(status.ok()) << status.error_message();
  // Whom the signer of before vouches for is no longer known; who is connected stays so.
  const Certificates old(directory_ / "old", "signer");
  old.Sign("viewer", "x", "DNS:monitor.example");
  EXPECT_FALSE(GetSm(Connect(old, "viewer", next)).ok());
  EXPECT_TRUE(GetSm(before).ok());
}

TEST_F(TlsTest, FaultyFilesKeepThePreviousCertificates) {
  // The signers that the server asks for; "ca.pem" stays what its clients trust.
  std::filesystem::copy_file(certificates_.path("ca.pem"), certificates_.path("signers.pem"));
  options_.security.tls_ca = certificates_.path("signers.pem");
  Start();
  const Certificates other(directory_ / "other", "other signer");
  other.Sign("server", "head1", "DNS:localhost");
  const std::pair<const char*, std::string> faults[] = {
      {"server.pem", "garbage\n"},
      {"server.pem", "-----BEGIN CERTIFICATE-----\ngarbage\n-----END CERTIFICATE-----\n"},
      {"server.pem", ""},
      {"server.key", "garbage\n"},
      {"server.key", other.Read("server.key")},  // Of another certificate.
      {"signers.pem", "garbage\n"}};
  for (const auto& [file, text] : faults) {
    const std::string good = certificates_.Read(file);
    std::ofstream(certificates_.path(file)) << text;
    const auto judged = ReadCertificates(options_.security);
    EXPECT_EQ(judged.status().code(), absl::StatusCode::kInvalidArgument) << file;
    EXPECT_THAT(Message(judged.status()), HasSubstr(certificates_.path(file)));
    std::ofstream(certificates_.path(file)) << good;
  }
  EXPECT_TRUE(ReadCertificates(options_.security).ok());
  const auto still_served = [&](const char* what) {
    // The server looks at the files every second, and gRPC at what the server has.
    const auto end = std::chrono::steady_clock::now() + milliseconds(2500);
    while (std::chrono::steady_clock::now() < end) {
      ASSERT_TRUE(GetSm(Connect("viewer")).ok()) << what;
      std::this_thread::sleep_for(milliseconds(100));
    }
  };
  std::ofstream(certificates_.path("server.key")) << other.Read("server.key");
  still_served("a key of another certificate");
  for (const char* file : {"server.pem", "server.key", "signers.pem"})
    std::ofstream(certificates_.path(file)) << "-----BEGIN CERTIFICATE-----\ngarbage\n";
  still_served("garbage in all files");
}

TEST_F(TlsTest, ConnectionsEndAtTheirAgeAndCertificatesAreCheckedAgain) {
  options_.connection_age = milliseconds(500);
  options_.connection_grace = milliseconds(500);
  Start();
  const auto channel = Connect("viewer");
  const auto stub = pb::TopologyService::NewStub(channel);
  pb::WatchTopologyRequest request;
  request.set_kind(pb::TOPOLOGY_KIND_NODE);
  // Cut off with its connection; the client connects anew and goes on from where it was.
  for (int i = 0; i < 2; ++i) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    const auto reader = stub->WatchTopology(&context, request);
    pb::WatchTopologyResponse response;
    size_t objects = 0;
    while (reader->Read(&response)) {
      objects += response.has_change();
      if (response.has_synced()) request.set_resource_version(response.synced().resource_version());
    }
    EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_EQ(objects == 0, i > 0);
  }
  EXPECT_TRUE(GetSm(channel).ok());
  // A signer that is not trusted any more: whom it vouched for is out at the next connection.
  const Certificates next(directory_ / "next", "next signer");
  std::filesystem::copy_file(next.path("ca.pem"), certificates_.path("ca.pem"),
                             std::filesystem::copy_options::overwrite_existing);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (GetSm(channel).ok() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(milliseconds(20));
  EXPECT_EQ(GetSm(channel).error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(TlsTest, ChangesAreAudited) {
  const auto scheduler = Connect("scheduler");
  const auto stub = pb::RemediationService::NewStub(scheduler);
  pb::CreateHoldRequest request;
  request.set_kind(pb::HOLD_KIND_ISOLATE);
  request.set_target("node1");
  request.set_reason("bit errors");
  pb::CreateHoldResponse response;
  {
    grpc::ClientContext context;
    const auto status = stub->CreateHold(&context, request, &response);
    EXPECT_EQ(ReasonOf(status), "ROLE_REQUIRED");
  }
  request.set_validate_only(true);
  {
    grpc::ClientContext context;
    EXPECT_FALSE(stub->CreateHold(&context, request, &response).ok());
  }
  EXPECT_EQ(GetSm(scheduler).error_code(), grpc::StatusCode::OK);
  CallEmpty(scheduler, "fabric.v1.AdminService/StartSweep", std::chrono::seconds(20));
  const auto records = Audit();
  ASSERT_EQ(records.size(), 2u);  // Neither reads nor dry runs.
  EXPECT_EQ(records[0].caller, "spiffe://cluster/slurm");
  EXPECT_EQ(records[0].role, "scheduler");
  EXPECT_EQ(records[0].method, "fabric.v1.RemediationService/CreateHold");
  EXPECT_THAT(records[0].request, HasSubstr("\"target\":\"node1\""));
  EXPECT_EQ(records[0].reason, "bit errors");
  EXPECT_EQ(records[0].code, "PERMISSION_DENIED");
  EXPECT_EQ(records[1].method, "fabric.v1.AdminService/StartSweep");
  EXPECT_EQ(records[1].code, "PERMISSION_DENIED");
  EXPECT_THAT(records[1].message, HasSubstr("needs the role operator"));

  const auto admin = pb::AdminService::NewStub(Connect("operator"));
  grpc::ClientContext context;
  pb::ListAuditRecordsRequest list;
  list.set_method("StartSweep");
  pb::ListAuditRecordsResponse listed;
  ASSERT_TRUE(admin->ListAuditRecords(&context, list, &listed).ok());
  ASSERT_EQ(listed.records_size(), 1);
  EXPECT_EQ(listed.records(0).number(), records[1].number);
  EXPECT_FALSE(listed.more());
}

TEST_F(TlsTest, SchedulersSpeakForThemselves) {
  const auto stub = pb::RemediationService::NewStub(Connect("scheduler"));
  std::vector<std::string> owners;
  backend_.on_hold = [&](daemon::HoldCommand command, const daemon::HoldDone& done) {
    if (const auto* create = std::get_if<sweep::CreateHold>(&command))
      owners.push_back(create->hold.owner);
    done(absl::UnavailableError("seen"), nullptr);
  };
  const auto create = [&](const std::string& owner) {
    pb::CreateHoldRequest request;
    request.set_kind(pb::HOLD_KIND_CORDON);
    request.set_target("node1");
    request.set_reason("job");
    request.set_owner(owner);
    grpc::ClientContext context;
    pb::CreateHoldResponse response;
    return stub->CreateHold(&context, request, &response);
  };
  EXPECT_EQ(create("").error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(create("spiffe://cluster/slurm/job7").error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(ReasonOf(create("somebody")), "ROLE_REQUIRED");
  EXPECT_EQ(owners,
            (std::vector<std::string>{"spiffe://cluster/slurm", "spiffe://cluster/slurm/job7"}));
  pb::DeleteHoldRequest request;
  request.set_id("1");
  request.set_any_owner(true);
  grpc::ClientContext context;
  pb::DeleteHoldResponse response;
  EXPECT_EQ(ReasonOf(stub->DeleteHold(&context, request, &response)), "ROLE_REQUIRED");
}

TEST_F(TlsTest, GetCallerReturnsIdentityAndRole) {
  const auto stub = pb::AdminService::NewStub(Connect("none"));
  grpc::ClientContext context;
  pb::GetCallerResponse response;
  ASSERT_TRUE(stub->GetCaller(&context, {}, &response).ok());
  EXPECT_EQ(response.caller(), "cn:nobody");
  EXPECT_EQ(response.role(), "none");
}

TEST_F(TlsTest, MissingFilesAreReported) {
  ServerOptions options = options_;
  options.security.tls_key = directory_ / "missing";
  auto server = Server::Start(options, backend_);
  EXPECT_EQ(server.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(server.status()), HasSubstr("security.tls_key: " + (directory_ / "missing")));
}

TEST(UnixCaller, HasTheUserAndItsGroups) {
  SmallFabric fabric;
  FakeBackend backend(fabric.View());
  RunningServer running(backend);
  pb::GetCallerResponse response;
  ASSERT_TRUE(running.Call(*running.admin, &pb::AdminService::Stub::GetCaller, {}, &response).ok());
  EXPECT_EQ(response.role(), "admin");
  EXPECT_THAT(response.principals(), ::testing::Contains(fmt::format("user:{}", geteuid())));
  EXPECT_THAT(response.principals(), ::testing::Contains(fmt::format("group:{}", getegid())));
}

}  // namespace
}  // namespace fabricd::rpc::testing
