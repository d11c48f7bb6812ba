// SPDX-License-Identifier: Apache-2.0
// Every method against every role, over real connections; limits; the audit log.
#include <filesystem>
#include <set>

#include "daemon/base/access.h"
#include "fabric/sim/v1/sim.grpc.pb.h"
#include "fabric/v1/subnet_admin_service.grpc.pb.h"
#include "sim/fabric/control.h"
#include "tests/unit/daemon/rpc/security/tls_fixture.h"

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

TEST(AccessRules, AreThoseOfTheServices) {
  std::set<std::string> rules, methods;
  for (const MethodRule& rule : MethodRules())
    if (rule.method.starts_with("fabric.")) rules.emplace(rule.method);
  for (const ServiceDescriptor* service : Services())
    for (int i = 0; i < service->method_count(); ++i) methods.insert(PathOf(*service->method(i)));
  EXPECT_EQ(rules, methods);
}

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
