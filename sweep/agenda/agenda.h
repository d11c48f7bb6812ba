// SPDX-License-Identifier: Apache-2.0
// sweep/agenda: which work is wanted, why and when.
//
// Agenda: the sweeps, retries and reroutes that are wanted but not begun, and when each is due. It
// starts nothing: the core asks it whenever something has ended, and at NextDeadline().
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "sweep/interface/options.h"
#include "sweep/interface/view.h"

namespace fabricd::sweep {

class Agenda {
 public:
  static constexpr uint32_t kMostRetries = 3;  // In a row, before everything is read again.
  // How long a check waits for reported changes to be followed up.
  static constexpr Duration kLongestWait = std::chrono::seconds(1);

  // `options` outlives this; it may be replaced where a heavy sweep starts.
  explicit Agenda(const CoreOptions& options) : options_(options) {}

  // ---- heavy sweeps

  // Starts when current activities have ended. The first reason is kept.
  void WantSweep(std::string why);
  // A heavy sweep without a reported change. Reported changes are followed up first, for at most
  // kLongestWait. Tables are read back when it ends.
  void WantCheck(std::string why, Instant now);
  // The next heavy sweep adopts these.
  void WantOptions(CoreOptions options) { next_options_ = std::move(options); }
  // None is wanted any more: another SM is master.
  void DropSweep() { sweep_.reset(); }
  bool WantsSweep() const { return sweep_.has_value(); }
  // `is_reported`: a change is about to be followed up.
  bool IsSweepDue(bool is_reported, Instant now) const;
  // REQUIRES: WantsSweep(). No reported change depends on this sweep.
  bool IsCheck(Instant now) const { return now < sweep_->waits_until; }
  const std::string& why() const { return sweep_->why; }

  // A heavy sweep starts, for any reason. It replaces all sweeps and retries that were requested.
  void OnSweepStart(bool is_patient);
  std::optional<CoreOptions> TakeOptions() { return std::exchange(next_options_, std::nullopt); }
  // Its requests may wait for all others. Stays so as long as each call says that it `may`.
  bool StaysPatient(bool may);
  // The heavy sweep that ends is one after which all tables are read back. Once.
  bool TakeReadBack() { return std::exchange(reads_back_, false); }

  // ---- reroutes

  // The intent, or what is to be programmed, has changed without a report; the last reason counts.
  void WantReroute(std::string why) { reroute_ = std::move(why); }
  bool WantsReroute() const { return !reroute_.empty(); }
  // A reroute begins, or a larger activity that includes it. Returns the reason.
  std::string TakeReroute() { return std::exchange(reroute_, {}); }

  // ---- deadlines

  // Discovery has read everything: later reads of unread ports start with the shortest interval.
  void OnDiscovered() { unread_wait_ = {}; }
  struct End {
    SweepKind kind = SweepKind::kNone;
    bool failed = false;      // Something was left undone.
    bool is_standby = false;  // This SM programs nothing, so there is nothing to retry.
    bool is_alone = false;    // No other node was found.
    bool has_unread = false;  // Present devices did not return all they were asked for.
  };
  void OnSweepEnd(const End& end, Instant now);
  // The next light sweep is due after the shortest wait, if not before.
  void WantLightSweepSoon(Instant now);
  void WantRetrySoon(Instant now);
  // The retry that is due begins: false: it may not, or there were too many, and a sweep is due.
  bool TakeRetry(bool may);

  Instant next_light() const { return next_light_; }
  Instant next_heavy() const { return next_heavy_; }
  Instant next_retry() const { return next_retry_; }

 private:
  Duration UntilLightSweep(bool has_unread);

  const CoreOptions& options_;
  std::optional<CoreOptions> next_options_;
  struct WantedSweep {
    std::string why;
    Instant waits_until = Instant::min();  // Of a check.
    bool reads_back = false;               // A check is part of it.
  };
  std::optional<WantedSweep> sweep_;
  // Of the heavy sweep under way.
  bool is_patient_ = false;
  bool reads_back_ = false;
  std::string reroute_;  // Why; empty: none is wanted.
  Instant next_light_ = kNever, next_heavy_ = kNever, next_retry_ = kNever;
  Duration retry_wait_{}, unread_wait_{};
  uint32_t retries_ = 0;  // Since the last heavy sweep.
};

}  // namespace fabricd::sweep
