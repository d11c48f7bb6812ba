// SPDX-License-Identifier: Apache-2.0
// AssessingSource: the verdicts of policy::Assessor with its defaults, by evidence that telemetry
// makes of each view, and what would follow of them where hosts are cordoned by themselves, with
// all guards. Verdicts that name a culprit are actionable; SUSPECT, VICTIM and UNKNOWN inform, and
// so does what has a common cause.
#pragma once

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "fabric/hosts.h"
#include "policy/verdict/action_guards.h"
#include "policy/verdict/assessor.h"
#include "sim/verdicts/verdict_source.h"

namespace fabricd::sim {

class AssessingSource : public VerdictSource {
 public:
  AssessingSource() : assessor_({}) { options_.configured = policy::Action::kCordon; }
  void OnTables(const fabric::FabricSnapshot& snapshot, const routing::RoutingPlan& plan) override;
  Looked Look(const telemetry::TelemetryView& view, Instant now) override;
  void OnRestart(Instant now) override { assessor_.book().OnFailover(now); }

 private:
  using Ends = std::pair<policy::HeldPort, policy::HeldPort>;  // `a` and `b` of the evidence.
  // One link of the fabric that is looked at.
  struct Examined {
    const Ends& ends;
    const policy::Assessment& of;
  };
  std::vector<policy::CongestionTree> Trees(const telemetry::TelemetryView& view) const;
  policy::ActionDecision Act(const Examined& examined, const telemetry::TelemetryView& view,
                             const fabric::HostTable& hosts, Instant now);
  void Release(std::span<const policy::Assessment> assessed);
  void AddRemembered(std::map<policy::LinkKey, Concluded> remembered, Looked& looked);
  std::vector<CommonCauseFound> Findings(const telemetry::TelemetryView& view) const;

  // Of the last OnTables(): used only in the Look() that follows it.
  const fabric::FabricSnapshot* snapshot_ = nullptr;
  const routing::RoutingPlan* plan_ = nullptr;
  policy::Assessor assessor_;
  policy::ActionOptions options_;
  policy::ActionBreaker breaker_;
  std::map<policy::LinkKey, HeldHost> held_;
  // Actionable verdicts. They stand while nothing is known of their links too: in a black-out, or
  // while an end is not in the fabric.
  std::map<policy::LinkKey, Concluded> standing_;
};

}  // namespace fabricd::sim
