// SPDX-License-Identifier: Apache-2.0
// sweep/remediate: what is wanted of the fabric beside what is there: holds, damping, partitions.
//
// Remediation: everything of the core that wants something of the fabric beside what is there:
// holds, damping of flapping links, conditions. It makes the Intent of them, which changes only
// once what it stems from is durable, and tells the core when that asks for new routes or ports.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "mad/wire/notice.h"
#include "policy/conditions.h"
#include "policy/damping.h"
#include "sweep/remediate/gone_nodes.h"
#include "sweep/remediate/hold_keeper.h"
#include "sweep/remediate/verdicts.h"

namespace fabricd::sweep {

class Remediation {
 public:
  // `fabric`, `effects` and `questions` must outlive this; effects are added to as they come.
  Remediation(KnownFabric fabric, Effects& effects, OpenQuestions& questions,
              policy::StoredHolds holds);

  // `epoch`: wall-clock time at Instant zero.
  void Begin(policy::WallMs epoch, Instant now);
  void On(const WallClockSet& set, Instant now);

  void On(CreateHold command, Instant now);
  void On(DeleteHold command, Instant now);
  void On(const AckHold& command, Instant now);
  // To PersistHolds, to EvaluateIntent.
  void On(const Persisted& persisted, Instant now);
  void On(IntentEvaluated judged, Instant now);

  void OnTimer(Instant now);
  Instant NextDeadline() const;

  // The core's snapshot was replaced.
  void OnSnapshot(Instant now);
  // A trap, repeated ones too: storms are counted here. `count`: so many of the same at once.
  void OnTrap(const wire::Notice& notice, Instant now, uint64_t count = 1);
  // Any completion of the core's engine: time-outs and refused Sets are counted.
  void OnCompletion(const mad::Completion& completion, Instant now);
  // The core's options were replaced.
  void OnOptions(Instant now);

  const fabric::Intent& intent() const { return intent_; }
  // Of the intent; grows with each change.
  uint64_t generation() const { return generation_; }
  // Why routes or ports are to be made anew since the last call; empty: they are not.
  std::string TakeReroute() { return std::exchange(reroute_, {}); }
  // All tables and ports for intent `generation` are confirmed.
  void OnApplied(uint64_t generation, Instant now);

  // The SM's own port has no link: ": " and the holds by which that may be; empty: none.
  std::string HoldsOnOwnLink() const;

  // Whether View() would give something else than at the last call.
  bool HasChanges() const { return changed_; }
  std::shared_ptr<const policy::PolicyView> View(Instant now);

 private:
  // Takes up what has come of the parts.
  void Advance(Instant now);
  void MakeIntentAnew(std::string why, bool renewed, Instant now);
  bool IsHeld(PortRef port) const;
  void TellOfNodes(const std::vector<GoneNodes::Change>& changes, Instant now);
  void OnLinkDown(policy::LinkId link, Instant now);
  void OnReleased(policy::LinkId link, Instant now);
  void Count(policy::Rule rule, PortRef port, uint64_t count, std::string_view what, Instant now);
  void TellOfLink(const char* type, fabric::Severity severity, policy::LinkId link,
                  std::string message, Instant now);
  std::string NameOf(policy::LinkId link) const;
  std::vector<fabric::Intent::Link> DampedLinks() const;
  bool IsNeeded(policy::LinkId link) const;
  void UpdateEvidence(Instant now);

  const KnownFabric fabric_;
  Effects& effects_;
  HoldKeeper keeper_;
  policy::Damping damping_;
  policy::Conditions conditions_;
  GoneNodes gone_;
  Verdicts verdicts_;

  std::shared_ptr<const fabric::FabricSnapshot> last_;  // As of the last OnSnapshot().
  fabric::Intent intent_;
  uint64_t generation_ = 1;
  std::string reroute_;
  // When a node's time-outs were counted last: many requests give up on a dead node at once.
  absl::flat_hash_map<NodeIndex, Instant> timed_out_;
  bool changed_ = true;
  std::shared_ptr<const policy::PolicyView> view_;
};

}  // namespace fabricd::sweep
