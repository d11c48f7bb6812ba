// SPDX-License-Identifier: Apache-2.0
// TakeoverGuard: decides whether a new master may write. Before the first Set of a mastership it
// compares what the fabric runs with what this SM would write. If that is a risky change
// (TakeoverRisk) of something that this SM has not written itself, nothing is written until an
// operator accepts the report. What the store vouches for never stops: a restart, a power failure,
// or the return of this SM to its own fabric needs no operator.
//
// Accepted reports, and the settings with which this SM has been master, are made durable. Owned by
// Activities; decides, and sends nothing.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sweep/interface/questions.h"
#include "sweep/plan/lid_manager.h"
#include "sweep/takeover/fabric_compare.h"

namespace fabricd::sweep {

class TakeoverGuard {
 public:
  // References must outlive this. `record` is durable.
  TakeoverGuard(const CoreOptions& options, OpenQuestions& questions, TakeoverRecord record);

  // This SM has become master: the next Stops() decides.
  void OnBecameMaster() { is_armed_ = true; }
  // This SM is no longer master.
  void OnNoLongerMaster() { is_armed_ = is_held_ = false; }
  // False: Stops() has let it write since this SM became master.
  bool IsArmed() const { return is_armed_; }

  // Returns whether this SM must not write. If it may, the guard is passed, and the settings in
  // force are made durable. REQUIRES: IsArmed().
  [[nodiscard]] bool Stops(const DesiredState& desired, const AppliedState& applied,
                           const LidManager& lids, Guid own_port);
  bool is_held() const { return is_held_; }

  // The report about the fabric as it was just read. Kept as report().
  const TakeoverReport& MakeReport(const DesiredState& desired, const AppliedState& applied,
                                   const LidManager& lids, const fabric::MulticastGroups& groups);
  const SharedTakeoverReport& report() const { return report_; }

  // kFailedPrecondition: nothing is held. kNotFound: the report has another id. OK: the caller
  // sweeps, and the takeover continues if the fabric still differs by the same changes.
  absl::Status Accept(const std::string& id);

 private:
  bool IsAccepted(const std::string& id) const;
  void NoteMastership(Guid own_port);
  void Persist(TakeoverRecord record);
  std::vector<Lid> OwnLids(const LidManager& lids) const;

  const CoreOptions& options_;
  OpenQuestions& questions_;
  TakeoverRecord record_;
  bool is_armed_ = false, is_held_ = false;
  SharedTakeoverReport report_;
};

}  // namespace fabricd::sweep
