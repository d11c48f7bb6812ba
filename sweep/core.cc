// SPDX-License-Identifier: Apache-2.0
#include "sweep/core.h"

#include <algorithm>
#include <utility>

#include "common/breakage.h"
#include "common/status.h"
#include "mad/replies.h"
#include "mad/wire/notice.h"
#include "sweep/device/corrupt.h"
#include "sweep/device/m_keys.h"

namespace fabricd::sweep {

Core::Core(CoreOptions options, mad::LocalPort local, const std::vector<LidRecord>& records,
           policy::StoredHolds holds, std::shared_ptr<const fabric::MulticastGroups> groups,
           policy::PartitionState partitions, std::shared_ptr<const fabric::AliasGuids> aliases,
           TakeoverRecord takeover, std::shared_ptr<const SwitchTables> vouched,
           policy::ActionRecord actions)
    : options_(std::move(options)),
      engine_(IsBroken(Breakage::kWindowsTooWide) ? Widened(options_.smp) : options_.smp),
      observed_(std::move(local)),
      devices_(options_.sm, observed_.own().port_guid),
      lids_(options_, questions_, records),
      planner_(options_, questions_, effects_.log),
      mastership_(options_, observed_.own(), devices_, engine_, questions_, effects_),
      remediation_(
          {observed_.snapshot(), lids_.table(), planner_.routes(), observed_.local(), options_},
          effects_, questions_,
          IsBroken(Breakage::kHoldsForgotten) ? policy::StoredHolds() : std::move(holds),
          std::move(actions)),
      partitions_(options_, effects_, questions_,
                  IsBroken(Breakage::kPartitionsForgotten) ? policy::PartitionState()
                                                           : std::move(partitions)),
      guard_(options_, questions_, std::move(takeover)),
      programming_(MakeGround(), observed_, lids_, planner_, remediation_, partitions_, questions_,
                   journal_, view_, std::move(groups), std::move(aliases)),
      activities_(MakeGround(), options_, observed_, agenda_, commands_, mastership_, remediation_,
                  partitions_, guard_, programming_, journal_, view_),
      traps_(options_, observed_, lids_, activities_.follower(), agenda_, remediation_, journal_) {
  std::vector<Guid> ports;
  for (const LidRecord& record : records) ports.push_back(record.port_guid);
  devices_.search().SetKnownPorts(ports);
  devices_.applied().SetVouched(std::move(vouched));
}

Core::~Core() = default;

Ground Core::MakeGround() { return {observed_.builder(), devices_, engine_, problems_, options_}; }

void Core::Step(Event event, Instant now) {
  std::visit([&](auto&& value) { On(std::move(value), now); }, std::move(event));
  activities_.Advance(now);
}

Effects Core::TakeEffects(Instant now) {
  std::vector<mad::Completion> completions = Pump(now);
  // A completion may start work whose requests should be sent at once.
  while (!completions.empty()) {
    for (const mad::Completion& completion : completions) OnCompletion(completion, now);
    activities_.Advance(now);
    completions = Pump(now);
  }
  view_.ShowPhase(activities_.phase());
  if (view_.TakeChanged() || remediation_.HasChanges())
    effects_.publish =
        view_.Make({options_, activities_.phase(), observed_, activities_.has_own_link(), lids_,
                    planner_, programming_.multicast(), mastership_, guard_, partitions_, problems_,
                    remediation_.intent().isolated, remediation_.View(now)},
                   devices_.applied());
  return std::exchange(effects_, {});
}

std::vector<mad::Completion> Core::Pump(Instant now) {
  std::vector<mad::Completion> completions;
  engine_.SetPatient(agenda_.StaysPatient(activities_.MayBePatient(now)));
  engine_.Pump(now, effects_.send, completions);
  return completions;
}

Instant Core::NextDeadline() const {
  return std::min(
      {engine_.NextDeadline(), remediation_.NextDeadline(), activities_.NextDeadline()});
}

// ---- events

void Core::On(const StartEvent& event, Instant now) {
  remediation_.Begin(event.epoch, now);
  mastership_.Start();
  if (IsSeenByOthers(options_.sm.mode)) effects_.set_is_sm = true;
  activities_.StartHeavySweep("start", now, /*is_patient=*/mastership_.OnlyReads());
}

void Core::On(const TimerEvent&, Instant now) {
  if (now >= remediation_.NextDeadline()) remediation_.OnTimer(now);
  activities_.OnTimer(now);
}

void Core::On(const mad::IncomingMad& mad, Instant now) {
  if (mad::IsForEngine(mad)) {
    std::vector<mad::Completion> completions;
    engine_.OnIncoming(mad, now, completions);
    for (const mad::Completion& completion : completions) OnCompletion(completion, now);
    return;
  }
  if (mad.kind != mad::IncomingMad::Kind::kReceived || mad.payload.size() < wire::kMadBytes) return;
  const auto bytes = std::span<const uint8_t, wire::kMadBytes>(mad.payload.data(), wire::kMadBytes);
  if (const auto smp = wire::Smp::Decode(bytes)) OnSmp(mad, *smp, now);
}

// An SMP that is no response to a request of this SM.
void Core::OnSmp(const mad::IncomingMad& mad, const wire::Smp& smp, Instant now) {
  const bool asked = smp.method == wire::Method::kGet || smp.method == wire::Method::kSet;
  if (smp.method == wire::Method::kTrap) {
    // Only the master represses a trap (IBA vol 1 §13.4.9): else the device would not repeat it to
    // the next master.
    if (!mastership_.IsMaster()) return;
    if (const auto key = RepressKey(mad.from.lid))
      effects_.send.push_back(mad::MakeTrapRepress(mad, *key));
    traps_.OnTrap(wire::Notice::Decode(smp.data), now);
  } else if (asked && smp.attribute == wire::AttributeId::kSmInfo) {
    activities_.Apply(mastership_.OnRequest(mad, smp, now, effects_.send), now);
  }
}

// The M_Key of the port that sent a trap. nullopt: not known yet. A wrong key would count as a
// violation there and start the lease that ends the port's protection, and the trap is repeated.
std::optional<MKey> Core::RepressKey(Lid sender) const {
  const PortRef port = lids_.table()->Owner(sender);
  if (!port.IsNone() && devices_.Has(port.node)) return devices_.MKeyOf(port);
  const SmOptions& sm = options_.sm;
  if (HasDerivedMKeys(sm) || !sm.m_key_by_guid.empty()) return std::nullopt;
  return sm.m_key;
}

void Core::OnCompletion(const mad::Completion& completion, Instant now) {
  remediation_.OnCompletion(completion, now);
  if (completion.outcome == mad::Completion::Outcome::kResponse)
    devices_.NoteAnswer(completion.device, completion.path_used, completion.found_key);
  activities_.OnCompletion(completion, now);
}

void Core::On(Answer answer, Instant now) {
  using Open = OpenQuestions;
  const std::optional<Open::Kind> kind = questions_.Close(answer);
  if (!kind) return;
  auto& what = answer.what;
  switch (*kind) {
    case Open::KindOf<PersistLids>():
      activities_.OnLidsStored(std::get<Persisted>(what), now);
      break;
    case Open::KindOf<PersistHolds>(): remediation_.On(std::get<Persisted>(what), now); break;
    case Open::KindOf<PersistPartitions>(): partitions_.On(std::get<Persisted>(what), now); break;
    case Open::KindOf<PersistTakeover>():
      activities_.OnTakeoverStored(std::get<Persisted>(what).status, now);
      break;
    case Open::KindOf<ClaimMastership>():
      activities_.Apply(mastership_.OnClaimed(std::get<MastershipClaimed>(what), now), now);
      break;
    case Open::KindOf<ComputePlan>():
      programming_.OnPlan(std::get<PlanReady>(std::move(what)), now);
      break;
    case Open::KindOf<CheckCables>():
      programming_.OnCables(std::get<CablesChecked>(std::move(what)));
      break;
    case Open::KindOf<OrderTables>():
      programming_.OnOrder(std::get<TablesOrdered>(std::move(what)), now);
      break;
    case Open::KindOf<ComputeTrees>():
      programming_.OnTrees(std::get<TreesReady>(std::move(what)));
      break;
    case Open::KindOf<EvaluateIntent>():
      remediation_.On(std::get<IntentEvaluated>(std::move(what)), now);
      break;
  }
}

void Core::On(OptionsChanged changed, Instant now) {
  view_.MarkChanged();
  mastership_.OnReload(changed.options.sm.priority);
  agenda_.WantOptions(std::move(changed.options));
  agenda_.WantCheck("the configuration was changed", now);
}

void Core::On(GroupsChanged changed, Instant) {
  programming_.multicast().SetGroups(std::move(changed.groups));
}

void Core::On(AliasesChanged changed, Instant) {
  if (programming_.desired().SetAliases(std::move(changed.aliases), *observed_.snapshot()))
    agenda_.WantReroute("alias GUIDs");
}

void Core::On(StoredStateChanged changed, Instant now) {
  if (!options_.sm.FollowsOwner()) return;
  remediation_.Replace(std::move(changed.holds), now);
  partitions_.Replace(std::move(changed.partitions));
}

// ---- commands

void Core::Refuse(uint64_t command, std::string_view what) {
  commands_.Finish(command, FailedPrecondition("this SM is {}: the master keeps the {}",
                                               wire::SmStateName(mastership_.state()), what));
}

// Only the master changes holds: the store of a standby may lag behind.
template <typename Command>
void Core::OnHoldCommand(Command command, Instant now) {
  if (mastership_.IsMaster())
    remediation_.On(std::move(command), now);
  else
    Refuse(command.command, "holds");
}

void Core::On(ChangePartitions command, Instant) {
  if (mastership_.IsMaster() || command.of_this_host)
    partitions_.On(std::move(command));
  else
    Refuse(command.command, "partitions");
}

template <typename Command>
void Core::OnMastershipCommand(const Command& command, Instant now) {
  view_.MarkChanged();
  activities_.Apply(mastership_.On(command), now);
}

}  // namespace fabricd::sweep
