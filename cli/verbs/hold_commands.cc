// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/hold_commands.h"

#include <cstdio>
#include <map>

#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>

#include "cli/render/hostlist.h"
#include "cli/render/policy_tables.h"

namespace fabricd::cli {
namespace {

using Remediation = pb::RemediationService::Stub;

// The core judges what a hold does, and makes it durable.
constexpr Timeout kHoldTimeout{60'000};
// Of the disable of a reset. Long enough for its tables and ports, short enough for whoever waits.
constexpr Timeout kResetLimit{60'000};

struct Targets {
  pb::TargetKind kind = pb::TARGET_KIND_UNSPECIFIED;
  std::vector<std::string> names;
};

// "[KIND] NAME…" or "KIND/NAME…", with hostlists.
Result ReadTargets(std::vector<std::string> words, Targets* targets) {
  static const std::map<std::string, pb::TargetKind> kKinds = {
      {"host", pb::TARGET_KIND_HOST},     {"hosts", pb::TARGET_KIND_HOST},
      {"ho", pb::TARGET_KIND_HOST},       {"hca", pb::TARGET_KIND_HCA},
      {"hcas", pb::TARGET_KIND_HCA},      {"nic", pb::TARGET_KIND_HCA},
      {"switch", pb::TARGET_KIND_SWITCH}, {"switches", pb::TARGET_KIND_SWITCH},
      {"sw", pb::TARGET_KIND_SWITCH},     {"port", pb::TARGET_KIND_PORT},
      {"ports", pb::TARGET_KIND_PORT},    {"po", pb::TARGET_KIND_PORT},
      {"link", pb::TARGET_KIND_LINK},     {"links", pb::TARGET_KIND_LINK},
      {"li", pb::TARGET_KIND_LINK}};
  const size_t slash = words.front().find('/');
  if (const auto kind = kKinds.find(words.front().substr(0, slash)); kind != kKinds.end()) {
    targets->kind = kind->second;
    if (slash == std::string::npos) {
      words.erase(words.begin());
    } else {
      words.front().erase(0, slash + 1);
    }
  }
  if (words.empty()) return {kUsage, "a NAME is needed"};
  const bool ports = targets->kind == pb::TARGET_KIND_PORT || targets->kind == pb::TARGET_KIND_LINK;
  return ExpandNames(words, ports, &targets->names);
}

// Of several failures the first one counts, each is told.
class Failures {
 public:
  void Add(const Result& result) {
    if (result.ok()) return;
    if (!first_.ok()) PrintError("error: {}\n", first_.message);
    first_ = {first_.ok() ? result.code : first_.code, result.message};
  }
  Result Take() { return first_; }

 private:
  Result first_;
};

void PrintHold(const Globals& globals, const google::protobuf::Message& document,
               const std::string& id, const std::string& sentence) {
  if (PrintDocument(globals, document)) return;
  if (globals.format == Format::kName) return Print(fmt::format("hold/{}\n", id));
  Print(sentence + "\n");
}

// `made`: the hold, unless it is a dry run.
Result MakeHold(Client& client, const Globals& globals, const HoldVerb& verb,
                const HoldOptions& options, const Targets& targets, const std::string& name,
                pb::Hold* made) {
  pb::CreateHoldRequest request;
  request.set_target(name);
  request.set_target_kind(targets.kind);
  request.set_kind(verb.kind);
  if (options.soft) request.set_mode(pb::DRAIN_MODE_SOFT);
  request.set_reason(options.reason);
  request.set_owner(options.owner);
  request.set_request_id(options.request_id);
  request.set_force(options.force);
  request.set_validate_only(options.dry_run);
  if (options.ttl) {
    *request.mutable_ttl() =
        google::protobuf::util::TimeUtil::MillisecondsToDuration(options.ttl->count());
  }
  pb::CreateHoldResponse response;
  const Result result =
      client.Call(client.remediation(), &Remediation::CreateHold, request, &response, kHoldTimeout);
  if (!result.ok()) return result;
  const pb::Hold& hold = response.hold();
  if (options.dry_run) {
    if (!PrintDocument(globals, response)) Print(ConsequencesText(response));
    if (response.refusal().empty()) return {};
    return {kRefused, "would be refused: " + response.refusal()};
  }
  *made = hold;
  PrintHold(globals, response, hold.id(),
            fmt::format("{} {}{} (hold {})", TargetText(hold.target()),
                        response.existing() ? "already " : "", verb.done, hold.id()));
  return {};
}

Result LiftHold(Client& client, const Globals& globals, const HoldVerb& verb,
                const UnholdOptions& options, const pb::Hold& hold) {
  pb::DeleteHoldRequest request;
  request.set_id(hold.id());
  request.set_owner(options.owner);
  request.set_any_owner(options.all_owners);
  pb::DeleteHoldResponse response;
  const Result result =
      client.Call(client.remediation(), &Remediation::DeleteHold, request, &response, kHoldTimeout);
  if (!result.ok()) return result;
  PrintHold(
      globals, response, hold.id(),
      fmt::format("{} {} (hold {} lifted)", TargetText(hold.target()), verb.undone, hold.id()));
  return {};
}

Result ListHolds(Client& client, const pb::ListHoldsRequest& request,
                 pb::ListHoldsResponse* response) {
  return client.List(client.remediation(), &Remediation::ListHolds, request, response);
}

// The holds of this kind on `name` that the caller may lift, then all of them for what stays.
Result LiftAt(Client& client, const Globals& globals, const HoldVerb& verb,
              const UnholdOptions& options, const Targets& targets, const std::string& name) {
  pb::ListHoldsRequest request;
  request.add_targets(name);
  request.set_target_kind(targets.kind);
  request.set_kind(verb.kind);
  if (!options.all_owners) {
    request.set_owner(options.owner);
    request.set_own(options.owner.empty());
  }
  pb::ListHoldsResponse holds;
  if (Result result = ListHolds(client, request, &holds); !result.ok()) return result;
  for (const pb::Hold& hold : holds.holds()) {
    if (Result result = LiftHold(client, globals, verb, options, hold); !result.ok()) return result;
  }
  request.set_own(false);
  request.clear_owner();
  pb::ListHoldsResponse others;
  if (Result result = ListHolds(client, request, &others); !result.ok()) return result;
  for (const pb::Hold& hold : others.holds()) {
    PrintError("{} stays {}: hold {} of {} ({})\n", TargetText(hold.target()), verb.done, hold.id(),
               hold.owner(), hold.reason());
  }
  if (!holds.holds().empty() || options.ignore_not_found) return {};
  const char* whose = options.all_owners      ? ""
                      : options.owner.empty() ? " of yours"
                                              : " of that owner";
  return {kNotFound, fmt::format("{} has no {}{}", name, verb.verb, whose)};
}

// A sweep that begins after a change ends when all that follows from the change is written.
Result WaitSettled(Client& client) {
  pb::StartSweepRequest request;
  request.set_wait(true);
  pb::StartSweepResponse response;
  const Result result = client.Call(client.admin(), &pb::AdminService::Stub::StartSweep, request,
                                    &response, kLongTimeout);
  if (!result.ok() || response.subnet_up()) return result;
  return {kFailure, "the subnet is not up (fabricctl describe sm)"};
}

bool HoldIs(const pb::Hold& hold, const std::string& condition) {
  if (condition == "in-effect") return hold.state() == pb::HOLD_STATE_IN_EFFECT;
  return hold.has_acknowledged();
}

// kRefused if a disable of whatever owner stands on `name`.
Result RequireEnabled(Client& client, const Targets& targets, const std::string& name) {
  pb::ListHoldsRequest request;
  request.add_targets(name);
  request.set_target_kind(targets.kind);
  request.set_kind(pb::HOLD_KIND_DISABLE);
  pb::ListHoldsResponse holds;
  if (Result result = ListHolds(client, request, &holds); !result.ok()) return result;
  if (holds.holds().empty()) return {};
  const pb::Hold& hold = holds.holds(0);
  return {kRefused, fmt::format("{} is disabled already: hold {} of {} ({})",
                                TargetText(hold.target()), hold.id(), hold.owner(), hold.reason())};
}

// Polls the switch ports at which the disable was. The error names the state of a port that
// does not come up.
Result WaitActive(Client& client, const pb::HoldTarget& target, Timeout timeout) {
  for (const pb::HeldPort& port : target.facing()) {
    pb::GetPortRequest request;
    request.set_port(fmt::format("{}/{}", port.node_guid(), port.number()));
    std::string state = "unknown";
    const Result result = client.Poll(timeout, fmt::format("{} to be ACTIVE", TargetText(target)),
                                      [&](Timeout left, bool* done) -> Result {
                                        pb::GetPortResponse response;
                                        Result asked = client.Call(
                                            client.topology(), &pb::TopologyService::Stub::GetPort,
                                            request, &response, left);
                                        if (!asked.ok()) return asked;
                                        state = response.port().state();
                                        *done = state == "ACTIVE";
                                        return {};
                                      });
    if (!result.ok()) return {result.code, fmt::format("{}: it is {}", result.message, state)};
  }
  return {};
}

Result ResetPort(Client& client, const Globals& globals, const HoldVerb& disable,
                 const HoldOptions& options, const Targets& targets, const std::string& name) {
  if (Result result = RequireEnabled(client, targets, name); !result.ok()) return result;
  pb::Hold hold;
  Result result = MakeHold(client, globals, disable, options, targets, name, &hold);
  if (!result.ok() || hold.id().empty()) return result;
  const Timeout timeout = globals.timeout.value_or(kResetLimit);
  const Result in_effect = WaitHolds(client, {hold.id()}, "in-effect", timeout);
  UnholdOptions lifting;
  lifting.owner = options.owner;
  result = LiftHold(client, globals, disable, lifting, hold);
  if (!in_effect.ok()) return in_effect;
  if (!result.ok()) return result;
  if (result = WaitActive(client, hold.target(), timeout); !result.ok()) return result;
  if (globals.format == Format::kTable) Print(TargetText(hold.target()) + " is ACTIVE again\n");
  return {};
}

bool AllAre(const pb::BatchGetReadinessResponse& hosts, bool wanted, pb::Readiness readiness) {
  for (const pb::HostReadiness& host : hosts.hosts()) {
    if ((host.readiness() == readiness) != wanted) return false;
  }
  return true;
}

// Whether every host is held, and every hold that reaches it is in effect.
Result AreInEffect(Client& client, const pb::BatchGetReadinessResponse& hosts, Timeout left,
                   bool* done) {
  *done = AllAre(hosts, true, pb::READINESS_HELD);
  if (!*done) return {};
  pb::ListHoldsRequest request;
  for (const pb::HostReadiness& host : hosts.hosts())
    for (const pb::NicReadiness& nic : host.nics())
      for (const std::string& id : nic.hold_ids()) request.add_ids(id);
  if (request.ids().empty()) return {};
  request.set_page_size(5000);
  pb::ListHoldsResponse holds;
  const Result result =
      client.Call(client.remediation(), &Remediation::ListHolds, request, &holds, left);
  if (!result.ok()) return result.code == kNotFound ? Result() : result;
  for (const pb::Hold& hold : holds.holds()) *done &= HoldIs(hold, "in-effect");
  return {};
}

}  // namespace

const std::vector<HoldVerb>& HoldVerbs() {
  static const std::vector<HoldVerb> kVerbs = {
      {"cordon", "uncordon", pb::HOLD_KIND_CORDON, "cordoned", "uncordoned",
       "Schedulers should place nothing there; routes stay as they are", "Lift your cordons"},
      {"drain", "undrain", pb::HOLD_KIND_DRAIN, "drained", "undrained",
       "Lead routes round it; the link stays up", "Lift your drains"},
      {"isolate", "release", pb::HOLD_KIND_ISOLATE, "isolated", "released",
       "Let no route lead to it", "Lift your isolations"},
      {"disable", "enable", pb::HOLD_KIND_DISABLE, "disabled", "enabled",
       "Take the port down, at the switch port that faces it", "Lift your disables"}};
  return kVerbs;
}

Result MakeHolds(Client& client, const Globals& globals, const HoldVerb& verb,
                 const HoldOptions& options) {
  Targets targets;
  if (Result result = ReadTargets(options.words, &targets); !result.ok()) return result;
  // Whether a hold is in effect the master alone knows.
  if (Result result = options.wait ? client.GoToMaster() : Result(); !result.ok()) return result;
  Failures failures;
  std::vector<std::string> ids;
  for (const std::string& name : targets.names) {
    pb::Hold made;
    failures.Add(MakeHold(client, globals, verb, options, targets, name, &made));
    if (!made.id().empty()) ids.push_back(made.id());
  }
  if (options.wait && !ids.empty())
    failures.Add(WaitHolds(client, ids, "in-effect", globals.timeout.value_or(kLongTimeout)));
  return failures.Take();
}

Result ResetPorts(Client& client, const Globals& globals, HoldOptions options) {
  Targets targets;
  if (Result result = ReadTargets(options.words, &targets); !result.ok()) return result;
  if (targets.kind == pb::TARGET_KIND_UNSPECIFIED) targets.kind = pb::TARGET_KIND_PORT;
  if (targets.kind != pb::TARGET_KIND_PORT && targets.kind != pb::TARGET_KIND_LINK)
    return {kUsage, "reset takes ports and links"};
  if (Result result = client.GoToMaster(); !result.ok()) return result;
  options.ttl = kResetLimit;
  Failures failures;
  for (const std::string& name : targets.names)
    failures.Add(ResetPort(client, globals, HoldVerbs().back(), options, targets, name));
  return failures.Take();
}

Result LiftHolds(Client& client, const Globals& globals, const HoldVerb& verb,
                 const UnholdOptions& options) {
  Targets targets;
  if (Result result = ReadTargets(options.words, &targets); !result.ok()) return result;
  // Elsewhere a hold may be missing that the master has: it would seem to be lifted.
  if (Result result = client.GoToMaster(); !result.ok()) return result;
  Failures failures;
  for (const std::string& name : targets.names)
    failures.Add(LiftAt(client, globals, verb, options, targets, name));
  if (options.wait) failures.Add(WaitSettled(client));
  return failures.Take();
}

Result ClearDamping(Client& client, const Globals& globals, const ClearOptions& options) {
  std::vector<std::string> ports;
  if (Result result = ExpandNames(options.ports, true, &ports); !result.ok()) return result;
  Failures failures;
  for (const std::string& port : ports) {
    pb::ClearDampingRequest request;
    request.set_port(port);
    request.set_reason(options.reason);
    request.set_validate_only(options.dry_run);
    pb::ClearDampingResponse response;
    const Result result =
        client.Call(client.remediation(), &Remediation::ClearDamping, request, &response);
    failures.Add(result);
    if (!result.ok() || PrintDocument(globals, response)) continue;
    if (response.links().empty()) Print(fmt::format("{} has no damped link\n", port));
    for (const pb::DampedLink& link : response.links())
      Print(globals.format == Format::kName
                ? fmt::format("link/{}\n", PortText(link.a()))
                : fmt::format("{} ↔ {}: penalty {:.0f} of {} flaps {}{}\n", PortText(link.a()),
                              PortText(link.b()), link.penalty(), link.flaps(),
                              options.dry_run ? "would be cleared" : "cleared",
                              link.suppressed() ? "; routes may use it again" : ""));
  }
  return failures.Take();
}

Result Acknowledge(Client& client, const Globals& globals, const std::vector<std::string>& ids) {
  Failures failures;
  for (const std::string& id : ids) {
    pb::AckHoldRequest request;
    request.set_id(id);
    pb::AckHoldResponse response;
    const Result result =
        client.Call(client.remediation(), &Remediation::AckHold, request, &response);
    failures.Add(result);
    if (!result.ok()) continue;
    PrintHold(globals, response, id, fmt::format("hold {} acknowledged", id));
  }
  return failures.Take();
}

Result ShowReadiness(Client& client, const Globals& globals, const std::vector<std::string>& hosts,
                     bool allow_unseen) {
  std::vector<std::string> names;
  if (Result result = ExpandNames(hosts, false, &names); !result.ok()) return result;
  pb::BatchGetReadinessRequest request;
  request.mutable_hosts()->Assign(names.begin(), names.end());
  pb::BatchGetReadinessResponse response;
  Result result =
      client.Call(client.remediation(), &Remediation::BatchGetReadiness, request, &response);
  if (!result.ok()) return result;
  if (!PrintDocument(globals, response)) {
    if (globals.format == Format::kName) {
      for (const pb::HostReadiness& host : response.hosts()) Print("host/" + host.host() + "\n");
    } else {
      Print(ReadinessTable(response, globals.format == Format::kWide).Render(globals.style));
    }
  }
  int not_ready = 0;
  for (const pb::HostReadiness& host : response.hosts()) {
    // Of one that is not, or was not, on the fabric no NIC is known.
    const bool unseen = host.readiness() == pb::READINESS_UNKNOWN && host.nics().empty();
    not_ready += host.readiness() != pb::READINESS_READY && !(allow_unseen && unseen);
  }
  if (not_ready == 0) return {};
  return {kFailure, fmt::format("{} of {} hosts are not READY", not_ready, response.hosts_size())};
}

Result WaitHosts(Client& client, const std::vector<std::string>& hosts,
                 const std::string& condition, Timeout timeout) {
  const bool ready = condition == "ready" || condition == "condition=FabricReady";
  if (!ready && condition != "held" && condition != "in-effect" && condition != "released") {
    return {kUsage, fmt::format("--for: \"{}\" is none of ready, condition=FabricReady, held, "
                                "in-effect, released",
                                condition)};
  }
  pb::BatchGetReadinessRequest request;
  std::vector<std::string> names;
  if (Result result = ExpandNames(hosts, false, &names); !result.ok()) return result;
  request.mutable_hosts()->Assign(names.begin(), names.end());
  const Result result = client.Poll(timeout, condition, [&](Timeout left, bool* done) -> Result {
    pb::BatchGetReadinessResponse response;
    Result asked = client.Call(client.remediation(), &Remediation::BatchGetReadiness, request,
                               &response, left);
    if (!asked.ok()) return asked;
    if (condition == "in-effect") return AreInEffect(client, response, left, done);
    *done = ready ? AllAre(response, true, pb::READINESS_READY)
                  : AllAre(response, condition == "held", pb::READINESS_HELD);
    return {};
  });
  if (result.ok()) Print(fmt::format("{} hosts: {} holds\n", names.size(), condition));
  return result;
}

Result WaitHolds(Client& client, const std::vector<std::string>& ids, const std::string& condition,
                 Timeout timeout) {
  if (condition != "in-effect" && condition != "acknowledged" && condition != "deleted") {
    return {kUsage,
            fmt::format("--for: \"{}\" is none of in-effect, acknowledged, deleted", condition)};
  }
  for (const std::string& id : ids) {
    pb::ListHoldsRequest request;
    request.add_ids(id);
    std::string note;
    const Result result =
        client.Poll(timeout, fmt::format("hold {} to be {}", id, condition),
                    [&](Timeout left, bool* done) -> Result {
                      pb::ListHoldsResponse response;
                      Result asked = client.Call(client.remediation(), &Remediation::ListHolds,
                                                 request, &response, left);
                      *done = condition == "deleted" && asked.code == kNotFound;
                      if (*done) return {};
                      if (!asked.ok()) return asked;
                      note = response.holds(0).note();
                      *done = condition != "deleted" && HoldIs(response.holds(0), condition);
                      return {};
                    });
    if (!result.ok()) return {result.code, result.message + (note.empty() ? "" : ": " + note)};
    Print(fmt::format("hold {} {}\n", id, condition == "in-effect" ? "in effect" : condition));
  }
  return {};
}

}  // namespace fabricd::cli
