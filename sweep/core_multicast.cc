// SPDX-License-Identifier: Apache-2.0
// What the core does for multicast: trees are made when the tables that they start from have been
// read and the unicast plan is there, and by themselves when only members came or went.
#include <algorithm>
#include <utility>

#include "sweep/core.h"

namespace fabricd::sweep {

ProgrammerInput Core::InputOfProgrammer() {
  return {snapshot_,
          lids_,
          local_,
          first_master_sweep_,
          scope_,
          ++run_,
          remediation_.intent().disabled,
          remediation_.intent().reenabled,
          multicast_.blocks(),
          trees_only_,
          MakeKeyInput(),
          MakeGuidInput()};
}

// Whatever else is under way, or due now, makes trees too.
bool Core::MayMakeTrees() const {
  return multicast_.HasNews() && IsIdleMaster() && MaySurvey() && surveys_.empty() &&
         !programmer_ && !light_ && !wanted_sweep_ && planner_.has_answer();
}

void Core::StartTrees(Instant now) {
  report_.Begin(SweepKind::kTargeted, now, engine_.statistics());
  multicast_.Cancel();
  scope_.emplace();
  trees_only_ = true;
  programmer_ = std::make_unique<Programmer>(InputOfProgrammer(), builder_, devices_, engine_,
                                             problems_, options_);
  programmer_->Start();
  programmer_->SetPlan(planner_.plan());
  // There may be nothing to read, and so no answer that would lead on.
  AdvanceProgramming(now);
}

void Core::AdvanceTrees() {
  if (!programmer_->NeedsTrees() || multicast_.IsAwaited()) return;
  if (multicast_.HasWork(devices_)) {
    multicast_.Ask(planner_.plan(), devices_);
  } else {
    programmer_->SetTrees(nullptr, true);
    programmer_->Feed();
  }
}

void Core::OnTrees(TreesReady ready) {
  const Multicast::SharedTrees trees = multicast_.OnTrees(std::move(ready), *snapshot_, problems_);
  if (!programmer_) return;
  changed_ = true;
  // In one order all packets rise before they fall, whatever tree they are in.
  programmer_->SetTrees(trees, planner_.plan() && multicast_.MayMix(*planner_.plan()));
}

// The rest of the fabric is as it was, and so is what was left undone there.
void Core::FinishTrees(Instant now) {
  const std::unique_ptr<Programmer> done = std::move(programmer_);
  undone_.insert(done->undone().begin(), done->undone().end());
  snapshot_ = builder_.Build();
  remediation_.OnSnapshot(now);
  if (done->failures() > 0) next_retry_ = std::min(next_retry_, now + options_.sweep.retry_min);
  changed_ = true;
  SetPhase(Phase::kIdle);
}

}  // namespace fabricd::sweep
