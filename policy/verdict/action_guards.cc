// SPDX-License-Identifier: Apache-2.0
#include "policy/verdict/action_guards.h"

#include <algorithm>

#include "policy/verdict/stored_time.h"

namespace fabricd::policy {
namespace {

// Hosts are cordoned where the configuration does not let them be isolated.
Action MostOf(const ActionOptions& options, const ActionFacts& facts) {
  const bool is_isolated = !facts.is_host_link || options.may_isolate_hosts;
  return is_isolated ? options.configured : std::min(options.configured, Action::kCordon);
}

std::string_view RefusedBy(const LinkVerdict& found, const ActionFacts& facts,
                           const ActionOptions& options, const ActionBreaker& breaker) {
  if (facts.is_excluded) return "excluded by the configuration";
  if (facts.is_blackout) return "telemetry black-out";
  if (facts.has_common_cause) return "common cause";
  if (facts.is_family_frozen) return "device family";
  if (breaker.is_open()) return "breaker";
  if (found.confidence < options.min_confidence) return "confidence";
  if (facts.in_effect >= BudgetOf(options, facts.hosts)) return "budget";
  // A cordon takes no path away. Schedulers place jobs on hosts, not on links between switches.
  if (MostOf(options, facts) == Action::kCordon) return facts.is_host_link ? "" : "trunk link";
  if (facts.is_own_path) return "SM's own path";
  if (facts.is_last_path) return "last path";
  if (facts.is_host_link) return "";
  return facts.is_redundant ? "" : "redundancy";
}

}  // namespace

std::string_view ActionName(Action action) {
  switch (action) {
    case Action::kNone: return "none";
    case Action::kRecommend: return "recommend";
    case Action::kCordon: return "cordon";
    case Action::kIsolate: return "isolate";
  }
  return "?";
}

size_t BudgetOf(const ActionOptions& options, size_t hosts) {
  const double share = static_cast<double>(hosts) * options.budget_share;
  return std::max(options.budget, static_cast<size_t>(share));
}

std::vector<std::string> Check(const ActionOptions& options) {
  std::vector<std::string> faults;
  const auto is_share = [](double share) { return share > 0 && share <= 1; };
  if (options.configured == Action::kNone || options.configured > Action::kIsolate)
    faults.push_back("configured: neither recommend, cordon nor isolate");
  if (!is_share(options.min_confidence)) faults.push_back("min_confidence: not in (0, 1]");
  if (options.budget_share != 0 && !is_share(options.budget_share))
    faults.push_back("budget_share: not in [0, 1]");
  if (!is_share(options.breaker_share)) faults.push_back("breaker_share: not in (0, 1]");
  if (options.breaker_window <= Duration::zero()) faults.push_back("breaker_window: not above 0");
  return faults;
}

void ActionBreaker::Count(Instant now, size_t hosts, const ActionOptions& options) {
  while (!taken_.empty() && now - taken_.front() >= options.breaker_window) taken_.pop_front();
  taken_.push_back(now);
  // A small fabric has 5 % in a single host.
  const size_t most =
      std::max<size_t>(2, static_cast<size_t>(static_cast<double>(hosts) * options.breaker_share));
  if (taken_.size() < most) return;
  is_open_ = true;
  taken_.clear();
}

void ActionBreaker::Reset() {
  is_open_ = false;
  taken_.clear();
}

StoredBreaker ActionBreaker::Export(Instant now, WallMs wall) const {
  StoredBreaker stored{is_open_, {}};
  for (const Instant at : taken_) stored.taken.push_back(ToWall(at, now, wall));
  return stored;
}

void ActionBreaker::Import(const StoredBreaker& stored, Instant now, WallMs wall) {
  is_open_ = stored.is_open;
  taken_.clear();
  for (const WallMs at : stored.taken)
    taken_.push_back(std::min(FromWall(at, now, wall, now), now));
}

ActionDecision Decide(const Standing& standing, const LinkVerdict& found, const ActionFacts& facts,
                      const ActionOptions& options, const ActionBreaker& breaker) {
  if (standing.stage != Stage::kBad || !standing.is_known) return {};
  if (options.configured <= Action::kRecommend) return {options.configured, ""};
  const std::string_view refused_by = RefusedBy(found, facts, options, breaker);
  return {refused_by.empty() ? MostOf(options, facts) : Action::kRecommend, refused_by};
}

}  // namespace fabricd::policy
