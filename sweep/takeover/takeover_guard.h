// SPDX-License-Identifier: Apache-2.0
// TakeoverGuard: decides whether a new master may write. Before the first Set of a mastership it
// compares what the fabric runs with what this SM would write. If that is a risky change
// (TakeoverRisk) of something that this SM has not written itself, nothing is written until an
// operator accepts the report. What the store vouches for never stops: a restart, a power failure,
// or the return of this SM to its own fabric needs no operator. Nor does its return soon after
// another SM has outvoted it (TakeoverOptions::return_within), or that of one with the same state.
//
// Accepted changes, and the settings with which this SM has been master, are made durable. Owned by
// Activities; decides, and sends nothing.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "policy/hold.h"
#include "sweep/interface/questions.h"
#include "sweep/plan/lid_manager.h"
#include "sweep/takeover/fabric_compare.h"

namespace fabricd::sweep {

class TakeoverGuard {
 public:
  // References must outlive this. `record` is durable.
  TakeoverGuard(const CoreOptions& options, OpenQuestions& questions, TakeoverRecord record);

  // This SM has read the fabric as one that waits for another master: if nearly all of it has
  // responded, what does not respond at a later takeover is known, and has failed.
  void OnReadAsStandby(const fabric::FabricSnapshot& snapshot);
  // This SM has become master: the next Decide() decides.
  void OnBecameMaster() { stage_ = Stage::kArmed; }
  // A sweep as master has succeeded, and this SM has a neighbour. `routes_by_options`: the tables
  // are by the options in force.
  void OnSwept(policy::WallMs now, bool routes_by_options);
  // This SM is no longer master, or still is not. `on_purpose`: an operator has given the subnet
  // away.
  void OnNotMaster(bool on_purpose);
  // The LID of the port from which the subnet was managed last with this durable state; 0: unknown.
  Lid PredecessorLid(const LidManager& lids) const {
    return record_.sm_ports.empty() ? Lid() : lids.RecordedLid(record_.sm_ports.back());
  }
  // The tables were written with this durable state, by the options in force: every switch that
  // forwards names a LID as its master from which the subnet was managed with it.
  bool OwnsTables(const LidManager& lids, const fabric::FabricSnapshot& snapshot) const {
    return WhoseTables(lids, snapshot) == Tables::kOwn;
  }
  // False: Decide() has let it write since this SM became master, or it is not master.
  bool IsArmed() const { return stage_ == Stage::kArmed || is_held(); }

  enum class Verdict : uint8_t {
    kStop,      // This SM must not write.
    kGo,        // It may: the guard is passed, and the settings in force are made durable.
    kTakeBack,  // The same, although another SM has changed what would be a risk.
  };
  // REQUIRES: IsArmed().
  [[nodiscard]] Verdict Decide(const DesiredState& desired, const AppliedState& applied,
                               const LidManager& lids, Guid own_port, policy::WallMs now);
  bool is_held() const { return stage_ == Stage::kHeld; }
  // The durable record does not have this port yet, and is being stored: what is written before
  // that would pass for another SM's after a crash.
  bool AwaitsRecord() const { return stage_ == Stage::kStoring; }

  // The report about the fabric as it was just read. Kept as report().
  const TakeoverReport& MakeReport(const DesiredState& desired, const AppliedState& applied,
                                   const LidManager& lids, const fabric::MulticastGroups& groups);
  const SharedTakeoverReport& report() const { return report_; }

  // Accepts each change of the report. OK: they are being stored, and OnStored() returns `command`.
  // kFailedPrecondition: nothing is held. kNotFound: the report has another id.
  absl::Status Accept(const std::string& id, uint64_t command);
  // The answer to PersistTakeover. Returns the commands whose acceptance was stored, or not. If it
  // was, the caller sweeps, and the takeover continues unless the fabric differs by more by now.
  std::vector<uint64_t> OnStored(const absl::Status& status);
  // Stores again what could not be stored.
  void StoreAgain() {
    if (is_owed_) Persist();
  }

 private:
  enum class Stage : uint8_t {
    kAway,     // This SM is not master.
    kPassed,   // It is, and may write.
    kArmed,    // Decide() is next.
    kHeld,     // It did not let this SM write, and decides again.
    kStoring,  // It did, once the record is stored.
  };
  enum class Tables : uint8_t { kNone, kOwn, kOthers };  // kNone: no switch forwards.
  struct Acceptance {
    std::vector<std::string> changes;
    std::vector<uint64_t> commands;
  };

  // Each of the changes was accepted, be it with others or as a rest of what was accepted: so a
  // restart in the middle of a takeover needs no operator.
  bool IsAccepted(const std::vector<TakeoverChange>& risks) const;
  Tables WhoseTables(const LidManager& lids, const fabric::FabricSnapshot& snapshot) const;
  bool MayTakeBack(policy::WallMs now) const;
  void NoteMastership(Guid own_port, Tables tables, const std::vector<TakeoverChange>& risks);
  void Persist();
  CompareInput InputFor(const DesiredState& desired, const AppliedState& applied,
                        const std::vector<Lid>& own_lids) const;
  std::vector<Lid> OwnLids(const LidManager& lids) const;

  const CoreOptions& options_;
  OpenQuestions& questions_;
  TakeoverRecord record_;           // In force.
  std::vector<Guid> stored_ports_;  // record_.sm_ports as they are durable.
  Acceptance accepting_;            // In force when it is durable.
  bool is_owed_ = false;            // record_ could not be stored.
  bool has_seen_fabric_ = false;    // OnReadAsStandby().
  Stage stage_ = Stage::kAway;
  std::optional<policy::WallMs> swept_;  // OnSwept(), of this mastership.
  SharedTakeoverReport report_;
};

}  // namespace fabricd::sweep
