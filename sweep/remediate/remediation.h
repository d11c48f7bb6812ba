// SPDX-License-Identifier: Apache-2.0
// sweep/remediate: deliberate changes to the use of the fabric: holds, damping, partitions.
//
// Remediation: holds, damping of flapping links, and conditions. It computes the Intent from them,
// which changes only once its causes are durable, and notifies the core when the Intent requires
// new routes or ports.
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
  // `fabric`, `effects` and `questions` must outlive this. Events and outcomes are appended to
  // `effects`. `holds` and `actions` are those of an earlier run.
  Remediation(KnownFabric fabric, Effects& effects, OpenQuestions& questions,
              policy::StoredHolds holds, policy::ActionRecord actions = {});

  // `epoch`: wall-clock time at Instant zero.
  void Begin(policy::WallMs epoch, Instant now);
  void On(const WallClockSet& set, Instant now);

  void On(CreateHold command, Instant now);
  void On(DeleteHold command, Instant now);
  void On(const AckHold& command, Instant now);
  void On(const ClearDamping& command, Instant now);
  // HoldKeeper::Replace().
  void Replace(policy::StoredHolds stored, Instant now);
  // Answers to PersistHolds and EvaluateIntent.
  void On(const Persisted& persisted, Instant now);
  void On(IntentEvaluated judged, Instant now);

  policy::WallMs Wall(Instant now) const { return keeper_.Wall(now); }

  void OnTimer(Instant now);
  Instant NextDeadline() const;

  // The core's snapshot was replaced.
  void OnSnapshot(Instant now);
  // Call for every trap, also for repeated ones: storms are counted here. `count`: number of equal
  // traps.
  void OnTrap(const wire::Notice& notice, Instant now, uint64_t count = 1);
  // Call for any completion of the core's engine: timeouts and refused Sets are counted.
  void OnCompletion(const mad::Completion& completion, Instant now);
  // The core's options were replaced.
  void OnOptions(Instant now);

  const fabric::Intent& intent() const { return intent_; }
  // Number of the intent. Grows with each change.
  uint64_t generation() const { return generation_; }
  // Why routes or ports must be recomputed since the last call. Empty: they need not be.
  std::string TakeReroute() { return std::exchange(reroute_, {}); }
  // All tables and ports of intent `generation` are confirmed.
  void OnApplied(uint64_t generation, Instant now);

  // If the SM's own port has no link: ": " and the holds that may be the reason. Empty: none.
  std::string HoldsOnOwnLink() const;

  // True: View() differs from the last one.
  bool HasChanges() const { return changed_; }
  std::shared_ptr<const policy::PolicyView> View(Instant now);

 private:
  // Processes the results of the parts.
  void Advance(Instant now);
  void MakeIntentAnew(std::string why, bool renewed, Instant now);
  bool IsHeld(PortRef port) const;
  void TellOfNodes(const std::vector<GoneNodes::Change>& changes, Instant now);
  void OnLinkDown(policy::LinkId link, Instant now);
  void RestoreDamping(Instant now);
  void RaiseFlapping(policy::LinkId link, std::string message, Instant now);
  policy::ActionRecord Actions() const;
  void OnReleased(policy::LinkId link, std::string why, Instant now);
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
  // When a timeout of a node was counted last: many requests to an unresponsive node give up at
  // once.
  absl::flat_hash_map<NodeIndex, Instant> timed_out_;
  bool changed_ = true;
  policy::ActionRecord before_;  // Of an earlier run: what was not restored yet.
  std::shared_ptr<const policy::PolicyView> view_;
};

}  // namespace fabricd::sweep
