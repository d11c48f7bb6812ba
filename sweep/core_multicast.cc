// SPDX-License-Identifier: Apache-2.0
// What the core does for multicast: trees are made when the tables that they start from have been
// read and the unicast plan is there, and by themselves when only members came or went.
#include <algorithm>
#include <utility>

#include "sweep/core.h"

namespace fabricd::sweep {

ProgrammerInput Core::InputOfProgrammer(bool trees_only) {
  const DesiredState& desired =
      desired_.Update({observed_.snapshot(), lids_.table(), remediation_.intent(),
                       partitions_.index(), partitions_.generation(), options_.policy.partitions,
                       nullptr, observed_.local(), /*reregister_all=*/false, multicast_.blocks()});
  ProgrammerInput input{desired, {}, ++run_, trees_only};
  if (trees_only)
    input.scope.nodes.emplace();
  else
    input.scope = desired_.pending().ScopeFor(desired);
  return input;
}

// Whatever else is under way, or due now, makes trees too.
bool Core::MayMakeTrees() const {
  return multicast_.HasNews() && IsIdleMaster() && MaySurvey() && surveys_.empty() &&
         !programmer_ && !light_ && !agenda_.WantsSweep() && planner_.has_answer();
}

void Core::StartTrees(Instant now) {
  journal_.BeginSweep(SweepKind::kTargeted, now);
  multicast_.Cancel();
  programmer_ =
      std::make_unique<Programmer>(InputOfProgrammer(/*trees_only=*/true), observed_.builder(),
                                   devices_, engine_, problems_, options_);
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
  const Multicast::SharedTrees trees =
      multicast_.OnTrees(std::move(ready), *observed_.snapshot(), problems_);
  if (!programmer_) return;
  view_.MarkChanged();
  // In one order all packets rise before they fall, whatever tree they are in.
  programmer_->SetTrees(trees, planner_.plan() && multicast_.MayMix(*planner_.plan()));
}

// The rest of the fabric is as it was, and so is what was left undone there.
void Core::FinishTrees(Instant now) {
  const std::unique_ptr<Programmer> done = std::move(programmer_);
  desired_.pending().Mark(done->undone());
  observed_.Rebuild();
  remediation_.OnSnapshot(now);
  if (done->failures() > 0) agenda_.WantRetrySoon(now);
  view_.MarkChanged();
  SetPhase(Phase::kIdle);
}

}  // namespace fabricd::sweep
