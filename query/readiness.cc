// SPDX-License-Identifier: Apache-2.0
#include "query/readiness.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "common/utf8.h"
#include "policy/target.h"

namespace fabricd::query {
namespace {

// Of two answers a host gets the worse one.
void Worsen(Readiness readiness, const std::string& reason, NicReadiness* out) {
  out->readiness = std::max(out->readiness, readiness);
  out->reasons.push_back(Utf8(reason));
}

// What is wrong with a host: what its readiness stems from comes first.
class HostFindings {
 public:
  void Add(Readiness readiness, std::string reason) {
    found_.emplace_back(readiness, std::move(reason));
  }
  void Forget(Readiness readiness) {
    std::erase_if(found_, [&](const auto& each) { return each.first == readiness; });
  }
  void Write(HostReadiness* out) {
    std::stable_sort(found_.begin(), found_.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    out->readiness = found_.empty() ? Readiness::kReady : found_.front().first;
    for (const auto& [readiness, reason] : found_) out->reasons.push_back(Utf8(reason));
  }

 private:
  std::vector<std::pair<Readiness, std::string>> found_;
};

std::string HoldReason(const policy::Hold& hold) {
  return fmt::format("{} of {} {} (hold {}, {}): {}", policy::HoldKindText(hold),
                     policy::TargetKindName(hold.target.kind), hold.target.name, hold.id,
                     hold.owner, hold.reason);
}

// What the port itself says.
void JudgePort(const ReadModel& model, PortRef ref, NicReadiness* out) {
  const fabric::Port& port = *model.snapshot().port(ref);
  const fabric::Node* peer = port.peer.IsNone() ? nullptr : model.snapshot().node(port.peer.node);
  if (model.snapshot().node(ref.node)->unresponsive)
    Worsen(Readiness::kUnknown, "its adapter does not respond to management; its link is ACTIVE",
           out);
  else if (peer != nullptr && peer->unresponsive)
    Worsen(Readiness::kUnknown,
           fmt::format("its switch {} does not respond to management; its link is as last read",
                       model.name(peer->index)),
           out);
  if (!port.known) return Worsen(Readiness::kUnknown, "its state could not be read", out);
  if (port.info.port_state != wire::PortState::kActive) {
    return Worsen(Readiness::kDegraded,
                  fmt::format("the port is {}", wire::PortStateName(port.info.port_state)), out);
  }
  if (port.peer.IsNone())
    return Worsen(Readiness::kUnknown, "what it is linked to is not known", out);
  if (QualityOf(model.snapshot(), ref, port.peer).degraded)
    Worsen(Readiness::kDegraded, "its link runs below what both ends support", out);
}

// Whether the switch that the port hangs on has a way to it, where the routes are ours.
void JudgeRoutes(const ReadModel& model, PortRef ref, NicReadiness* out) {
  const auto& plan = model.view->plan;
  const PortRef peer = model.snapshot().port(ref)->peer;
  if (!plan || peer.IsNone() || !plan->HasRow(peer.node)) return;
  const Lid lid = model.view->lids->Of(ref).base;
  if (!lid || plan->EgressPort(peer.node, lid) == routing::kNoRoute)
    Worsen(Readiness::kDegraded, "no route leads to it", out);
}

void AddHolds(const PolicyIndex::Holds& holds, NicReadiness* out) {
  for (const policy::HoldStatus* status : holds) {
    const uint64_t id = status->hold.id;
    const auto& known = out->hold_ids;
    if (std::find(known.begin(), known.end(), id) != known.end()) continue;
    Worsen(Readiness::kHeld, HoldReason(status->hold), out);
    out->hold_ids.push_back(id);
  }
}

void JudgePolicy(const ReadModel& model, PortRef ref, NicReadiness* out) {
  const fabric::FabricSnapshot& snapshot = model.snapshot();
  AddHolds(model.policy->Reaching(snapshot, ref), out);
  if (const policy::DampedLink* link = model.policy->Damped(ref); link && link->suppressed)
    Worsen(Readiness::kDegraded, "its link is suppressed: " + link->reason, out);
  const PortRef peer = snapshot.port(ref)->peer;
  for (const PortRef end : {ref, peer}) {
    if (end.IsNone()) continue;
    // What is said of a switch as a whole is not the port's.
    const fabric::Node& node = *snapshot.node(end.node);
    for (const policy::Condition* condition : model.policy->Conditions(node.guid(), end.port)) {
      if (node.IsSwitch() && !condition->port) continue;
      Worsen(Readiness::kDegraded, fmt::format("{}: {}", condition->type, condition->message), out);
    }
  }
}

// Holds on the host as a whole, which are not repeated for each NIC, and those on parts of it that
// show on none of its ports: they may have vanished because of the hold. Gives what it said.
std::set<std::string> AddHoldsByName(const ReadModel& model, const HostReadiness& host,
                                     HostFindings& found) {
  std::set<std::string> said;
  for (const policy::HoldStatus* status : model.policy->ReachingHost(host.host)) {
    bool shown = false;
    for (const NicReadiness& nic : host.nics)
      for (const uint64_t known : nic.hold_ids) shown |= known == status->hold.id;
    if (shown && status->hold.target.kind != policy::TargetKind::kHost) continue;
    found.Add(Readiness::kHeld, *said.insert(HoldReason(status->hold)).first);
  }
  return said;
}

// Only the master hears of what changes: what another SM last read proves nothing of now.
void JudgeStale(const ReadModel& model, HostReadiness* out, HostFindings& found) {
  const std::string why = fmt::format("this SM is {}, and may be out of date: ask the master",
                                      wire::SmStateName(model.view->sm.state));
  for (NicReadiness& nic : out->nics) Worsen(Readiness::kUnknown, why, &nic);
  found.Forget(Readiness::kLost);
  found.Add(Readiness::kUnknown, why);
}

// A NIC that is not on the fabric any more has no port to judge.
void AddMissing(const ReadModel& model, HostReadiness* out) {
  for (const MissingNic& missing : model.missing->Of(out->host)) {
    NicReadiness& nic = out->nics.emplace_back();
    nic.device = Utf8(missing.device);
    AddHolds(model.policy->ReachingNic(out->host + "/" + missing.device), &nic);
    Worsen(Readiness::kDegraded, missing.reason, &nic);
  }
  for (const PolicyIndex::GoneNic& gone : model.policy->GoneOf(out->host)) {
    const std::string device =
        gone.device.empty() ? fmt::format("{}", gone.node->node) : Utf8(gone.device);
    NicReadiness* nic = nullptr;
    for (NicReadiness& known : out->nics)
      if (known.device == device) nic = &known;
    if (nic != nullptr && nic->port) continue;  // Another one is in its place.
    const bool is_new = nic == nullptr;
    if (is_new) {
      nic = &out->nics.emplace_back();
      nic->device = device;
    }
    AddHolds(model.policy->ReachingGone(*gone.node), nic);
    AddHolds(model.policy->ReachingNic(out->host + "/" + device), nic);
    if (is_new) Worsen(Readiness::kDegraded, "is not on the fabric any more", nic);
  }
}

}  // namespace

HostReadiness ReadinessOf(const ReadModel& model, const std::string& name) {
  HostReadiness out;
  out.host = Utf8(name);
  HostFindings found;
  const fabric::Host* host = model.hosts->Find(name);
  for (size_t i = 0; host != nullptr && i < host->ports.size(); ++i) {
    const fabric::HostPort& host_port = host->ports[i];
    NicReadiness& nic = out.nics.emplace_back();
    nic.port = host_port.port;
    nic.device = Utf8(host_port.device);
    JudgePort(model, host_port.port, &nic);
    JudgeRoutes(model, host_port.port, &nic);
    JudgePolicy(model, host_port.port, &nic);
  }
  AddMissing(model, &out);
  const std::set<std::string> said = AddHoldsByName(model, out, found);
  for (const NicReadiness& nic : out.nics) {
    const std::string label =
        nic.device.empty() && nic.port ? model.name(nic.port->node) : nic.device;
    for (const std::string& reason : nic.reasons) {
      if (said.contains(reason)) continue;
      found.Add(nic.readiness,
                fmt::format("{}{} {}", label, reason.starts_with("is not ") ? "" : ":", reason));
    }
  }
  if (host == nullptr && out.nics.empty())
    found.Add(Readiness::kUnknown, "no such host is on the fabric");
  else if (host == nullptr)
    found.Add(Readiness::kLost,
              fmt::format("it has left the fabric with all of its {} NICs", out.nics.size()));
  if (model.view->sm.state != wire::SmState::kMaster) JudgeStale(model, &out, found);
  found.Write(&out);
  return out;
}

}  // namespace fabricd::query
