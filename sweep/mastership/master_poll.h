// SPDX-License-Identifier: Apache-2.0
// MasterPoll: schedules the SMInfo polls of the SM that this one waits for, and counts polls
// without result. A standby polls its master. A master polls a lower master that must hand over.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/time.h"
#include "mad/transaction_engine.h"
#include "sweep/device/device_table.h"
#include "sweep/interface/options.h"
#include "sweep/interface/view.h"

namespace fabricd::sweep {

class MasterPoll {
 public:
  // References must outlive this; `options` may change.
  MasterPoll(const SmOptions& options, const DeviceTable& devices, mad::TransactionEngine& engine,
             mad::RequestContext context)
      : options_(options), devices_(devices), engine_(engine), context_(context) {}

  // Stops polling. Responses to earlier polls are ignored.
  void Stop() {
    out_ = false;
    next_ = kNever;
  }
  // Starts to poll another SM: resets the counts.
  void Start(Instant first) {
    missed_ = unchanged_ = 0;
    next_ = first;
  }
  void Schedule(Instant when) { next_ = when; }
  void ScheduleBy(Instant latest) { next_ = std::min(next_, latest); }
  // Call at next(). Sends no poll while one is out or the SM cannot be reached. `polled` null: no
  // SM.
  void Send(const RemoteSm* polled, Instant now);
  // A poll has completed.
  void OnCompletion() { out_ = false; }
  // True: so many polls in a row failed that the SM counts as unresponsive.
  bool NoteMissed() { return ++missed_ >= options_.polling_retries; }
  void NoteAnswered() { missed_ = 0; }
  // The SM responds that nothing has changed. True: this was too often.
  bool NoteUnchanged() { return ++unchanged_ >= kMostUnchanged; }
  // The SM did not respond to a handover. True: so many in a row were lost that this SM stays
  // master.
  bool NoteLostHandover() { return ++lost_handovers_ > kMostLostHandovers; }
  void ForgetLostHandovers() { lost_handovers_ = 0; }
  Instant next() const { return next_; }

 private:
  // After so many polls the lower master is discovered again, because something else may have
  // changed.
  static constexpr uint32_t kMostUnchanged = 10;
  static constexpr uint32_t kMostLostHandovers = 3;

  const SmOptions& options_;
  const DeviceTable& devices_;
  mad::TransactionEngine& engine_;
  const mad::RequestContext context_;
  uint32_t missed_ = 0;          // In a row.
  uint32_t unchanged_ = 0;       // In a row.
  uint32_t lost_handovers_ = 0;  // In a row.
  bool out_ = false;
  Instant next_ = kNever;
};

}  // namespace fabricd::sweep
