// SPDX-License-Identifier: Apache-2.0
// AdaptiveWindow: how many requests may be in flight, depending on responses and losses.
//
// Responses are counted in rounds of about one window. A round that filled the window without a
// loss adds window_growth. A round halves the window when at least two devices, and 1/32 of its
// responses, reveal a loss. A loss is revealed when a suspect device responds, because then the MAD
// was lost and not the device. It counts only if that MAD was sent after the last shrink. So
// unresponsive devices, whether one or a whole subtree, never shrink the window. Overload affects
// devices that do respond, and halves it once per timeout until the losses end.
//
// The size stays between window_floor and window_max. While the caller is patient, at most
// window_patient requests are in flight, so that other traffic does not queue behind a sweep. The
// first timeout ends that, because a few unresponsive devices would fill so small a window.
#pragma once

#include <cstdint>

#include "mad/engine_options.h"

namespace fabricd::mad {

class AdaptiveWindow {
 public:
  // REQUIRES: 1 <= window_floor <= window_max. `options` must outlive this.
  explicit AdaptiveWindow(const EngineOptions& options);

  uint32_t size() const { return size_; }
  // The present limit: the size, or less while the caller is patient.
  uint32_t limit() const;
  // The limit for all suspect devices together: a quarter of the size, but at least half of
  // window_floor, and at least 1. Where MADs are lost at random, every other device is suspect.
  uint32_t suspect_limit() const;
  // How often the window was halved.
  uint64_t shrinks() const { return shrinks_; }

  // True: no request is urgent. Ends with false or with a timeout. Initially false.
  void SetPatient(bool patient);
  // A request has timed out.
  void OnTimeout();
  // More could have been sent than limit() allows.
  void OnFull();
  // A request got a response; `reveals_loss`: SuspectDevices::WouldRevealLoss(); `has_queued`:
  // QueueDelay::Note().
  void OnAnswer(bool reveals_loss, bool has_queued = false);

 private:
  enum class Patience : uint8_t { kNone, kPatient, kLost };
  struct Round {
    uint32_t answers = 0;
    uint32_t losses = 0;
    uint32_t queued = 0;
    bool was_full = false;
  };

  const EngineOptions& options_;
  uint32_t size_;
  uint64_t shrinks_ = 0;
  Patience patience_ = Patience::kNone;
  Round round_;
};

}  // namespace fabricd::mad
