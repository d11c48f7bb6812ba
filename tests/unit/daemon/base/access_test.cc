// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/access.h"

#include <memory>
#include <string>
#include <vector>

#include "common/status.h"
#include "daemon/rpc/convert/grpc_status.h"
#include "tests/unit/daemon/rpc/running_server.h"

namespace fabricd::rpc::testing {
namespace {

using ::testing::HasSubstr;
using enum Role;

Caller Known(const std::string& principal) { return {principal, principal, {principal}}; }

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

TEST(AccessRules, AReadingModeRefusesWrites) {
  const std::string writes = "fabric.v1.RemediationService/CreateHold";
  Access standby({}, SmMode::kStandby);
  EXPECT_EQ(ReasonOf(ToGrpc(standby.Admit(Known("user:0"), writes))), "ONLY_READS");
  EXPECT_TRUE(standby.Admit(Known("user:0"), "fabric.v1.TopologyService/GetSm").ok());
  daemon::OtherMaster master{"head1 pid 7", "head1:7471"};
  Access waiting({}, SmMode::kStandby, [&] { return master; });
  const auto refused = [&] { return ToGrpc(waiting.Admit(Known("user:0"), writes)); };
  EXPECT_EQ(refused().error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(ReasonOf(refused()), "NOT_MASTER");
  EXPECT_THAT(refused().error_message(), HasSubstr("head1 pid 7 at head1:7471"));
  EXPECT_EQ(DetailOf<google::rpc::ErrorInfo>(refused()).metadata().at("master_endpoint"),
            "head1:7471");
  // The master must not be asked in its place.
  for (const char* of_node : {"SetPriority", "StepDown"}) {
    const auto said =
        ToGrpc(waiting.Admit(Known("user:0"), std::string("fabric.v1.AdminService/") + of_node));
    EXPECT_EQ(ReasonOf(said), "NOT_MASTER");
    EXPECT_EQ(DetailOf<google::rpc::ErrorInfo>(said).metadata().count("master_endpoint"), 0u);
  }
  master.endpoint = "";
  EXPECT_EQ(DetailOf<google::rpc::ErrorInfo>(refused()).metadata().count("master_endpoint"), 0u);
  // The owner of the state changes nothing either.
  master = {"head1 pid 7", "head1:7471", daemon::OtherMaster::Foreign{Guid(0x2c90200000401), 10}};
  EXPECT_EQ(refused().error_message(),
            "the master of the fabric is another SM, 0x0002c90200000401 with priority 10: changes "
            "are refused until a fabricd is master. This node waits beside head1 pid 7, which is "
            "STANDBY");
  EXPECT_EQ(ReasonOf(refused()), "NOT_MASTER");
  EXPECT_EQ(DetailOf<google::rpc::ErrorInfo>(refused()).metadata().count("master_endpoint"), 0u);
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

TEST(AccessRules, WhereFabricdOnlyReadsCallsThatWriteAreRefusedForAdminsToo) {
  config::Security security;
  security.admins = {"user:root"};
  security.calls_per_second = 1000;
  const Caller root = Known("user:root");
  for (const SmMode mode : {SmMode::kManage, SmMode::kStandby, SmMode::kObserve}) {
    Access access(security, mode);
    for (const MethodRule& rule : MethodRules()) {
      const absl::Status status = access.Admit(root, rule.method);
      if (rule.writes && mode != SmMode::kManage) {
        EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << rule.method;
        EXPECT_NE(Message(status).find(SmModeName(mode)), std::string::npos) << status;
      } else {
        EXPECT_TRUE(status.ok()) << rule.method << status;
      }
      EXPECT_TRUE(!rule.writes || rule.is_mutation) << rule.method;
    }
  }
}

TEST(AccessRules, AMasterWhosePortHasNoLinkRefusesCallsThatWrite) {
  config::Security security;
  security.admins = {"user:root"};
  security.calls_per_second = 1000;
  bool is_cut_off = true;
  Access access(security, SmMode::kManage, {}, [&] { return is_cut_off; });
  for (const MethodRule& rule : MethodRules())
    EXPECT_EQ(absl::IsUnavailable(access.Admit(Known("user:root"), rule.method)), rule.writes);
  is_cut_off = false;
  for (const MethodRule& rule : MethodRules())
    EXPECT_TRUE(access.Admit(Known("user:root"), rule.method).ok());
}

}  // namespace
}  // namespace fabricd::rpc::testing
