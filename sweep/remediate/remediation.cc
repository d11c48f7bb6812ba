// SPDX-License-Identifier: Apache-2.0
#include "sweep/remediate/remediation.h"

#include <algorithm>
#include <tuple>

#include "common/status.h"
#include "fabric/names.h"
#include "fabric/port_name.h"
#include "policy/guards.h"
#include "policy/intent_maker.h"
#include "sweep/device/device_table.h"
#include "sweep/observe/link_changes.h"

namespace fabricd::sweep {

using fabric::Severity;
using policy::Damping;
using policy::LinkId;
using policy::Rule;

namespace {

// Timeouts of one node within this time count as one.
constexpr Duration kTimeoutGap = std::chrono::seconds(1);
constexpr size_t kMaxTimedOut = 4096;

bool Has(const std::vector<PortRef>& sorted, PortRef port) {
  return std::binary_search(sorted.begin(), sorted.end(), port);
}
bool Has(const std::vector<NodeIndex>& sorted, NodeIndex node) {
  return std::binary_search(sorted.begin(), sorted.end(), node);
}

// False if the only change is that ports to enable are now known to be enabled.
bool NeedsWork(const fabric::Intent& before, const fabric::Intent& after) {
  const auto parts = [](const fabric::Intent& intent) {
    return std::tie(intent.closed_links, intent.avoided_links, intent.closed_switches,
                    intent.avoided_switches, intent.isolated, intent.unpartitioned,
                    intent.disabled);
  };
  return parts(before) != parts(after) ||
         !std::includes(before.reenabled.begin(), before.reenabled.end(), after.reenabled.begin(),
                        after.reenabled.end());
}

std::string Seconds(Duration duration) {
  return fmt::format("{:g} s", std::chrono::duration<double>(duration).count());
}

}  // namespace

Remediation::Remediation(KnownFabric fabric, Effects& effects, OpenQuestions& questions,
                         policy::StoredHolds holds, policy::ActionRecord actions)
    : fabric_(fabric),
      effects_(effects),
      keeper_(fabric, effects, questions, std::move(holds)),
      damping_(fabric.options.policy.damping),
      conditions_(fabric.options.policy.conditions),
      verdicts_(fabric, gone_, keeper_, effects),
      last_(fabric.snapshot),
      before_(std::move(actions)) {}

void Remediation::Begin(policy::WallMs epoch, Instant now) {
  keeper_.Begin(epoch, now);
  verdicts_.Restore(before_, keeper_.Wall(now), now);
  Advance(now);
}
void Remediation::On(const WallClockSet& set, Instant now) {
  keeper_.OnWallClockSet(set.epoch, now);
  Advance(now);
}
void Remediation::On(CreateHold command, Instant now) {
  keeper_.Create(std::move(command), now);
  Advance(now);
}
void Remediation::On(DeleteHold command, Instant now) {
  keeper_.Delete(std::move(command), now);
  Advance(now);
}
void Remediation::On(const AckHold& command, Instant now) {
  keeper_.Acknowledge(command, now);
  Advance(now);
}
void Remediation::On(const ClearDamping& command, Instant now) {
  if (!command.validate_only) {
    for (const LinkId link : damping_.Clear(command.end))
      OnReleased(link, "its penalty was cleared: it may be used again", now);
    changed_ = true;
  }
  effects_.finished.push_back({command.command, absl::OkStatus(), nullptr});
  Advance(now);
}
void Remediation::Replace(policy::StoredHolds stored, Instant now) {
  keeper_.Replace(std::move(stored));
  Advance(now);
}
void Remediation::On(const Persisted& persisted, Instant now) {
  keeper_.OnAnswer(persisted, now);
  Advance(now);
}
void Remediation::On(IntentEvaluated judged, Instant now) {
  keeper_.OnAnswer(std::move(judged), now);
  Advance(now);
}

void Remediation::OnTimer(Instant now) {
  for (LinkId link : damping_.OnTimer(now))
    OnReleased(link, "the link has been quiet: it may be used again", now);
  for (const policy::Conditions::Source& source : conditions_.OnTimer(now)) {
    verdicts_.Clear(std::string(ConditionTypeOf(source.rule)), source.port, now);
    changed_ = true;
  }
  verdicts_.OnTimer(now);
  keeper_.OnTimer(now);
  Advance(now);
}

Instant Remediation::NextDeadline() const {
  return std::min({keeper_.NextDeadline(), damping_.NextDeadline(), conditions_.NextDeadline(),
                   verdicts_.NextDeadline()});
}

void Remediation::OnApplied(uint64_t generation, Instant now) {
  keeper_.OnApplied(generation, now);
  changed_ = changed_ || damping_.suppressed_count() > 0;  // They may be needed now.
  Advance(now);
}

void Remediation::OnOptions(Instant now) {
  damping_.SetOptions(fabric_.options.policy.damping, now);
  conditions_.SetOptions(fabric_.options.policy.conditions);
  verdicts_.ResetBreaker();
  OnTimer(now);
}

void Remediation::Advance(Instant now) {
  for (const HoldKeeper::Answer& answer : keeper_.TakeAnswers()) {
    verdicts_.OnAnswer(answer, now);
    changed_ = true;
  }
  if (std::string why = keeper_.TakeBookChange(); !why.empty())
    MakeIntentAnew(std::move(why), false, now);
  changed_ = keeper_.TakeShownChange() || changed_;
}

// ---- the intent

// Links whose port has another peer by now are left out: that cable was not flapping.
std::vector<fabric::Intent::Link> Remediation::DampedLinks() const {
  std::vector<fabric::Intent::Link> links;
  for (LinkId link : damping_.Suppressed()) {
    const fabric::Port* port = fabric_.snapshot->port(link.a);
    const bool another = port != nullptr && !port->peer.IsNone() && port->peer != link.b;
    if (!another) links.push_back({link.a, link.b});
  }
  return links;
}

void Remediation::MakeIntentAnew(std::string why, bool renewed, Instant now) {
  const std::vector<fabric::Intent::Link> flapping = DampedLinks();
  std::vector<PortRef> damped;
  for (const auto& link : flapping) damped.push_back(link.a);
  fabric::Intent wanted =
      policy::MakeIntent(keeper_.book(), *fabric_.snapshot, damped, fabric_.local);
  wanted.flapping_links = flapping;
  const bool differs = wanted != intent_;
  if (differs) {
    ++generation_;
    if (NeedsWork(intent_, wanted)) reroute_ = std::move(why);
    intent_ = std::move(wanted);
  }
  keeper_.OnIntent(intent_, std::move(damped), generation_, differs && renewed, now);
  changed_ = true;
}

// ---- observations

bool Remediation::IsHeld(PortRef port) const {
  return Has(intent_.closed_links, port) || Has(intent_.disabled, port) ||
         Has(intent_.reenabled, port) || Has(intent_.isolated, port) ||
         Has(intent_.closed_switches, port.node);
}

void Remediation::OnSnapshot(Instant now) {
  const auto before = std::exchange(last_, fabric_.snapshot);
  if (before == last_) return;
  const auto changes = gone_.Note(*before, *last_, now);
  verdicts_.Begin(now);
  RestoreDamping(now);
  if (before->node_count() > 0) TellOfNodes(changes, now);
  // The first discovery is not a change.
  if (before->node_count() > 0)
    for (const LinkChange& change : FindLinkChanges(*before, *last_)) {
      const LinkId link(change.a, change.b);
      if (change.went_down) {
        TellOfLink("LinkDown", Severity::kWarning, link, "the link went down", now);
        // A held host or link is rebooted or unplugged on purpose.
        if (!IsHeld(link.a) && !IsHeld(link.b)) OnLinkDown(link, now);
      }
      if (change.came_up) TellOfLink("LinkUp", Severity::kInfo, link, "the link came up", now);
    }
  MakeIntentAnew("holds of nodes that were not known", true, now);
  Advance(now);
}

std::string Remediation::NameOf(LinkId link) const {
  return fabric::LinkName(gone_.NameOf(link.a, *fabric_.snapshot),
                          gone_.NameOf(link.b, *fabric_.snapshot));
}

void Remediation::TellOfLink(const char* type, Severity severity, LinkId link, std::string message,
                             Instant now) {
  fabric::FabricEvent event;
  event.type = type;
  event.severity = severity;
  event.subject = NameOf(link);
  event.node = gone_.GuidOf(link.a.node, *fabric_.snapshot);
  event.port = link.a.port;
  event.peer = gone_.GuidOf(link.b.node, *fabric_.snapshot);
  event.peer_port = link.b.port;
  event.message = std::move(message);
  event.at = now;
  effects_.events.push_back(std::move(event));
}

std::string Remediation::HoldsOnOwnLink() const {
  const fabric::Node* node = fabric_.snapshot->node(fabric_.local.node);
  if (node == nullptr) return "";
  const std::string holds =
      policy::HoldsOnLinkOf(keeper_.book(), {node->guid(), fabric_.local.port});
  return holds.empty() ? "" : ": " + holds;
}

namespace {

struct NodeEvent {
  const char* type;
  Severity severity;
  const char* message;
};

// By GoneNodes::Change::What.
constexpr NodeEvent kNodeEvents[] = {
    {"NodeAppeared", Severity::kInfo, "it has come"},
    {"NodeVanished", Severity::kWarning, "no link leads to it any more"},
    {"SmaUnresponsive", Severity::kWarning,
     "it does not respond to management while its link is ACTIVE: its routes stay for now"},
    {"SmaResponsive", Severity::kInfo, "it responds to management again"},
};

}  // namespace

void Remediation::TellOfNodes(const std::vector<GoneNodes::Change>& changes, Instant now) {
  for (const GoneNodes::Change& change : changes) {
    const NodeEvent& what = kNodeEvents[static_cast<size_t>(change.what)];
    fabric::FabricEvent event;
    event.type = what.type;
    event.severity = what.severity;
    event.subject = gone_.NameOf({change.node, PortNum(0)}, *fabric_.snapshot);
    event.node = gone_.GuidOf(change.node, *fabric_.snapshot);
    event.message = what.message;
    event.at = now;
    effects_.events.push_back(std::move(event));
  }
}

void Remediation::OnLinkDown(LinkId link, Instant now) {
  const Damping::Verdict verdict = damping_.OnFlap(link, now);
  changed_ = true;
  if (verdict == Damping::Verdict::kCounted) return;
  const bool suppressed = verdict == Damping::Verdict::kSuppressed;
  if (suppressed)
    TellOfLink("LinkSuppressed", Severity::kWarning, link,
               "the link flaps: routes lead round it until it has been quiet", now);
  RaiseFlapping(link, suppressed ? "the link flaps" : "the link flaps, and so do too many others",
                now);
  if (suppressed) MakeIntentAnew(fmt::format("damping of {}", NameOf(link)), false, now);
}

void Remediation::RaiseFlapping(LinkId link, std::string message, Instant now) {
  Verdicts::Fault fault;
  fault.type = "LinkFlapping";
  fault.port = link.a;
  fault.other = link.b;
  fault.mode = fabric_.options.policy.conditions.link_flapping;
  fault.message = std::move(message);
  fault.since = now;
  verdicts_.Raise(std::move(fault), now);
}

// Links whose ends are not found yet wait for them. Routes go on leading round the others.
void Remediation::RestoreDamping(Instant now) {
  if (fabric_.snapshot->node_count() == 0) return;
  std::erase_if(before_.suppressed, [&](const policy::ActionRecord::SuppressedLink& link) {
    const Instant at = now - std::chrono::milliseconds(keeper_.Wall(now) - link.at);
    const PortRef a = policy::PortRefOf(link.a, *fabric_.snapshot);
    const PortRef b = policy::PortRefOf(link.b, *fabric_.snapshot);
    if (a.IsNone() || b.IsNone()) return !damping_.LastsUntil(link.penalty, at, now);
    // Another cable does not flap.
    const auto may_be = [&](PortRef end, PortRef other) {
      const fabric::Port* const port = fabric_.snapshot->port(end);
      return port != nullptr && (port->peer.IsNone() || port->peer == other);
    };
    if (!may_be(a, b) || !may_be(b, a)) return true;
    const LinkId id(a, b);
    if (damping_.Restore({id, link.penalty, at, link.flaps}, now))
      RaiseFlapping(id, "the link flapped before this manager started", now);
    return true;
  });
}

policy::ActionRecord Remediation::Actions() const {
  policy::ActionRecord record;
  record.suppressed = before_.suppressed;
  const fabric::FabricSnapshot& snapshot = *fabric_.snapshot;
  for (const Damping::Suppression& each : damping_.Suppressions())
    record.suppressed.push_back({gone_.HeldPortOf(each.link.a, snapshot),
                                 gone_.HeldPortOf(each.link.b, snapshot), each.penalty,
                                 keeper_.Wall(each.at), each.flaps});
  verdicts_.AddTo(record);
  return record;
}

// A link that flapped but was over the limit was never suppressed, so it just ends.
void Remediation::OnReleased(LinkId link, std::string why, Instant now) {
  TellOfLink("LinkReleased", Severity::kInfo, link, std::move(why), now);
  verdicts_.Clear("LinkFlapping", link.a, now);
  MakeIntentAnew(fmt::format("end of the damping of {}", NameOf(link)), false, now);
}

void Remediation::Count(Rule rule, PortRef port, uint64_t count, std::string_view what,
                        Instant now) {
  if (fabric_.snapshot->node(port.node) == nullptr) return;
  const auto* raised = conditions_.Count({rule, port}, count, what, now);
  if (raised == nullptr) return;
  Verdicts::Fault fault;
  fault.type = ConditionTypeOf(rule);
  fault.port = port;
  const policy::RateRule& limits = conditions_.RuleOf(rule);
  fault.mode = limits.mode;
  fault.message = fmt::format("{} within {}, the threshold is {}; the last: {}", raised->count,
                              Seconds(limits.window), limits.threshold, raised->last);
  fault.evidence = {{"count", std::to_string(raised->count)},
                    {"window", Seconds(limits.window)},
                    {"threshold", std::to_string(limits.threshold)},
                    {"last", raised->last}};
  fault.since = raised->since;
  verdicts_.Raise(std::move(fault), now);
  changed_ = true;
}

void Remediation::OnTrap(const wire::Notice& notice, Instant now, uint64_t count) {
  const Lid lid = notice.subject_lid() ? notice.subject_lid() : notice.issuer_lid;
  PortRef port = fabric_.lids->Owner(lid);
  if (port.IsNone() || fabric_.snapshot->node(port.node) == nullptr) return;
  if (fabric_.snapshot->node(port.node)->IsSwitch()) port.port = notice.subject_port();
  const std::string what = fmt::format("trap {}", notice.trap);
  const bool threshold = notice.generic && notice.trap >= wire::kTrapLocalLinkIntegrity &&
                         notice.trap <= wire::kTrapFlowControlWatchdog;
  if (threshold) Count(Rule::kNoisyTraps, port, count, what, now);
  Count(Rule::kTrapStorm, port, count, what, now);
  Advance(now);
}

void Remediation::OnCompletion(const mad::Completion& completion, Instant now) {
  if (completion.device >= kAskerDevice) return;
  const NodeIndex node(completion.device);
  if (completion.outcome == mad::Completion::Outcome::kTimedOut) {
    if (completion.may_be_unknown) return;
    if (timed_out_.size() >= kMaxTimedOut) timed_out_.clear();
    const auto [last, is_new] = timed_out_.try_emplace(node, now);
    if (!is_new && last->second + kTimeoutGap > now) return;
    last->second = now;
    Count(Rule::kUnresponsive, {node, PortNum(0)}, 1,
          fmt::format("{} {} was not answered", wire::MethodName(completion.method),
                      wire::AttributeName(completion.attribute)),
          now);
  } else if (completion.outcome == mad::Completion::Outcome::kResponse && completion.status != 0 &&
             completion.method == wire::Method::kSet) {
    // A port that is already ACTIVE because its peer is refuses to be armed (IBA vol 1 §7.2.7).
    if (completion.attribute == wire::AttributeId::kPortInfo &&
        completion.status == wire::kStatusInvalidAttributeValue)
      return;
    Count(Rule::kSetErrors, {node, PortNum(0)}, 1,
          fmt::format("Set {}: status {:#06x}", wire::AttributeName(completion.attribute),
                      completion.status),
          now);
  }
  Advance(now);
}

// ---- views

// Whether routes still use the link that should be avoided.
bool Remediation::IsNeeded(LinkId link) const {
  const auto& snapshot = *fabric_.snapshot;
  for (PortRef end : {link.a, link.b}) {
    const fabric::Node* node = snapshot.node(end.node);
    if (node == nullptr) return false;
    if (!node->IsSwitch()) return true;  // An end port has no other link.
  }
  if (fabric_.routes == nullptr || fabric_.routes->plan == nullptr) return false;
  const fabric::Port* port = snapshot.port(link.a);
  if (port == nullptr || !port->IsUp() || port->peer != link.b) return false;
  const auto& rows = fabric_.routes->plan->rows;
  for (PortRef end : {link.a, link.b}) {
    if (end.node.value() >= rows.size() || rows[end.node.value()] == nullptr) continue;
    const routing::Row& row = *rows[end.node.value()];
    for (size_t block = 0; block < row.blocks(); ++block) {
      const uint8_t* entries = row.block(block);
      if (std::find(entries, entries + routing::Row::kBlock, end.port.value()) !=
          entries + routing::Row::kBlock)
        return true;
    }
  }
  return false;
}

void Remediation::UpdateEvidence(Instant now) {
  for (const policy::Conditions::Raised& raised : conditions_.List()) {
    const policy::RateRule& limits = conditions_.RuleOf(raised.source.rule);
    verdicts_.Update(
        std::string(ConditionTypeOf(raised.source.rule)), raised.source.port,
        fmt::format("up to {} within {}, the threshold is {}; {} since it began; the last: {}",
                    raised.count, Seconds(limits.window), limits.threshold, raised.total,
                    raised.last),
        {{"count", std::to_string(raised.count)},
         {"total", std::to_string(raised.total)},
         {"window", Seconds(limits.window)},
         {"threshold", std::to_string(limits.threshold)},
         {"last", raised.last}});
  }
  for (const policy::DampedLink& link : damping_.List(now))
    verdicts_.Update("LinkFlapping", link.a, link.reason,
                     {{"flaps", std::to_string(link.flaps)},
                      {"penalty", fmt::format("{:.0f}", link.penalty)},
                      {"threshold", std::to_string(fabric_.options.policy.damping.suppress)},
                      {"half_life", Seconds(fabric_.options.policy.damping.half_life)}});
}

std::shared_ptr<const policy::PolicyView> Remediation::View(Instant now) {
  if (view_ != nullptr && !std::exchange(changed_, false)) return view_;
  changed_ = false;
  UpdateEvidence(now);
  auto view = std::make_shared<policy::PolicyView>();
  view->holds = keeper_.List();
  view->damped = damping_.List(now);
  for (policy::DampedLink& link : view->damped) {
    link.needed = link.suppressed && IsNeeded(LinkId(link.a, link.b));
    if (link.needed) link.reason += "; used all the same: nothing else is left";
  }
  view->conditions = verdicts_.List();
  view->gone = gone_.List();
  view->actions = Actions();
  return view_ = std::move(view);
}

}  // namespace fabricd::sweep
