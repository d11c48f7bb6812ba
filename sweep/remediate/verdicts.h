// SPDX-License-Identifier: Apache-2.0
// Verdicts: the handling of a condition that a rule has raised. It is shown with a recommended
// hold. In mode `enforce` that hold is created, within a budget and while the circuit breaker has
// not tripped. When the condition has cleared, the hold is released, at most a few times a week for
// each port.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sweep/remediate/gone_nodes.h"
#include "sweep/remediate/hold_keeper.h"

namespace fabricd::sweep {

// Owner of the holds that fabricd creates itself.
using policy::kOwnHoldOwner;

class Verdicts {
 public:
  // What a rule has detected. Several rules of one type may report the same port.
  struct Fault {
    std::string type;  // "NoisyTraps"
    PortRef port;      // Port 0: the node. Of a link: its lower end port.
    PortRef other;     // The other end of a link. None: not a link.
    policy::ConditionMode mode = policy::ConditionMode::kRecommend;
    std::string message;
    std::vector<std::pair<std::string, std::string>> evidence;
    Instant since;
  };

  // All must outlive this.
  Verdicts(KnownFabric fabric, const GoneNodes& gone, HoldKeeper& keeper, Effects& effects)
      : fabric_(fabric), gone_(gone), keeper_(keeper), effects_(effects) {}

  // Of an earlier run. `wall`: the wall clock now.
  void Restore(const policy::ActionRecord& before, policy::WallMs wall, Instant now);
  // Adds what a later run must know.
  void AddTo(policy::ActionRecord& record) const;
  // The fabric is known: from now on, own holds of an earlier run wait for a condition that claims
  // them. Only the first call has an effect.
  void Begin(Instant now);
  // Releases the holds that no condition has claimed by the time that all conditions would have
  // cleared.
  void OnTimer(Instant now);
  Instant NextDeadline() const { return claims_end_; }

  void Raise(Fault fault, Instant now);
  void Clear(const std::string& type, PortRef port, Instant now);
  // The outcome of a hold that this class requested.
  void OnAnswer(const HoldKeeper::Answer& answer, Instant now);
  // After a reload, `enforce` may act again.
  void ResetBreaker();

  // By type, node and port.
  std::vector<policy::Condition> List() const;
  // Updates the displayed values. Ignored if the condition is not raised.
  void Update(const std::string& type, PortRef port, std::string message,
              std::vector<std::pair<std::string, std::string>> evidence);

 private:
  using Key = std::pair<std::string, PortRef>;
  struct Finding {
    Fault fault;
    int causes = 1;  // Number of rules that have raised it.
    policy::HoldKind recommended = policy::HoldKind::kCordon;
    uint64_t reference = 0;  // Of the requested hold.
    uint64_t hold = 0;
    std::string held_back;
    bool released = false;  // Cleared while its hold was being created.
  };
  struct Release {
    Instant at;
    policy::HeldPort port;
  };

  policy::HoldTarget TargetOf(const Fault& fault) const;
  policy::HoldKind RecommendedFor(const Fault& fault) const;
  bool IsExcluded(const Fault& fault, Instant now) const;
  // Why no hold may be created. Empty: it may. `stands`: an own one is there already.
  std::string Objection(const Finding& finding, bool stands, Instant now);
  std::string BreakerObjection(const Fault& fault, Instant now);
  void Enforce(Finding& finding, Instant now);
  void TakeBack(Finding& finding, Instant now);
  void Tell(const char* type, const Finding& finding, std::string message, Instant now);
  std::string SubjectOf(const Fault& fault) const;

  const KnownFabric fabric_;
  const GoneNodes& gone_;
  HoldKeeper& keeper_;
  Effects& effects_;
  std::map<Key, Finding> findings_;
  std::map<uint64_t, Key> asked_;  // By reference.
  // Own holds of an earlier run. nullopt: before Begin().
  std::optional<std::vector<uint64_t>> inherited_;
  Instant claims_end_ = kNever;
  uint64_t next_reference_ = 1;
  std::deque<std::pair<Instant, Guid>> held_systems_;  // Within the breaker's window.
  bool tripped_ = false;
  std::deque<Release> releases_;  // Within a week.
};

}  // namespace fabricd::sweep
