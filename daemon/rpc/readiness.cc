// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/readiness.h"

#include <fmt/format.h>

#include "common/utf8.h"
#include "daemon/rpc/convert.h"
#include "policy/target.h"

namespace fabricd::rpc {
namespace {

// Which of two answers a host with both gets.
int Rank(pb::Readiness readiness) {
  switch (readiness) {
    case pb::READINESS_HELD: return 3;
    case pb::READINESS_UNKNOWN: return 2;
    case pb::READINESS_DEGRADED: return 1;
    default: return 0;
  }
}

template <typename Message>
void Worsen(pb::Readiness readiness, const std::string& reason, Message* out) {
  if (Rank(readiness) > Rank(out->readiness())) out->set_readiness(readiness);
  out->add_reasons(Utf8(reason));
}

std::string HoldReason(const policy::Hold& hold) {
  return fmt::format("{} of {} {} (hold {}, {}): {}", policy::HoldKindText(hold),
                     policy::TargetKindName(hold.target.kind), hold.target.name, hold.id,
                     hold.owner, hold.reason);
}

// What the port itself says.
void JudgePort(const ReadModel& model, PortRef ref, pb::NicReadiness* out) {
  const fabric::Port& port = *model.snapshot().port(ref);
  if (!port.known) return Worsen(pb::READINESS_UNKNOWN, "its state could not be read", out);
  if (port.info.port_state != wire::PortState::kActive) {
    return Worsen(pb::READINESS_DEGRADED,
                  fmt::format("the port is {}", wire::PortStateName(port.info.port_state)), out);
  }
  if (port.peer.IsNone())
    return Worsen(pb::READINESS_UNKNOWN, "what it is linked to is not known", out);
  if (QualityOf(model.snapshot(), ref, port.peer).degraded)
    Worsen(pb::READINESS_DEGRADED, "its link runs below what both ends support", out);
}

// Whether the switch that the port hangs on has a way to it, where the routes are ours.
void JudgeRoutes(const ReadModel& model, PortRef ref, pb::NicReadiness* out) {
  const auto& plan = model.view->plan;
  const PortRef peer = model.snapshot().port(ref)->peer;
  if (!plan || peer.IsNone() || !plan->HasRow(peer.node)) return;
  const Lid lid = model.view->lids->Of(ref).base;
  if (!lid || plan->EgressPort(peer.node, lid) == routing::kNoRoute)
    Worsen(pb::READINESS_DEGRADED, "no route leads to it", out);
}

void JudgePolicy(const ReadModel& model, PortRef ref, pb::NicReadiness* out) {
  const fabric::FabricSnapshot& snapshot = model.snapshot();
  for (const policy::HoldStatus* status : model.policy->Reaching(snapshot, ref)) {
    Worsen(pb::READINESS_HELD, HoldReason(status->hold), out);
    out->add_hold_ids(fmt::format("{}", status->hold.id));
  }
  if (const policy::DampedLink* link = model.policy->Damped(ref); link && link->suppressed)
    Worsen(pb::READINESS_DEGRADED, "its link is suppressed: " + link->reason, out);
  const PortRef peer = snapshot.port(ref)->peer;
  for (const PortRef end : {ref, peer}) {
    if (end.IsNone()) continue;
    // What is said of a switch as a whole is not the port's.
    const fabric::Node& node = *snapshot.node(end.node);
    for (const policy::Condition* condition : model.policy->Conditions(node.guid(), end.port)) {
      if (node.IsSwitch() && !condition->port) continue;
      Worsen(pb::READINESS_DEGRADED, fmt::format("{}: {}", condition->type, condition->message),
             out);
    }
  }
}

// Holds on the host, or on parts of it, that show on none of its ports: they may have vanished
// because of the hold.
void AddHoldsByName(const ReadModel& model, pb::HostReadiness* out) {
  for (const policy::HoldStatus& status : model.policy->view().holds) {
    const policy::HoldTarget& target = status.hold.target;
    const bool of_host = (target.kind == policy::TargetKind::kHost && target.name == out->host()) ||
                         target.name.rfind(out->host() + "/", 0) == 0;
    if (!of_host) continue;
    const std::string id = fmt::format("{}", status.hold.id);
    bool shown = false;
    for (const pb::NicReadiness& nic : out->nics())
      for (const std::string& known : nic.hold_ids()) shown |= known == id;
    if (!shown) Worsen(pb::READINESS_HELD, HoldReason(status.hold), out);
  }
}

// Only the master hears of what changes: what another SM last read proves nothing of now.
void JudgeFreshness(const ReadModel& model, pb::HostReadiness* out) {
  const wire::SmState state = model.view->sm.state;
  if (state == wire::SmState::kMaster) return;
  const std::string why = fmt::format("this SM is {}, and may be out of date: ask the master",
                                      wire::SmStateName(state));
  for (pb::NicReadiness& nic : *out->mutable_nics()) Worsen(pb::READINESS_UNKNOWN, why, &nic);
  Worsen(pb::READINESS_UNKNOWN, why, out);
}

// A NIC that is not on the fabric any more has no port to judge.
void AddMissing(const ReadModel& model, pb::HostReadiness* out) {
  for (const MissingNic& missing : model.missing->Of(out->host())) {
    pb::NicReadiness* nic = out->add_nics();
    nic->set_device(Utf8(missing.device));
    Worsen(pb::READINESS_DEGRADED, missing.reason, nic);
    Worsen(pb::READINESS_DEGRADED, fmt::format("{} {}", nic->device(), missing.reason), out);
  }
}

}  // namespace

void FillReadiness(const ReadModel& model, const std::string& name, pb::HostReadiness* out) {
  out->set_host(Utf8(name));
  out->set_readiness(pb::READINESS_READY);
  const fabric::Host* host = model.hosts->Find(name);
  if (host == nullptr) {
    Worsen(pb::READINESS_UNKNOWN, "no such host is on the fabric", out);
    return AddHoldsByName(model, out);
  }
  for (const fabric::HostPort& host_port : host->ports) {
    pb::NicReadiness* nic = out->add_nics();
    ToProto(model, host_port.port, nic->mutable_port());
    nic->set_device(Utf8(host_port.device));
    nic->set_readiness(pb::READINESS_READY);
    JudgePort(model, host_port.port, nic);
    JudgeRoutes(model, host_port.port, nic);
    JudgePolicy(model, host_port.port, nic);
    const std::string& label = nic->device().empty() ? nic->port().node_name() : nic->device();
    for (const std::string& reason : nic->reasons())
      Worsen(nic->readiness(), fmt::format("{}: {}", label, reason), out);
  }
  AddMissing(model, out);
  AddHoldsByName(model, out);
  JudgeFreshness(model, out);
}

}  // namespace fabricd::rpc
