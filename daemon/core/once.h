// SPDX-License-Identifier: Apache-2.0
// OnceWatch: when `fabricd --once` ends, and with which exit code. Pure. It always ends: with the
// subnet up, as standby, after kSweeps heavy sweeps, after kStill without progress, or after
// kLongest.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/time.h"

namespace fabricd::daemon {

class OnceWatch {
 public:
  // The first sweep finds unresponsive devices, the second routes around them.
  static constexpr uint32_t kSweeps = 3;
  static constexpr Duration kStill = std::chrono::seconds(90);  // Longer than a backoff.
  static constexpr Duration kLongest = std::chrono::minutes(30);

  struct Facts {
    bool idle = false;         // Neither sweeping nor programming.
    bool standby = false;      // Another SM is master.
    std::string why_not = {};  // Why this SM does not bring the subnet up; empty: it tries.
    bool subnet_up = false;
    uint32_t sweeps_done = 0;
    std::string progress;  // Changes whenever the sweep makes progress.
  };
  struct End {
    int exit_code = 0;
    std::string why;  // Empty if the operator sees the reason anyway.
  };

  // Call about once a second. nullopt: continue.
  std::optional<End> Judge(Facts facts, Instant now) {
    if (!began_) began_ = moved_ = now;
    if (facts.idle && facts.sweeps_done > 0 && facts.subnet_up) return End{0, ""};
    if (facts.idle && facts.standby) return End{1, "another SM is master"};
    if (facts.idle && facts.sweeps_done > 0 && !facts.why_not.empty())
      return End{1, std::move(facts.why_not)};
    if (facts.idle && facts.sweeps_done >= kSweeps)
      return End{1, "the subnet is not up after " + std::to_string(kSweeps) + " sweeps"};
    if (facts.progress != progress_ || facts.sweeps_done != sweeps_done_) moved_ = now;
    progress_ = std::move(facts.progress);
    sweeps_done_ = facts.sweeps_done;
    if (now - *moved_ >= kStill) return End{1, "the sweep comes no further"};
    if (now - *began_ >= kLongest) return End{1, "the subnet does not come up"};
    return std::nullopt;
  }

 private:
  std::optional<Instant> began_, moved_;
  std::string progress_;
  uint32_t sweeps_done_ = 0;
};

}  // namespace fabricd::daemon
