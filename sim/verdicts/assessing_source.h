// SPDX-License-Identifier: Apache-2.0
// AssessingSource: the verdicts of policy::Assessor with its defaults, by evidence that telemetry
// makes of each view, and what would follow of them where hosts are cordoned by themselves, with
// all guards. Verdicts that name a culprit are actionable; SUSPECT, VICTIM and UNKNOWN inform, and
// so does what has a common cause.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "fabric/hosts.h"
#include "policy/verdict/action_guards.h"
#include "policy/verdict/assessor.h"
#include "sim/verdicts/verdict_source.h"

namespace fabricd::sim {

class AssessingSource : public VerdictSource {
 public:
  AssessingSource() : assessor_({}) { options_.configured = policy::Action::kCordon; }
  Looked Look(const telemetry::TelemetryView& view, Instant now) override;
  void OnRestart(Instant now) override { assessor_.book().OnFailover(now); }

 private:
  // One link of the fabric that is looked at.
  struct Examined {
    const policy::LinkEvidence& link;
    const policy::Assessment& of;
  };
  Concluded Conclude(const Examined& examined);
  policy::ActionDecision Act(const Examined& examined, const telemetry::TelemetryView& view,
                             const fabric::HostTable& hosts, Instant now);
  void Release(std::span<const policy::Assessment> assessed);
  std::vector<CommonCauseFound> Findings(const telemetry::TelemetryView& view) const;

  policy::Assessor assessor_;
  policy::ActionOptions options_;
  policy::ActionBreaker breaker_;
  // Of links with a bad verdict: whom it accused when it was last found, and not only remembered.
  std::map<policy::LinkKey, policy::Attribution> accused_;
  std::map<policy::LinkKey, HeldHost> held_;
};

}  // namespace fabricd::sim
