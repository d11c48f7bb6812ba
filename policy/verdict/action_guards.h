// SPDX-License-Identifier: Apache-2.0
// Action guards: what may follow from a bad verdict. By default it is only recommended; whatever
// else is configured has to pass every guard, and the first that refuses is named.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string_view>

#include "common/time.h"
#include "policy/evidence.h"
#include "policy/verdict/verdict_book.h"

namespace fabricd::policy {

enum class Action : uint8_t { kNone, kRecommend, kCordon, kIsolate };
std::string_view ActionName(Action action);  // "cordon"

struct ActionOptions {
  Action configured = Action::kRecommend;
  double min_confidence = 0.7;
  size_t budget = 10;           // Actions that are in effect: the larger of a number
  double budget_share = 0.005;  // and a share of the hosts.
  double breaker_share = 0.05;  // So many hosts within the window: no more actions
  Duration breaker_window = std::chrono::minutes(10);  // until an operator resets the breaker.
  bool may_isolate_hosts = false;
};
std::vector<std::string> Check(const ActionOptions& options);

// What the rest of fabricd knows of the link.
struct ActionFacts {
  bool is_host_link = true;
  bool is_last_path = false;      // Something would lose its last path.
  bool is_own_path = false;       // Of the SM to the subnet.
  bool is_redundant = false;      // A trunk link that leaves enough uplinks.
  bool is_family_frozen = false;  // fleet.h: many of its kind crossed a limit at once.
  bool is_excluded = false;       // By the configuration.
  bool has_common_cause = false;  // fleet.h: the finding is on something else.
  bool is_blackout = false;       // fleet.h: too much is stale.
  size_t in_effect = 0;           // Actions of all links.
  size_t hosts = 0;
};

struct ActionDecision {
  Action action = Action::kNone;
  std::string_view refused_by;  // The guard; empty: none. Then it is only recommended.
};

// The larger of ActionOptions::budget and its share of the hosts.
size_t BudgetOf(const ActionOptions& options, size_t hosts);

// As the store keeps the breaker: wall clock.
struct StoredBreaker {
  bool is_open = false;
  std::vector<WallMs> taken;  // The actions within the window, the oldest first.
  friend bool operator==(const StoredBreaker&, const StoredBreaker&) = default;
};

// Opens when actions were taken against too many hosts within a short time: then the cause is
// likely to be something else.
class ActionBreaker {
 public:
  // An action was taken.
  void Count(Instant now, size_t hosts, const ActionOptions& options);
  bool is_open() const { return is_open_; }
  void Reset();  // By an operator.

  // `wall` is `now` on the wall clock.
  StoredBreaker Export(Instant now, WallMs wall) const;
  void Import(const StoredBreaker& stored, Instant now, WallMs wall);

 private:
  std::deque<Instant> taken_;
  bool is_open_ = false;
};

ActionDecision Decide(const Standing& standing, const LinkVerdict& found, const ActionFacts& facts,
                      const ActionOptions& options, const ActionBreaker& breaker);

}  // namespace fabricd::policy
