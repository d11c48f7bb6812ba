// SPDX-License-Identifier: Apache-2.0
// Verdicts: what becomes of a condition that a rule has raised. It is shown with a recommended
// hold; under `enforce` that hold is made, within a budget and as long as the circuit breaker has
// not tripped, and taken back when the condition has cleared, twice a week for a port at most.
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

// Owner of the holds that fabricd makes itself.
using policy::kOwnHoldOwner;

class Verdicts {
 public:
  // What was found wrong. The same place may be found wrong by several rules of one type.
  struct Fault {
    std::string type;  // "NoisyTraps"
    PortRef port;      // Port 0: the node. Of a link: its lower end.
    PortRef other;     // The other end of a link; none: it is no link.
    policy::ConditionMode mode = policy::ConditionMode::kRecommend;
    std::string message;
    std::vector<std::pair<std::string, std::string>> evidence;
    Instant since;
  };

  // All must outlive this.
  Verdicts(KnownFabric fabric, const GoneNodes& gone, HoldKeeper& keeper, Effects& effects)
      : fabric_(fabric), gone_(gone), keeper_(keeper), effects_(effects) {}

  // The fabric is known: own holds of a run before wait from now on for a condition that wants them
  // still. Only the first call does anything.
  void Begin(Instant now);
  // Takes back those that none has claimed when any would be clear by now.
  void OnTimer(Instant now);
  Instant NextDeadline() const { return claims_end_; }

  void Raise(Fault fault, Instant now);
  void Clear(const std::string& type, PortRef port, Instant now);
  // What came of a hold that this asked for.
  void OnAnswer(const HoldKeeper::Answer& answer, Instant now);
  // A reload: `enforce` may act again.
  void ResetBreaker();

  // By type, node and port.
  std::vector<policy::Condition> List() const;
  // To be shown: the newest numbers. Nothing happens for what is not raised.
  void Update(const std::string& type, PortRef port, std::string message,
              std::vector<std::pair<std::string, std::string>> evidence);

 private:
  using Key = std::pair<std::string, PortRef>;
  struct Finding {
    Fault fault;
    int causes = 1;  // Rules that have raised it.
    policy::HoldKind recommended = policy::HoldKind::kCordon;
    uint64_t reference = 0;  // Of the hold asked for.
    uint64_t hold = 0;
    std::string held_back;
    bool released = false;  // Cleared while its hold was being made.
  };
  struct Release {
    Instant at;
    PortRef port;
  };

  policy::HoldTarget TargetOf(const Fault& fault) const;
  policy::HoldKind RecommendedFor(const Fault& fault) const;
  bool IsExcluded(const Fault& fault, Instant now) const;
  // Empty: nothing speaks against a hold.
  std::string Objection(const Finding& finding, Instant now);
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
  std::map<uint64_t, Key> asked_;                   // By reference.
  std::optional<std::vector<uint64_t>> inherited_;  // Holds; nullopt: Begin() has not been called.
  Instant claims_end_ = kNever;
  uint64_t next_reference_ = 1;
  std::deque<std::pair<Instant, Guid>> held_systems_;  // Within the breaker's window.
  bool tripped_ = false;
  std::deque<Release> releases_;  // Of a week.
};

}  // namespace fabricd::sweep
