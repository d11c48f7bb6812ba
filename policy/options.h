// SPDX-License-Identifier: Apache-2.0
// What policy/ is told by the configuration. Plain values; each key is explained in
// config/fabricd.example.yaml, and the choice of its default in docs/HOLDS.md and docs/DAMPING.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/ids.h"
#include "common/time.h"
#include "policy/policy_view.h"

namespace fabricd::policy {

// Route-flap damping in the terms of RFC 2439, for links.
struct DampingOptions {
  bool enabled = true;
  // Each flap, that is each time the link goes down, adds to its penalty, which halves every
  // half-life. At `suppress` the link is kept out of routes, below `reuse` it comes back.
  uint32_t penalty = 1000, suppress = 3000, reuse = 750;
  Duration half_life = std::chrono::minutes(5);
  Duration max_suppress = std::chrono::minutes(30);  // The longest time after the last flap.
  uint32_t max_suppressed = 128;  // Of the whole fabric; beyond it links are only reported.
};

struct HoldOptions {
  uint32_t max_holds = 10'000;
  // So many holds of a kind that takes something away (drain, isolate, disable) may stand before
  // guards refuse: the larger of a number and a share of the end ports.
  uint32_t budget = 10, budget_per_mille = 5;
};

// So many within a window make a condition.
struct RateRule {
  ConditionMode mode = ConditionMode::kRecommend;
  uint32_t threshold = 0;
  Duration window{};
};

struct ConditionOptions {
  ConditionMode link_flapping = ConditionMode::kRecommend;
  RateRule noisy_traps{ConditionMode::kRecommend, 60, std::chrono::seconds(90)};   // 129-131.
  RateRule trap_storm{ConditionMode::kRecommend, 1000, std::chrono::seconds(10)};  // Any trap.
  RateRule unresponsive{ConditionMode::kRecommend, 5, std::chrono::minutes(10)};
  RateRule set_errors{ConditionMode::kRecommend, 5, std::chrono::minutes(10)};
  // `enforce` stops until the next reload or restart when it has held this share of the hosts
  // within this time.
  uint32_t breaker_percent = 5;
  Duration breaker_window = std::chrono::minutes(10);
  uint32_t releases_per_week = 2;  // Automatic ones, of one port.
  struct Exclusion {
    Guid node;
    std::optional<int64_t> until_ms;  // Wall clock, since 1970; none: for ever.
  };
  std::vector<Exclusion> exclude;  // Nodes that no rule holds.
};

// Partitions are not configuration: these are the ways in which they are brought about.
struct PartitionOptions {
  // Switch ports that face hosts drop packets of partitions that the host is not in: those that
  // come from it, those that go to it.
  bool enforce_inbound = true, enforce_outbound = true;
  bool keep_foreign = true;  // P_Keys in tables that fabricd never gave.
  // An isolated port stays a limited member of the default partition.
  bool isolated_in_default = true;
};

struct PolicyOptions {
  DampingOptions damping;
  HoldOptions holds;
  ConditionOptions conditions;
  PartitionOptions partitions;
};

}  // namespace fabricd::policy
