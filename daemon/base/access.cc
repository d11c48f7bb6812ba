// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/access.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "common/mutex.h"
#include "common/status.h"
#include "query/status.h"

namespace fabricd::rpc {
namespace {

using enum Role;

// Clients whose limits are remembered; those that do nothing are forgotten first.
constexpr size_t kMaxClients = 4096;

// Calls of a client that are heard, of those that it may begin: who is a little too fast is told so
// in full, who storms is cut short before anything of its requests is read.
constexpr double kHeard = 2;
// Calls of a client that gRPC holds, of those that may be under way; and as many at least, for they
// end a little later than their clients see.
constexpr uint32_t kHeld = 2, kLeastHeld = 100;
// gRPC drops a few calls between the gates: none is expected for longer.
constexpr std::chrono::seconds kExpected{60};
// KiB of answers that a client has not taken. As objects, which last as long, they are about eight
// times as large.
constexpr uint32_t kAnswers = 32 << 10;

// Of an ErrorInfo.
std::map<std::string, std::string> About(const Caller& caller, const MethodRule& rule, Role role) {
  return {{"method", std::string(rule.method)},
          {"needed_role", RoleName(rule.least)},
          {"role", RoleName(role)},
          {"caller", caller.id}};
}

// What has become free since the last time.
void Fill(ClientState& state, double per_second) FABRICD_REQUIRES(state.mutex) {
  const auto now = std::chrono::steady_clock::now();
  const double fresh = std::chrono::duration<double>(now - state.filled).count() * per_second;
  state.tokens = std::min(per_second, state.tokens + fresh);
  state.knocks = std::min(kHeard * per_second, state.knocks + kHeard * fresh);
  state.filled = now;
}

// By method, for the look-up.
constexpr MethodRule kRules[] = {
    {"fabric.sim.v1.SimService/Connect", kOperator, true},
    {"fabric.sim.v1.SimService/Link", kOperator, true},
    {"fabric.sim.v1.SimService/ListLinks", kViewer},
    {"fabric.sim.v1.SimService/ListTraffic", kViewer},
    {"fabric.sim.v1.SimService/Reboot", kOperator, true},
    {"fabric.sim.v1.SimService/SetClock", kOperator, true},
    {"fabric.sim.v1.SimService/SetErrors", kOperator, true},
    {"fabric.sim.v1.SimService/SetPerformance", kOperator, true},
    {"fabric.sim.v1.SimService/StartTraffic", kOperator, true},
    {"fabric.sim.v1.SimService/StopTraffic", kOperator, true},
    {"fabric.sim.v1.SimService/Unlink", kOperator, true},
    {"fabric.v1.AdminService/AcceptTakeover", kAdmin, true, true},
    {"fabric.v1.AdminService/DownloadRecording", kOperator},
    {"fabric.v1.AdminService/Dump", kViewer},
    {"fabric.v1.AdminService/GetCaller", kNone},
    {"fabric.v1.AdminService/GetConfig", kOperator},
    {"fabric.v1.AdminService/GetTakeoverReport", kViewer},
    {"fabric.v1.AdminService/ImportOpensm", kOperator},
    {"fabric.v1.AdminService/ListAuditRecords", kOperator},
    {"fabric.v1.AdminService/ReloadConfig", kAdmin, true},
    {"fabric.v1.AdminService/SetPriority", kAdmin, true, true},
    {"fabric.v1.AdminService/StartSweep", kOperator, true},
    {"fabric.v1.AdminService/StepDown", kAdmin, true, true},
    {"fabric.v1.AdminService/ValidateConfig", kOperator},
    {"fabric.v1.EventService/ListEvents", kViewer},
    {"fabric.v1.EventService/WatchEvents", kViewer},
    {"fabric.v1.PartitionService/AddMembers", kOperator, true, true},
    {"fabric.v1.PartitionService/ApplyPartitions", kOperator, true, true},
    {"fabric.v1.PartitionService/CreatePartition", kOperator, true, true},
    {"fabric.v1.PartitionService/DeletePartition", kOperator, true, true},
    {"fabric.v1.PartitionService/ExportPartitions", kViewer},
    {"fabric.v1.PartitionService/GetPartition", kViewer},
    {"fabric.v1.PartitionService/ListPartitions", kViewer},
    {"fabric.v1.PartitionService/RemoveMembers", kOperator, true, true},
    {"fabric.v1.PartitionService/UpdatePartition", kOperator, true, true},
    {"fabric.v1.PlanService/AnalyzeJob", kViewer},
    {"fabric.v1.PlanService/PreviewChange", kViewer},
    {"fabric.v1.PlanService/ValidateWiring", kViewer},
    {"fabric.v1.RemediationService/AckHold", kScheduler, true, true},
    {"fabric.v1.RemediationService/BatchGetReadiness", kViewer},
    {"fabric.v1.RemediationService/ClearDamping", kOperator, true, true},
    {"fabric.v1.RemediationService/CreateHold", kScheduler, true, true},
    {"fabric.v1.RemediationService/DeleteHold", kScheduler, true, true},
    {"fabric.v1.RemediationService/ListConditions", kViewer},
    {"fabric.v1.RemediationService/ListDampedLinks", kViewer},
    {"fabric.v1.RemediationService/ListHolds", kViewer},
    {"fabric.v1.SubnetAdminService/ListMulticastGroups", kViewer},
    {"fabric.v1.SubnetAdminService/ListRecords", kViewer},
    {"fabric.v1.SubnetAdminService/ListServices", kViewer},
    {"fabric.v1.SubnetAdminService/ListSubscriptions", kViewer},
    {"fabric.v1.TelemetryService/GetJobView", kViewer},
    {"fabric.v1.TelemetryService/GetPortCounters", kViewer},
    {"fabric.v1.TelemetryService/GetPortHistory", kViewer},
    {"fabric.v1.TelemetryService/GetTelemetryStatus", kViewer},
    {"fabric.v1.TelemetryService/ListErrors", kViewer},
    {"fabric.v1.TelemetryService/ListInventory", kViewer},
    {"fabric.v1.TelemetryService/ListMeasurementGaps", kViewer},
    {"fabric.v1.TelemetryService/ListPortCounters", kViewer},
    {"fabric.v1.TelemetryService/ListTop", kViewer},
    {"fabric.v1.TelemetryService/PollCounters", kOperator, true},
    {"fabric.v1.TelemetryService/WatchRates", kViewer},
    {"fabric.v1.TopologyService/GetForwardingTable", kViewer},
    {"fabric.v1.TopologyService/GetNode", kViewer},
    {"fabric.v1.TopologyService/GetPort", kViewer},
    {"fabric.v1.TopologyService/GetSm", kViewer},
    {"fabric.v1.TopologyService/GetTopology", kViewer},
    {"fabric.v1.TopologyService/ListHosts", kViewer},
    {"fabric.v1.TopologyService/ListLinks", kViewer},
    {"fabric.v1.TopologyService/ListNodes", kViewer},
    {"fabric.v1.TopologyService/ListPorts", kViewer},
    {"fabric.v1.TopologyService/TracePath", kViewer},
    {"fabric.v1.TopologyService/WatchTopology", kViewer},
    {"fabric.v1.VerdictService/AckVerdict", kScheduler, true},
    {"fabric.v1.VerdictService/GetVerdict", kViewer},
    {"fabric.v1.VerdictService/ListCongestion", kViewer},
    {"fabric.v1.VerdictService/ListVerdicts", kViewer},
    {"fabric.v1.VerdictService/OverruleVerdict", kScheduler, true},
    {"fabric.v1.VerdictService/ReleaseVerdict", kOperator, true},
    {"fabric.v1.VerdictService/ResetVerdictBreaker", kOperator, true},
    {"fabric.v1.VerdictService/WatchVerdicts", kViewer},
    {"grpc.health.v1.Health/Check", kNone},
    {"grpc.health.v1.Health/Watch", kNone},
    {"grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", kViewer},
};
static_assert(std::is_sorted(std::begin(kRules), std::end(kRules),
                             [](const MethodRule& a, const MethodRule& b) {
                               return a.method < b.method;
                             }));

}  // namespace

const char* RoleName(Role role) {
  switch (role) {
    case kNone: return "none";
    case kViewer: return "viewer";
    case kScheduler: return "scheduler";
    case kOperator: return "operator";
    case kAdmin: return "admin";
  }
  return "none";
}

std::span<const MethodRule> MethodRules() { return kRules; }

const MethodRule* FindRule(std::string_view method) {
  const auto* rule = std::lower_bound(
      std::begin(kRules), std::end(kRules), method,
      [](const MethodRule& each, std::string_view wanted) { return each.method < wanted; });
  return rule != std::end(kRules) && rule->method == method ? rule : nullptr;
}

Access::Access(const config::Security& security, SmMode mode, FindMaster other_master,
               std::function<bool()> is_cut_off)
    : handled_(std::size(kRules) * kCodes),
      mode_(mode),
      other_master_(std::move(other_master)),
      is_cut_off_(std::move(is_cut_off)) {
  Set(security);
}

void Access::Count(const MethodRule& rule, int code) {
  const auto index = static_cast<size_t>(&rule - std::begin(kRules));
  if (code < 0 || code >= static_cast<int>(kCodes)) return;
  handled_[index * kCodes + static_cast<size_t>(code)].fetch_add(1, std::memory_order_relaxed);
}

std::vector<HandledCalls> Access::Handled() const {
  std::vector<HandledCalls> all;
  for (size_t i = 0; i < handled_.size(); ++i) {
    const uint64_t count = handled_[i].load(std::memory_order_relaxed);
    if (count == 0) continue;
    const std::string method(kRules[i / kCodes].method);
    const size_t slash = method.find('/');
    all.push_back({method.substr(0, slash), method.substr(slash + 1),
                   absl::StatusCodeToString(static_cast<absl::StatusCode>(i % kCodes)), count});
  }
  return all;
}

void Access::Set(const config::Security& security) {
  auto rules = std::make_shared<Rules>();
  const auto give = [&](const std::vector<std::string>& principals, Role role) {
    for (const std::string& principal : principals) {
      Role& given = rules->roles[principal];
      given = std::max(given, role);
    }
  };
  give(security.viewers, kViewer);
  give(security.schedulers, kScheduler);
  give(security.operators, kOperator);
  give(security.admins, kAdmin);
  // They can do everything to this process anyway.
  give({"user:0", fmt::format("user:{}", geteuid())}, kAdmin);
  rules->max_calls = security.max_calls;
  rules->per_second = security.calls_per_second;
  rules_.Set(std::move(rules));
}

Role Access::RoleOf(const Caller& caller) const {
  const auto rules = rules_.Get();
  Role role = kNone;
  for (const std::string& principal : caller.principals)
    if (const auto found = rules->roles.find(principal); found != rules->roles.end())
      role = std::max(role, found->second);
  return role;
}

absl::Status Access::Hear(const Caller& caller) {
  const auto rules = rules_.Get();
  const auto state = StateOf(caller);
  if (state == nullptr) return absl::ResourceExhaustedError("too many clients");
  MutexLock lock(state->mutex);
  Fill(*state, rules->per_second);
  if (state->knocks < 1)
    return absl::ResourceExhaustedError(fmt::format(
        "{} begins far more than {} calls a second (security.calls_per_second); slow down",
        caller.id, rules->per_second));
  state->knocks -= 1;
  if (state->filled - state->arrived > kExpected) state->expected = 0;
  const uint32_t held = state->expected + state->held;
  if (held >= std::max(kLeastHeld, kHeld * rules->max_calls))
    return absl::ResourceExhaustedError(fmt::format(
        "{} calls of {}, reset ones included, have not ended yet (security.max_calls); slow down",
        held, caller.id));
  return absl::OkStatus();
}

absl::Status Access::Admit(const Caller& caller, std::string_view method, bool begun) {
  const MethodRule* rule = FindRule(method);
  if (rule == nullptr)
    return query::MakeError(absl::StatusCode::kUnimplemented, "METHOD_UNKNOWN",
                            fmt::format("fabricd serves no {}", method.substr(0, 200)));
  const Role role = RoleOf(caller);
  FABRICD_RETURN_IF_ERROR(TakeToken(caller, *rule, role, begun));
  if (role >= rule->least) return CheckMode(*rule);
  const bool known = !caller.id.empty();
  const auto code =
      known ? absl::StatusCode::kPermissionDenied : absl::StatusCode::kUnauthenticated;
  return query::MakeError(
      code, known ? "ROLE_REQUIRED" : "CALLER_UNKNOWN",
      fmt::format("{} needs the role {}; {} has {} (keys of `security` in fabricd.yaml)", method,
                  RoleName(rule->least), known ? caller.id : "a caller that is not known",
                  role == kNone ? "no role" : std::string("the role ") + RoleName(role)),
      About(caller, *rule, role));
}

// What needs a master is refused here, before it is taken apart, with what to do about it.
absl::Status Access::CheckMode(const MethodRule& rule) const {
  if (!rule.writes) return absl::OkStatus();
  if (is_cut_off_ && is_cut_off_())
    return query::MakeError(
        absl::StatusCode::kUnavailable, "NO_LINK",
        "the fabric port of this node has no link, and another node is to be master: changes are "
        "refused until one is",
        {{"method", std::string(rule.method)}});
  if (MayManage(mode_)) return absl::OkStatus();
  const std::string mode(SmModeName(mode_));
  // These are about this node: the master must not do them in its place. Else a step-down that is
  // repeated, as its answer was lost, would give the subnet back.
  const bool is_of_node = rule.method == "fabric.v1.AdminService/SetPriority" ||
                          rule.method == "fabric.v1.AdminService/StepDown";
  if (const auto master = other_master_ ? other_master_() : std::nullopt) {
    std::map<std::string, std::string> metadata = {{"method", std::string(rule.method)}};
    if (is_of_node)
      return query::MakeError(
          absl::StatusCode::kFailedPrecondition, "NOT_MASTER",
          fmt::format("this node waits beside the master, {}, and {} is about the node that is "
                      "asked",
                      master->name, rule.method),
          metadata);
    if (master->foreign)
      return query::MakeError(
          absl::StatusCode::kFailedPrecondition, "NOT_MASTER",
          fmt::format("the master of the fabric is another SM, {} with priority {}: changes are "
                      "refused until a fabricd is master. This node waits beside {}, which is "
                      "STANDBY",
                      master->foreign->guid, master->foreign->priority, master->name),
          metadata);
    if (!master->endpoint.empty()) metadata.emplace("master_endpoint", master->endpoint);
    return query::MakeError(
        absl::StatusCode::kFailedPrecondition, "NOT_MASTER",
        fmt::format("this node waits beside the master, {}{}{}: ask that one", master->name,
                    master->endpoint.empty() ? "" : " at ", master->endpoint),
        metadata);
  }
  return query::MakeError(
      absl::StatusCode::kFailedPrecondition, "ONLY_READS",
      fmt::format("fabricd only reads ({} mode): it refuses {}. It changes the fabric with "
                  "'mode: manage' in its configuration, after a restart",
                  mode, rule.method),
      {{"method", std::string(rule.method)}, {"mode", mode}});
}

// One call of the caller, if its limits let it begin.
absl::Status Access::TakeToken(const Caller& caller, const MethodRule& rule, Role role,
                               bool begun) {
  const auto rules = rules_.Get();
  const auto refuse = [&](const char* reason, const std::string& message,
                          std::map<std::string, std::string> metadata) {
    metadata.merge(About(caller, rule, role));
    return query::OverQuota(caller.id, message, reason, metadata);
  };
  const auto state = StateOf(caller);
  if (state == nullptr)
    return refuse("TOO_MANY_CLIENTS", "too many clients",
                  {{"limit", fmt::format("{}", kMaxClients)}});
  MutexLock lock(state->mutex);
  const uint32_t others = state->under_way - (begun && state->under_way > 0 ? 1 : 0);
  if (others >= rules->max_calls)
    return refuse("TOO_MANY_CALLS",
                  fmt::format("{} calls of {} are under way (security.max_calls); end some", others,
                              caller.id),
                  {{"key", "security.max_calls"}, {"limit", fmt::format("{}", rules->max_calls)}});
  if (state->answers >= kAnswers)
    return refuse("TOO_MANY_ANSWERS",
                  fmt::format("{} has not taken {} KiB of answers yet", caller.id, state->answers),
                  {{"limit", fmt::format("{} KiB", kAnswers)}});
  Fill(*state, rules->per_second);
  if (state->tokens < 1)
    return refuse(
        "CALLS_TOO_FAST",
        fmt::format("{} begins more than {} calls a second (security.calls_per_second); slow down",
                    caller.id, rules->per_second),
        {{"key", "security.calls_per_second"}, {"limit", fmt::format("{}", rules->per_second)}});
  state->tokens -= 1;
  return absl::OkStatus();
}

std::shared_ptr<ClientState> Access::StateOf(const Caller& caller) {
  MutexLock lock(mutex_);
  auto& state = clients_[caller.id];
  if (state == nullptr) {
    state = std::make_shared<ClientState>();
    if (clients_.size() > kMaxClients)
      // Nobody else holds on to it: no call of it is under way.
      std::erase_if(clients_, [&](const auto& each) {
        return each.second.use_count() == 1 && each.first != caller.id;
      });
    if (clients_.size() > kMaxClients) {
      clients_.erase(caller.id);
      return nullptr;
    }
  }
  return state;
}

void Access::Expect(const Caller& caller) {
  const auto state = StateOf(caller);
  if (state == nullptr) return;
  MutexLock lock(state->mutex);
  if (state->expected++ == 0) state->arrived = std::chrono::steady_clock::now();
}

std::shared_ptr<void> Access::Hold(const Caller& caller) {
  if (const auto state = StateOf(caller)) {
    MutexLock lock(state->mutex);
    if (state->expected > 0) --state->expected;
    state->arrived = std::chrono::steady_clock::now();
  }
  return Add(caller, &ClientState::held, 1);
}

std::shared_ptr<void> Access::Add(const Caller& caller, uint32_t ClientState::*number,
                                  uint32_t amount) {
  auto state = StateOf(caller);
  if (state == nullptr) return nullptr;
  ClientState* raw = state.get();
  {
    MutexLock lock(state->mutex);
    raw->*number += amount;
  }
  return {raw, [state, number, amount](void*) {
            MutexLock lock(state->mutex);
            (*state).*number -= amount;
          }};
}

}  // namespace fabricd::rpc
