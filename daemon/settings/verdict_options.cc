// SPDX-License-Identifier: Apache-2.0
#include "daemon/settings/verdict_options.h"

#include <fmt/format.h>

#include "common/status.h"
#include "config/exclusion.h"
#include "policy/verdict/limits_text.h"

namespace fabricd::daemon {
namespace {

policy::Action ActionOf(const std::string& word) {
  if (word == "cordon") return policy::Action::kCordon;
  return word == "isolate" ? policy::Action::kIsolate : policy::Action::kRecommend;
}

VerdictOptions Convert(const config::Config& config, std::vector<config::Fault>& faults) {
  const config::Verdicts& verdicts = config.verdicts;
  VerdictOptions options;
  options.enabled = verdicts.enabled;
  options.interval = verdicts.interval;
  policy::AssessorOptions& assessor = options.assessor;
  for (size_t i = 0; i < verdicts.limits.size(); ++i) {
    const absl::Status applied = policy::ApplyLimit(verdicts.limits[i], assessor.limits);
    if (!applied.ok())
      faults.push_back({fmt::format("verdicts.limits[{}]", i), 0, Message(applied)});
  }
  assessor.clocks.clean = verdicts.clean_time;
  assessor.clocks.max_clean = verdicts.max_clean_time;
  assessor.clocks.releases_per_week = verdicts.releases_per_week;
  for (const std::string& fault : policy::Check(assessor))
    faults.push_back({"verdicts.limits", 0, fault});
  options.responder.hold_ttl = verdicts.hold_ttl;
  policy::ActionOptions& actions = options.responder.actions;
  actions.configured = ActionOf(verdicts.action);
  actions.min_confidence = verdicts.min_confidence_percent / 100.0;
  actions.budget = verdicts.budget;
  actions.budget_share = verdicts.budget_per_mille / 1000.0;
  actions.breaker_share = verdicts.breaker_percent / 100.0;
  actions.breaker_window = verdicts.breaker_window;
  actions.may_isolate_hosts = verdicts.isolate_hosts;
  for (const std::string& text : config.conditions.exclude)
    if (const auto exclusion = config::ParseExclusion(text))
      options.exclude.push_back({exclusion->node, exclusion->until_ms});
  return options;
}

}  // namespace

absl::StatusOr<VerdictOptions> ToVerdictOptions(const config::Config& config) {
  std::vector<config::Fault> faults;
  VerdictOptions options = Convert(config, faults);
  if (faults.empty()) return options;
  std::string text;
  for (const config::Fault& fault : faults)
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", fault.path, fault.message);
  return InvalidArgument("{}", text);
}

std::vector<config::Fault> CheckVerdicts(const config::Config& config) {
  std::vector<config::Fault> faults;
  Convert(config, faults);
  return faults;
}

}  // namespace fabricd::daemon
