// SPDX-License-Identifier: Apache-2.0
#include "query/readiness.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "common/utf8.h"
#include "daemon/rpc/convert/convert.h"
#include "policy/target.h"

namespace fabricd::rpc {
namespace {

// Which of two answers a host with both gets.
int Rank(pb::Readiness readiness) {
  switch (readiness) {
    case pb::READINESS_HELD: return 4;
    case pb::READINESS_LOST: return 3;
    case pb::READINESS_UNKNOWN: return 2;
    case pb::READINESS_DEGRADED: return 1;
    default: return 0;
  }
}

void Worsen(pb::Readiness readiness, const std::string& reason, pb::NicReadiness* out) {
  if (Rank(readiness) > Rank(out->readiness())) out->set_readiness(readiness);
  out->add_reasons(Utf8(reason));
}

// What is wrong with a host: what its readiness stems from comes first.
class HostFindings {
 public:
  void Add(pb::Readiness readiness, std::string reason) {
    found_.emplace_back(readiness, std::move(reason));
  }
  void Forget(pb::Readiness readiness) {
    std::erase_if(found_, [&](const auto& each) { return each.first == readiness; });
  }
  void Write(pb::HostReadiness* out) {
    std::stable_sort(found_.begin(), found_.end(),
                     [](const auto& a, const auto& b) { return Rank(a.first) > Rank(b.first); });
    out->set_readiness(found_.empty() ? pb::READINESS_READY : found_.front().first);
    for (const auto& [readiness, reason] : found_) out->add_reasons(Utf8(reason));
  }

 private:
  std::vector<std::pair<pb::Readiness, std::string>> found_;
};

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

void AddHolds(const PolicyIndex::Holds& holds, pb::NicReadiness* out) {
  for (const policy::HoldStatus* status : holds) {
    const std::string id = fmt::format("{}", status->hold.id);
    const auto& known = out->hold_ids();
    if (std::find(known.begin(), known.end(), id) != known.end()) continue;
    Worsen(pb::READINESS_HELD, HoldReason(status->hold), out);
    out->add_hold_ids(id);
  }
}

void JudgePolicy(const ReadModel& model, PortRef ref, pb::NicReadiness* out) {
  const fabric::FabricSnapshot& snapshot = model.snapshot();
  AddHolds(model.policy->Reaching(snapshot, ref), out);
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

// Holds on the host as a whole, which are not repeated for each NIC, and those on parts of it that
// show on none of its ports: they may have vanished because of the hold. Gives what it said.
std::set<std::string> AddHoldsByName(const ReadModel& model, const pb::HostReadiness& host,
                                     HostFindings& found) {
  std::set<std::string> said;
  for (const policy::HoldStatus* status : model.policy->ReachingHost(host.host())) {
    const std::string id = fmt::format("{}", status->hold.id);
    bool shown = false;
    for (const pb::NicReadiness& nic : host.nics())
      for (const std::string& known : nic.hold_ids()) shown |= known == id;
    if (shown && status->hold.target.kind != policy::TargetKind::kHost) continue;
    found.Add(pb::READINESS_HELD, *said.insert(HoldReason(status->hold)).first);
  }
  return said;
}

// Only the master hears of what changes: what another SM last read proves nothing of now.
void JudgeStale(const ReadModel& model, pb::HostReadiness* out, HostFindings& found) {
  const std::string why = fmt::format("this SM is {}, and may be out of date: ask the master",
                                      wire::SmStateName(model.view->sm.state));
  for (pb::NicReadiness& nic : *out->mutable_nics()) Worsen(pb::READINESS_UNKNOWN, why, &nic);
  found.Forget(pb::READINESS_LOST);
  found.Add(pb::READINESS_UNKNOWN, why);
}

// A NIC that is not on the fabric any more has no port to judge.
void AddMissing(const ReadModel& model, pb::HostReadiness* out) {
  const std::string& host = out->host();
  for (const MissingNic& missing : model.missing->Of(host)) {
    pb::NicReadiness* nic = out->add_nics();
    nic->set_device(Utf8(missing.device));
    nic->set_readiness(pb::READINESS_READY);
    AddHolds(model.policy->ReachingNic(host + "/" + missing.device), nic);
    Worsen(pb::READINESS_DEGRADED, missing.reason, nic);
  }
  for (const PolicyIndex::GoneNic& gone : model.policy->GoneOf(host)) {
    const std::string device =
        gone.device.empty() ? fmt::format("{}", gone.node->node) : Utf8(gone.device);
    pb::NicReadiness* nic = nullptr;
    for (pb::NicReadiness& known : *out->mutable_nics())
      if (known.device() == device) nic = &known;
    if (nic != nullptr && nic->has_port()) continue;  // Another one is in its place.
    const bool is_new = nic == nullptr;
    if (is_new) {
      nic = out->add_nics();
      nic->set_device(device);
      nic->set_readiness(pb::READINESS_READY);
    }
    AddHolds(model.policy->ReachingGone(*gone.node), nic);
    AddHolds(model.policy->ReachingNic(host + "/" + device), nic);
    if (is_new) Worsen(pb::READINESS_DEGRADED, "is not on the fabric any more", nic);
  }
}

}  // namespace

void FillReadiness(const ReadModel& model, const std::string& name, pb::HostReadiness* out) {
  out->set_host(Utf8(name));
  HostFindings found;
  const fabric::Host* host = model.hosts->Find(name);
  for (size_t i = 0; host != nullptr && i < host->ports.size(); ++i) {
    const fabric::HostPort& host_port = host->ports[i];
    pb::NicReadiness* nic = out->add_nics();
    ToProto(model, host_port.port, nic->mutable_port());
    nic->set_device(Utf8(host_port.device));
    nic->set_readiness(pb::READINESS_READY);
    JudgePort(model, host_port.port, nic);
    JudgeRoutes(model, host_port.port, nic);
    JudgePolicy(model, host_port.port, nic);
  }
  AddMissing(model, out);
  const std::set<std::string> said = AddHoldsByName(model, *out, found);
  for (const pb::NicReadiness& nic : out->nics()) {
    const std::string& label = nic.device().empty() ? nic.port().node_name() : nic.device();
    for (const std::string& reason : nic.reasons()) {
      if (said.contains(reason)) continue;
      found.Add(nic.readiness(),
                fmt::format("{}{} {}", label, reason.starts_with("is not ") ? "" : ":", reason));
    }
  }
  if (host == nullptr && out->nics().empty())
    found.Add(pb::READINESS_UNKNOWN, "no such host is on the fabric");
  else if (host == nullptr)
    found.Add(pb::READINESS_LOST,
              fmt::format("it has left the fabric with all of its {} NICs", out->nics_size()));
  if (model.view->sm.state != wire::SmState::kMaster) JudgeStale(model, out, found);
  found.Write(out);
}

}  // namespace fabricd::rpc
