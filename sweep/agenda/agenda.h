// SPDX-License-Identifier: Apache-2.0
// sweep/agenda: the work that is due, with its reason and deadline.
//
// Agenda: the sweeps, retries and reroutes that are requested but not begun, and when each is due.
// It starts nothing. The core queries it whenever an activity has ended, and at NextDeadline().
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
  static constexpr uint32_t kMostRetries = 3;  // In a row; then a heavy sweep is due.
  // How long a check waits until reported changes have been followed up.
  static constexpr Duration kLongestWait = std::chrono::seconds(1);

  // `options` must outlive this. It may be replaced when a heavy sweep starts.
  explicit Agenda(const CoreOptions& options) : options_(options) {}

  // ---- heavy sweeps

  // The sweep starts when the current activities have ended. The first reason is kept.
  void WantSweep(std::string why);
  // Requests a heavy sweep without a reported change. Reported changes are followed up first, for
  // at most kLongestWait. When the sweep ends, tables are read back.
  void WantCheck(std::string why, Instant now);
  // The next heavy sweep adopts these options.
  void WantOptions(CoreOptions options) { next_options_ = std::move(options); }
  // Withdraws the request: another SM is master.
  void DropSweep() {
    sweep_.reset();
    reads_back_ = false;
  }
  bool WantsSweep() const { return sweep_.has_value(); }
  // `is_reported`: a change is about to be followed up.
  bool IsSweepDue(bool is_reported, Instant now) const;
  // True: the sweep is a check on which no reported change depends. REQUIRES: WantsSweep().
  bool IsCheck(Instant now) const { return now < sweep_->waits_until; }
  const std::string& why() const { return sweep_->why; }

  // A heavy sweep starts, for any reason. It replaces all sweeps and retries that were requested.
  void OnSweepStart(bool is_patient);
  std::optional<CoreOptions> TakeOptions() { return std::exchange(next_options_, std::nullopt); }
  // Whether requests of the sweep under way may yield to all others. Once a call passes false, it
  // stays false for this sweep.
  bool StaysPatient(bool may);
  // A heavy sweep has interrupted a read-back of all tables. It is done after that sweep.
  void ReadBackAgain() { reads_back_ = true; }
  // Returns whether all tables are read back after the heavy sweep that ends. Resets it.
  bool TakeReadBack() { return std::exchange(reads_back_, false); }

  // ---- reroutes

  // The intent or the desired state has changed without a report. The last reason is kept.
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
    bool has_unread = false;  // Some present devices did not return everything that was requested.
  };
  void OnSweepEnd(const End& end, Instant now);
  // The next light sweep is due after the shortest wait or earlier.
  void WantLightSweepSoon(Instant now);
  void WantRetrySoon(Instant now);
  // An SM that only watches sweeps next at this time.
  void WatchAgain(Instant when) { next_heavy_ = std::min(next_heavy_, when); }
  // The retry is due. Returns false if it must not begin or there were too many: then a heavy sweep
  // is due.
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
    Instant waits_until = Instant::min();  // Set for a check only.
    bool reads_back = false;               // At least one check asked for this sweep.
  };
  std::optional<WantedSweep> sweep_;
  bool is_patient_ = false;  // The heavy sweep under way.
  bool reads_back_ = false;  // Tables are, when a heavy sweep ends.
  std::string reroute_;      // The reason; empty: none is requested.
  Instant next_light_ = kNever, next_heavy_ = kNever, next_retry_ = kNever;
  Duration retry_wait_{}, unread_wait_{};
  uint32_t retries_ = 0;  // Since the last heavy sweep.
};

}  // namespace fabricd::sweep
