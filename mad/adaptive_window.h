// SPDX-License-Identifier: Apache-2.0
// AdaptiveWindow: how many requests may be in flight, by what the answers show.
//
// Answers are counted in rounds of about one window. A round without a loss that filled the window
// adds window_growth. A round halves the window when at least two devices, and 1/32 of its answers,
// reveal a loss. A loss is revealed when a suspect device answers: then the MAD was lost, not the
// device; and it counts only if that MAD left after the last shrink. Hence unresponsive devices, be
// it one or a whole subtree, never shrink the window, while overload, which hits devices that do
// answer, halves it once per timeout until the losses end.
//
// The size stays between window_floor and window_max. While the caller is patient at most
// window_patient requests are in flight: whatever else the wire carries does not queue behind a
// sweep. The first timeout ends that: a few unresponsive devices would have all of so few places.
#pragma once

#include <cstdint>

#include "mad/engine_options.h"

namespace fabricd::mad {

class AdaptiveWindow {
 public:
  // REQUIRES: 1 <= window_floor <= window_max. `options` must outlive this.
  explicit AdaptiveWindow(const EngineOptions& options);

  uint32_t size() const { return size_; }
  // What may be in flight now: the size, or less while the caller is patient.
  uint32_t limit() const;
  // What all suspect devices together may have in flight: a quarter of the size, at least half of
  // window_floor (and 1). Where MADs are lost at random, every other device is suspect.
  uint32_t suspect_limit() const;
  // How often it was halved.
  uint64_t shrinks() const { return shrinks_; }

  // Whether nothing that is requested is urgent, until false or a timeout ends it. False at first.
  void SetPatient(bool patient);
  // A request has timed out.
  void OnTimeout();
  // More could have been sent than limit() allows.
  void OnFull();
  // A request was answered; `reveals_loss`: SuspectDevices::WouldRevealLoss().
  void OnAnswer(bool reveals_loss);

 private:
  enum class Patience : uint8_t { kNone, kPatient, kLost };
  struct Round {
    uint32_t answers = 0;
    uint32_t losses = 0;
    bool was_full = false;
  };

  const EngineOptions& options_;
  uint32_t size_;
  uint64_t shrinks_ = 0;
  Patience patience_ = Patience::kNone;
  Round round_;
};

}  // namespace fabricd::mad
