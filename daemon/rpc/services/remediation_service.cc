// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/services/remediation_service.h"

#include <algorithm>
#include <set>
#include <utility>

#include "common/number_text.h"
#include "common/status.h"
#include "daemon/record/event_log.h"
#include "daemon/rpc/convert/fingerprint.h"
#include "daemon/rpc/convert/name_filter.h"
#include "daemon/rpc/convert/pages.h"
#include "daemon/rpc/security/caller.h"
#include "policy/holds.h"
#include "policy/target.h"
#include "query/readiness.h"

namespace fabricd::rpc {
namespace {

// An answer is a hundred times as large as a name.
constexpr int kMaxHosts = 16'384;

// 0: not an id.
uint64_t ReadId(const std::string& text) { return ParseNumber<uint64_t>(text).value_or(0); }

absl::Status NoHold(const std::string& id) { return NoSuch("hold", id); }

// What the core says to a command, as the API says it.
absl::Status HoldError(const absl::Status& status) {
  const std::string message = Message(status);
  switch (status.code()) {
    case absl::StatusCode::kOk: return status;
    case absl::StatusCode::kAlreadyExists:
      return BadField("request_id", message, "REQUEST_ID_REUSED");
    case absl::StatusCode::kInvalidArgument: return WithReason(status, "INVALID_REQUEST");
    case absl::StatusCode::kPermissionDenied: return WithReason(status, "NOT_THE_OWNER");
    case absl::StatusCode::kResourceExhausted: return WithReason(status, "TOO_MANY_HOLDS");
    case absl::StatusCode::kUnavailable:
      return TryLater("CORE_BUSY", message, std::chrono::seconds(1));
    case absl::StatusCode::kFailedPrecondition: return GuardRefusal(message);
    default: return WithReason(status, "HOLD_FAILED");
  }
}

// Who asks for what. Below operator one speaks for oneself only: owners are one's own name, or
// begin with it and a slash.
struct Asker {
  std::string name;
  Role role = Role::kNone;

  static Asker Of(const grpc::CallbackServerContext& context, const Access& access) {
    Caller caller = CallerOf(context);
    const Role role = access.RoleOf(caller);
    return {std::move(caller.name), role};
  }
  bool IsOperator() const { return role >= Role::kOperator; }
  bool MaySpeakFor(const std::string& owner) const {
    return IsOperator() || policy::MaySpeakFor(name, owner);
  }
};

absl::Status OperatorsOnly(const std::string& what, const Asker& asker) {
  return MakeError(absl::StatusCode::kPermissionDenied, "ROLE_REQUIRED",
                   fmt::format("{} needs the role operator; {} has the role {}", what, asker.name,
                               RoleName(asker.role)),
                   {{"role", RoleName(Role::kOperator)}});
}

// Who a command is from: what the request says, else who calls.
absl::StatusOr<std::string> OwnerOf(const std::string& given, const Asker& asker) {
  const std::string owner = given.empty() ? asker.name : given;
  if (owner.empty()) return BadField("owner", "it is not known who calls; give an owner");
  if (!asker.MaySpeakFor(owner))
    return OperatorsOnly(fmt::format("to act for \"{}\"", owner), asker);
  return owner;
}

absl::StatusOr<sweep::CreateHold> ReadCreate(const query::ReadModel& model,
                                             const pb::CreateHoldRequest& request,
                                             const Asker& asker) {
  sweep::CreateHold command;
  policy::Hold& hold = command.hold;
  const auto kind = KindOf(request.kind());
  if (!kind) return BadField("kind", "is required");
  if (request.mode() != pb::DRAIN_MODE_UNSPECIFIED && kind != policy::HoldKind::kDrain)
    return BadField("mode", "goes with a drain only");
  // Schedulers keep jobs and routes away; they cut nobody off and overrule no guard.
  const bool is_mild = kind == policy::HoldKind::kCordon || kind == policy::HoldKind::kDrain;
  if (!asker.IsOperator() && (!is_mild || request.force()))
    return OperatorsOnly(is_mild ? "force" : "a hold that cuts off", asker);
  if (request.target().empty()) return BadField("target", "is required");
  if (request.reason().empty()) return BadField("reason", "is required");
  hold.kind = *kind;
  hold.mode =
      request.mode() == pb::DRAIN_MODE_SOFT ? policy::DrainMode::kSoft : policy::DrainMode::kHard;
  hold.reason = request.reason();
  hold.request_id = request.request_id();
  hold.forced = request.force();
  command.validate_only = request.validate_only();
  auto owner = OwnerOf(request.owner(), asker);
  if (!owner.ok()) return owner.status();
  hold.owner = *std::move(owner);
  if (request.has_ttl()) {
    const auto ttl = ReadTtl(request.ttl());
    if (!ttl.ok()) return ttl.status();
    command.ttl = *ttl;
  }
  hold.fingerprint = FingerprintOf(request, hold.owner);
  auto target = ResolveTarget(model, request.target(), KindOf(request.target_kind()));
  // A request that comes again is answered although what it named has vanished meanwhile.
  if (!target.ok() && hold.request_id.empty()) return target.status();
  if (target.ok())
    hold.target = *std::move(target);
  else
    command.unresolved = target.status();
  return command;
}

// The hold as it is shown now, or as the core answered it where it is no longer shown.
void FillHold(const query::ReadModel& model, const policy::Hold& hold, pb::Hold* out) {
  const policy::HoldStatus* status = hold.id == 0 ? nullptr : model.policy->Hold(hold.id);
  if (status != nullptr) return ToProto(model, *status, out);
  ToProto(model, hold, out);
}

absl::Status CheckConditionTypes(const google::protobuf::RepeatedPtrField<std::string>& types) {
  for (const std::string& type : types)
    if (std::find(policy::kConditionTypes.begin(), policy::kConditionTypes.end(), type) ==
        policy::kConditionTypes.end())
      return BadField("types", fmt::format("\"{}\" is no type of condition; there are {}", type,
                                           fmt::join(policy::kConditionTypes, ", ")));
  return absl::OkStatus();
}

// Ids of the holds that reach a host, a node or a port.
absl::Status AddReaching(const query::ReadModel& model, const std::string& name,
                         std::set<uint64_t>& ids) {
  const auto add = [&](const query::PolicyIndex::Holds& holds) {
    for (const policy::HoldStatus* status : holds) ids.insert(status->hold.id);
  };
  // What has vanished, perhaps because of the hold, is known by name.
  const query::PolicyIndex::Holds host_holds = model.policy->ReachingHost(name);
  const query::PolicyIndex::Holds nic_holds = model.policy->ReachingNic(name);
  const auto& gone = model.policy->GoneOf(name);
  const bool is_remembered = !host_holds.empty() || !nic_holds.empty() || !gone.empty();
  add(host_holds);
  add(nic_holds);
  for (const query::PolicyIndex::GoneNic& nic : gone) add(model.policy->ReachingGone(*nic.node));
  if (const fabric::Host* host = model.hosts->Find(name)) {
    for (const fabric::HostPort& port : host->ports)
      add(model.policy->Reaching(model.snapshot(), port.port));
    return absl::OkStatus();
  }
  const auto address = model.Resolve(name);
  if (absl::IsNotFound(address.status()) && is_remembered) return absl::OkStatus();
  if (!address.ok()) return address.status();
  if (address->has_port) {
    add(model.policy->Reaching(model.snapshot(), {address->node, address->port}));
    return absl::OkStatus();
  }
  const fabric::Node& node = *model.snapshot().node(address->node);
  add(model.policy->OnNode(node.guid()));
  for (const auto& [ref, port] : node.LinkPorts())
    add(node.IsSwitch() ? model.policy->OnPort(node.guid(), ref.port)
                        : model.policy->Reaching(model.snapshot(), ref));
  return absl::OkStatus();
}

struct HoldFilter {
  std::set<uint64_t> ids;
  std::optional<std::set<uint64_t>> reaching;
  std::vector<std::string> names;
  std::vector<policy::HoldTarget> targets;
  std::optional<policy::TargetKind> target_kind;
  std::optional<policy::HoldKind> kind;
  std::string owner;

  bool Passes(const policy::Hold& hold) const {
    return (ids.empty() || ids.count(hold.id) > 0) && (!reaching || reaching->count(hold.id) > 0) &&
           (!kind || hold.kind == *kind) && (owner.empty() || hold.owner == owner) &&
           IsOnTarget(hold.target);
  }

 private:
  bool IsOnTarget(const policy::HoldTarget& target) const {
    if (names.empty()) return true;
    if (target_kind && target.kind != *target_kind) return false;
    if (std::find(names.begin(), names.end(), target.name) != names.end()) return true;
    for (const std::string& name : names) {
      const Guid guid = fabric::ParseGuid(name);
      if (guid && std::find(target.nodes.begin(), target.nodes.end(), guid) != target.nodes.end())
        return true;
    }
    return std::any_of(targets.begin(), targets.end(), [&](const policy::HoldTarget& wanted) {
      return policy::IsSameTarget(wanted, target);
    });
  }
};

absl::StatusOr<HoldFilter> ReadFilter(const query::ReadModel& model,
                                      const pb::ListHoldsRequest& request,
                                      const grpc::CallbackServerContext& context) {
  HoldFilter filter;
  for (const std::string& id : request.ids()) {
    const uint64_t number = ReadId(id);
    if (number == 0 || model.policy->Hold(number) == nullptr) return NoHold(id);
    filter.ids.insert(number);
  }
  if (!request.reaching().empty()) filter.reaching.emplace();
  for (const std::string& name : request.reaching())
    FABRICD_RETURN_IF_ERROR(AddReaching(model, name, *filter.reaching));
  filter.target_kind = KindOf(request.target_kind());
  filter.kind = KindOf(request.kind());
  filter.owner = request.owner();
  if (request.own()) {
    filter.owner = CallerOf(context).name;
    if (filter.owner.empty()) return BadField("own", "it is not known who calls; give an owner");
  }
  filter.names.assign(request.targets().begin(), request.targets().end());
  for (const std::string& name : filter.names) {
    // A name that leads nowhere now may still be that of a held target.
    if (auto target = ResolveTarget(model, name, filter.target_kind); target.ok())
      filter.targets.push_back(*std::move(target));
  }
  return filter;
}

}  // namespace

template <typename Response, typename Fill>
void RemediationService::Post(daemon::HoldCommand command,
                              std::shared_ptr<LaterCall<Response>> call, Fill fill) {
  backend_.PostHold(
      std::move(command), [this, call, fill](const absl::Status& status,
                                             std::shared_ptr<const sweep::HoldOutcome> outcome) {
        const bool taken = worker_.Post([this, call, fill, status, outcome] {
          call->Answer([&](Response* response) { return fill(status, outcome.get(), response); });
        });
        // It is done or not; only the answer is lost.
        if (!taken)
          call->Fail(TryLater("SERVER_BUSY", "too many answers wait", std::chrono::seconds(1)));
      });
}

// A hold that stands is not written again. While the store refuses writes, an earlier change that
// it has not answered may still undo it.
absl::Status RemediationService::CheckDurable() const {
  return HoldError(backend_.store_writable());
}

grpc::ServerUnaryReactor* RemediationService::CreateHold(Context* context,
                                                         const pb::CreateHoldRequest* request,
                                                         pb::CreateHoldResponse* response) {
  const auto call = std::make_shared<LaterCall<pb::CreateHoldResponse>>(response);
  auto* reactor = call->Start(call);
  const auto model = models_.Ready();
  auto command =
      model.ok() ? ReadCreate(**model, *request, Asker::Of(*context, access_)) : model.status();
  if (!command.ok()) {
    call->Fail(command.status());
    return reactor;
  }
  const bool dry = request->validate_only();
  const absl::Status unresolved = command->unresolved;
  Post(*std::move(command), call,
       [this, dry, unresolved](const absl::Status& status, const sweep::HoldOutcome* outcome,
                               pb::CreateHoldResponse* out) {
         if (!status.ok() && status == unresolved) return unresolved;
         const bool refused = status.code() == absl::StatusCode::kFailedPrecondition;
         if (outcome == nullptr || (!status.ok() && !(dry && refused))) return HoldError(status);
         if (outcome->existing && !dry) FABRICD_RETURN_IF_ERROR(CheckDurable());
         const auto now = models_.Current();
         if (refused) out->set_refusal(Message(status));
         policy::Hold hold = outcome->hold;
         if (dry && !outcome->existing) hold.id = hold.created = 0;  // It was not made.
         FillHold(*now, hold, out->mutable_hold());
         if (!outcome->existing) ToProto(*now, outcome->consequences, out->mutable_consequences());
         out->set_existing(outcome->existing);
         out->set_resource_version(backend_.events().version());
         return absl::OkStatus();
       });
  return reactor;
}

grpc::ServerUnaryReactor* RemediationService::DeleteHold(Context* context,
                                                         const pb::DeleteHoldRequest* request,
                                                         pb::DeleteHoldResponse* response) {
  const auto call = std::make_shared<LaterCall<pb::DeleteHoldResponse>>(response);
  auto* reactor = call->Start(call);
  sweep::DeleteHold command;
  policy::HoldBook::DeleteRequest& wanted = command.request;
  wanted.id = ReadId(request->id());
  wanted.any_owner = request->any_owner();
  wanted.request_id = request->request_id();
  const Asker asker = Asker::Of(*context, access_);
  absl::Status wrong = wanted.id == 0 ? NoHold(request->id()) : absl::OkStatus();
  if (wrong.ok() && wanted.any_owner && !asker.IsOperator())
    wrong = OperatorsOnly("to lift a hold of anybody", asker);
  if (wrong.ok() && !wanted.any_owner) {
    const auto owner = OwnerOf(request->owner(), asker);
    wrong = owner.status();
    if (owner.ok()) wanted.owner = *owner;
  }
  if (!wrong.ok()) {
    call->Fail(wrong);
    return reactor;
  }
  Post(std::move(command), call,
       [this, id = request->id()](const absl::Status& status, const sweep::HoldOutcome* outcome,
                                  pb::DeleteHoldResponse* out) {
         if (status.code() == absl::StatusCode::kNotFound) return NoHold(id);
         if (!status.ok()) return HoldError(status);
         if (outcome) {
           if (outcome->existing) FABRICD_RETURN_IF_ERROR(CheckDurable());
           ToProto(*models_.Current(), outcome->hold, out->mutable_hold());
           out->set_existing(outcome->existing);
         }
         out->set_resource_version(backend_.events().version());
         return absl::OkStatus();
       });
  return reactor;
}

grpc::ServerUnaryReactor* RemediationService::AckHold(Context* context,
                                                      const pb::AckHoldRequest* request,
                                                      pb::AckHoldResponse* response) {
  const auto call = std::make_shared<LaterCall<pb::AckHoldResponse>>(response);
  auto* reactor = call->Start(call);
  sweep::AckHold command;
  const Asker asker = Asker::Of(*context, access_);
  command.id = ReadId(request->id());
  command.asker = asker.name;
  command.any_owner = asker.IsOperator();
  if (command.id == 0) {
    call->Fail(NoHold(request->id()));
    return reactor;
  }
  Post(std::move(command), call,
       [this, id = request->id()](const absl::Status& status, const sweep::HoldOutcome* outcome,
                                  pb::AckHoldResponse* out) {
         if (status.code() == absl::StatusCode::kNotFound) return NoHold(id);
         if (!status.ok()) return HoldError(status);
         if (outcome) FillHold(*models_.Current(), outcome->hold, out->mutable_hold());
         return absl::OkStatus();
       });
  return reactor;
}

grpc::ServerUnaryReactor* RemediationService::ListHolds(Context* context,
                                                        const pb::ListHoldsRequest* request,
                                                        pb::ListHoldsResponse* response) {
  return Answer(context, [&]() -> absl::Status {
    response->set_resource_version(backend_.events().version());
    auto page = Page::Open(models_, *request);
    if (!page.ok()) return page.status();
    const query::ReadModel& model = page->model();
    const auto filter = ReadFilter(model, *request, *context);
    if (!filter.ok()) return filter.status();
    for (const policy::HoldStatus& status : model.policy->view().holds) {
      if (!filter->Passes(status.hold)) continue;
      if (page->Take()) ToProto(model, status, response->add_holds());
    }
    page->Close(models_, response);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* RemediationService::BatchGetReadiness(
    Context* context, const pb::BatchGetReadinessRequest* request,
    pb::BatchGetReadinessResponse* response) {
  return Answer(context, [&]() -> absl::Status {
    response->set_resource_version(backend_.events().version());
    const auto ready = models_.Ready();
    if (!ready.ok()) return ready.status();
    const query::ReadModel& model = **ready;
    if (request->hosts_size() > kMaxHosts)
      return BadField("hosts", fmt::format("names {} hosts, at most {}; none means all",
                                           request->hosts_size(), kMaxHosts));
    for (const std::string& host : request->hosts())
      ToProto(model, query::ReadinessOf(model, host), response->add_hosts());
    if (request->hosts().empty()) {
      for (const fabric::Host& host : model.hosts->hosts())
        ToProto(model, query::ReadinessOf(model, host.name), response->add_hosts());
    }
    response->set_generation(static_cast<uint32_t>(model.view->generation.value()));
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* RemediationService::ListConditions(
    Context* context, const pb::ListConditionsRequest* request,
    pb::ListConditionsResponse* response) {
  return Answer(context, [&]() -> absl::Status {
    auto page = Page::Open(models_, *request);
    if (!page.ok()) return page.status();
    const query::ReadModel& model = page->model();
    const auto names = NameFilter::Read(model, request->names());
    if (!names.ok()) return names.status();
    const auto& types = request->types();
    FABRICD_RETURN_IF_ERROR(CheckConditionTypes(types));
    for (const policy::Condition& condition : model.policy->view().conditions) {
      if (!names->Passes({model.snapshot().FindIndex(condition.node), condition.port})) continue;
      if (!types.empty() && std::find(types.begin(), types.end(), condition.type) == types.end())
        continue;
      if (page->Take()) ToProto(condition, response->add_conditions());
    }
    page->Close(models_, response);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* RemediationService::ListDampedLinks(
    Context* context, const pb::ListDampedLinksRequest* request,
    pb::ListDampedLinksResponse* response) {
  return Answer(context, [&]() -> absl::Status {
    auto page = Page::Open(models_, *request);
    if (!page.ok()) return page.status();
    const query::ReadModel& model = page->model();
    const auto names = NameFilter::Read(model, request->names());
    if (!names.ok()) return names.status();
    for (const policy::DampedLink& link : model.policy->view().damped) {
      // Its penalty outlives a node that has vanished, which has nothing to be named by.
      if (!model.snapshot().port(link.a) || !model.snapshot().port(link.b)) continue;
      if (!names->Passes(link.a) && !names->Passes(link.b)) continue;
      if (request->suppressed_only() && !link.suppressed) continue;
      if (page->Take()) ToProto(model, link, response->add_links());
    }
    page->Close(models_, response);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* RemediationService::ClearDamping(Context*,
                                                           const pb::ClearDampingRequest* request,
                                                           pb::ClearDampingResponse* response) {
  const auto call = std::make_shared<LaterCall<pb::ClearDampingResponse>>(response);
  auto* reactor = call->Start(call);
  const auto fail = [&](const absl::Status& status) {
    call->Fail(status);
    return reactor;
  };
  const auto model = models_.Ready();
  if (!model.ok()) return fail(model.status());
  if (request->port().empty()) return fail(BadField("port", "is required"));
  if (request->reason().empty()) return fail(BadField("reason", "is required"));
  const auto address = (*model)->Resolve(request->port());
  if (!address.ok()) return fail(address.status());
  if (!address->has_port) return fail(BadField("port", "is a node; name one of its ports"));
  const PortRef end{address->node, address->port};
  std::vector<pb::DampedLink> links;
  for (const policy::DampedLink& link : (*model)->policy->view().damped)
    if (link.a == end || link.b == end) ToProto(**model, link, &links.emplace_back());
  Post(sweep::ClearDamping{0, end, request->validate_only()}, call,
       [this, links](const absl::Status& status, const sweep::HoldOutcome*,
                     pb::ClearDampingResponse* out) {
         if (!status.ok()) return HoldError(status);
         out->mutable_links()->Assign(links.begin(), links.end());
         out->set_resource_version(backend_.events().version());
         return absl::OkStatus();
       });
  return reactor;
}

}  // namespace fabricd::rpc
