// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/convert/convert_policy.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "common/sort_unique.h"
#include "common/status.h"
#include "common/utf8.h"
#include "daemon/record/event_log.h"
#include "daemon/rpc/convert/convert.h"
#include "daemon/rpc/convert/count.h"
#include "daemon/rpc/convert/grpc_status.h"
#include "policy/target.h"
#include "query/times.h"

namespace fabricd::rpc {
namespace {

constexpr int64_t kMostTtl = int64_t{36'525} * 86'400'000;  // Milliseconds.

google::protobuf::Timestamp Time(policy::WallMs ms) { return query::ToTimestamp(ms); }

void Fill(const query::ReadModel& model, const policy::HeldPort& port, pb::HeldPort* out) {
  out->set_node_guid(fmt::format("{}", port.node));
  const fabric::Node* node = model.snapshot().FindNode(port.node);
  if (node != nullptr) out->set_node_name(model.name(node->index));
  out->set_number(port.port.value());
}

pb::TargetKind KindOf(policy::TargetKind kind) {
  switch (kind) {
    case policy::TargetKind::kHost: return pb::TARGET_KIND_HOST;
    case policy::TargetKind::kHca: return pb::TARGET_KIND_HCA;
    case policy::TargetKind::kSwitch: return pb::TARGET_KIND_SWITCH;
    case policy::TargetKind::kPort: return pb::TARGET_KIND_PORT;
    case policy::TargetKind::kLink: return pb::TARGET_KIND_LINK;
  }
  return pb::TARGET_KIND_UNSPECIFIED;
}

pb::ConditionMode ModeOf(policy::ConditionMode mode) {
  switch (mode) {
    case policy::ConditionMode::kObserve: return pb::CONDITION_MODE_OBSERVE;
    case policy::ConditionMode::kRecommend: return pb::CONDITION_MODE_RECOMMEND;
    case policy::ConditionMode::kEnforce: return pb::CONDITION_MODE_ENFORCE;
  }
  return pb::CONDITION_MODE_UNSPECIFIED;
}

std::string KindWord(std::optional<policy::TargetKind> kind) {
  return kind ? std::string(policy::TargetKindName(*kind)) : "target";
}

pb::Readiness EnumOf(query::Readiness readiness) {
  switch (readiness) {
    case query::Readiness::kReady: return pb::READINESS_READY;
    case query::Readiness::kDegraded: return pb::READINESS_DEGRADED;
    case query::Readiness::kUnknown: return pb::READINESS_UNKNOWN;
    case query::Readiness::kLost: return pb::READINESS_LOST;
    case query::Readiness::kHeld: return pb::READINESS_HELD;
  }
  return pb::READINESS_UNSPECIFIED;
}

}  // namespace

pb::HoldKind KindOf(policy::HoldKind kind) {
  switch (kind) {
    case policy::HoldKind::kCordon: return pb::HOLD_KIND_CORDON;
    case policy::HoldKind::kDrain: return pb::HOLD_KIND_DRAIN;
    case policy::HoldKind::kIsolate: return pb::HOLD_KIND_ISOLATE;
    case policy::HoldKind::kDisable: return pb::HOLD_KIND_DISABLE;
  }
  return pb::HOLD_KIND_UNSPECIFIED;
}

std::optional<policy::HoldKind> KindOf(pb::HoldKind kind) {
  switch (kind) {
    case pb::HOLD_KIND_CORDON: return policy::HoldKind::kCordon;
    case pb::HOLD_KIND_DRAIN: return policy::HoldKind::kDrain;
    case pb::HOLD_KIND_ISOLATE: return policy::HoldKind::kIsolate;
    case pb::HOLD_KIND_DISABLE: return policy::HoldKind::kDisable;
    default: return std::nullopt;
  }
}

std::optional<policy::TargetKind> KindOf(pb::TargetKind kind) {
  switch (kind) {
    case pb::TARGET_KIND_HOST: return policy::TargetKind::kHost;
    case pb::TARGET_KIND_HCA: return policy::TargetKind::kHca;
    case pb::TARGET_KIND_SWITCH: return policy::TargetKind::kSwitch;
    case pb::TARGET_KIND_PORT: return policy::TargetKind::kPort;
    case pb::TARGET_KIND_LINK: return policy::TargetKind::kLink;
    default: return std::nullopt;
  }
}

absl::StatusOr<Duration> ReadTtl(const google::protobuf::Duration& ttl) {
  const auto ms = query::ToMilliseconds("ttl", ttl);
  if (!ms.ok()) return ms.status();
  if (*ms <= 0) return BadField("ttl", "must be positive");
  if (*ms > kMostTtl) return BadField("ttl", "is longer than 100 years; leave it out");
  return Duration(std::chrono::milliseconds(*ms));
}

void AddKinds(const query::PolicyIndex::Holds& holds, google::protobuf::RepeatedField<int>* out) {
  std::vector<int> kinds;
  for (const policy::HoldStatus* status : holds) kinds.push_back(KindOf(status->hold.kind));
  SortUnique(kinds);
  out->Assign(kinds.begin(), kinds.end());
}

void ToProto(const query::ReadModel& model, const policy::Hold& hold, pb::Hold* out) {
  if (hold.id != 0) out->set_id(fmt::format("{}", hold.id));
  out->set_kind(KindOf(hold.kind));
  if (hold.kind == policy::HoldKind::kDrain) {
    out->set_mode(hold.mode == policy::DrainMode::kSoft ? pb::DRAIN_MODE_SOFT
                                                        : pb::DRAIN_MODE_HARD);
  }
  pb::HoldTarget* target = out->mutable_target();
  target->set_kind(KindOf(hold.target.kind));
  target->set_name(Utf8(hold.target.name));
  for (const Guid node : hold.target.nodes) target->add_node_guids(fmt::format("{}", node));
  for (const auto& port : hold.target.ports) Fill(model, port, target->add_ports());
  for (const auto& port : hold.target.facing) Fill(model, port, target->add_facing());
  for (const auto& name : hold.target.behind) target->add_behind(Utf8(name));
  out->set_owner(Utf8(hold.owner));
  out->set_reason(Utf8(hold.reason));
  if (hold.created != 0) *out->mutable_created() = Time(hold.created);
  if (hold.expires) *out->mutable_expires() = Time(*hold.expires);
  out->set_request_id(Utf8(hold.request_id));
  if (hold.acknowledged) *out->mutable_acknowledged() = Time(*hold.acknowledged);
  if (hold.ended) *out->mutable_ended() = Time(*hold.ended);
  out->set_forced(hold.forced);
}

void ToProto(const query::ReadModel& model, const policy::HoldStatus& status, pb::Hold* out) {
  ToProto(model, status.hold, out);
  out->set_state(status.state == policy::HoldState::kInEffect ? pb::HOLD_STATE_IN_EFFECT
                                                              : pb::HOLD_STATE_PENDING);
  out->set_note(Utf8(status.note));
}

void ToProto(const query::ReadModel& model, const routing::Consequences& consequences,
             pb::Consequences* out) {
  out->set_plan_found(consequences.plan_found);
  out->set_why_not(Utf8(consequences.why_not));
  // What has vanished since it was computed has nothing to be named by.
  for (const PortRef port : consequences.cut_off) {
    if (model.snapshot().port(port)) ToProto(model, port, out->add_cut_off());
  }
  out->set_pairs_lost(Count(consequences.pairs_lost));
  out->set_sm_cut_off(consequences.sm_cut_off);
  out->set_paths_moved(Count(consequences.paths_moved));
  out->set_destinations_moved(consequences.destinations_moved);
  out->set_switches_written(consequences.switches_written);
  out->set_blocks_written(consequences.blocks_written);
  out->set_destinations_interrupted(consequences.destinations_interrupted);
  out->set_paths_interrupted(Count(consequences.paths_interrupted));
  out->set_load_before(Count(consequences.busiest_before.load));
  out->set_load_after(Count(consequences.busiest_after.load));
  const auto name = [&](const routing::BusiestLink& busiest, auto&& add) {
    if (busiest.load > 0 && model.snapshot().port(busiest.port))
      ToProto(model, busiest.port, add());
  };
  name(consequences.busiest_before, [&] { return out->mutable_busiest_before(); });
  name(consequences.busiest_after, [&] { return out->mutable_busiest_after(); });
  out->set_engine(consequences.engine);
  for (const PortRef port : consequences.needed_links) {
    if (model.snapshot().port(port)) ToProto(model, port, out->add_needed());
  }
}

void ToProto(const policy::Condition& condition, pb::Condition* out) {
  out->set_type(condition.type);
  out->set_subject(Utf8(condition.subject));
  out->set_node_guid(fmt::format("{}", condition.node));
  out->set_port(condition.port.value());
  out->set_message(Utf8(condition.message));
  for (const auto& [key, value] : condition.evidence)
    (*out->mutable_evidence())[Utf8(key)] = Utf8(value);
  out->set_mode(ModeOf(condition.mode));
  out->set_recommended(KindOf(condition.recommended));
  if (condition.hold != 0) out->set_hold_id(fmt::format("{}", condition.hold));
  out->set_held_back(Utf8(condition.held_back));
  *out->mutable_since() = Time(daemon::ToWallMs(condition.since));
}

void ToProto(const query::ReadModel& model, const policy::DampedLink& link, pb::DampedLink* out) {
  ToProto(model, link.a, out->mutable_a());
  ToProto(model, link.b, out->mutable_b());
  out->set_penalty(link.penalty);
  out->set_flaps(link.flaps);
  out->set_suppressed(link.suppressed);
  out->set_needed(link.needed);
  if (link.release != kNever) *out->mutable_release() = Time(daemon::ToWallMs(link.release));
  out->set_reason(Utf8(link.reason));
  *out->mutable_at() = Time(daemon::ToWallMs(link.at));
}

absl::StatusOr<policy::HoldTarget> ResolveTarget(const query::ReadModel& model,
                                                 const std::string& text,
                                                 std::optional<policy::TargetKind> kind) {
  const sweep::FabricView& view = *model.view;
  const fabric::LidTable* lids = view.lids->port_count() > 0 ? view.lids.get() : nullptr;
  auto target = policy::ResolveTarget(
      kind, text, {*view.snapshot, *model.hosts, model.names->by_name, lids, view.sm.port});
  if (target.ok()) return target;
  if (target.status().code() == absl::StatusCode::kNotFound)
    return NoSuch(KindWord(kind), text, Message(target.status()));
  return BadField("target", Message(target.status()), "INVALID_TARGET");
}

void ToProto(const query::ReadModel& model, const query::HostReadiness& host,
             pb::HostReadiness* out) {
  out->set_host(host.host);
  out->set_readiness(EnumOf(host.readiness));
  for (const std::string& reason : host.reasons) out->add_reasons(reason);
  for (const query::NicReadiness& nic : host.nics) {
    pb::NicReadiness* to = out->add_nics();
    if (nic.port) ToProto(model, *nic.port, to->mutable_port());
    to->set_device(nic.device);
    to->set_readiness(EnumOf(nic.readiness));
    for (const std::string& reason : nic.reasons) to->add_reasons(reason);
    for (const uint64_t id : nic.hold_ids) to->add_hold_ids(fmt::format("{}", id));
  }
}

}  // namespace fabricd::rpc
