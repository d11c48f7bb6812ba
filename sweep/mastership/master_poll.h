// SPDX-License-Identifier: Apache-2.0
// MasterPoll: when the SM that this one waits for is asked for its SMInfo, and how many questions
// in a row led to nothing. A standby polls its master; a master polls the lower master that is to
// hand over.
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

  // Ends polling. Answers to earlier polls are ignored.
  void Stop() {
    out_ = false;
    next_ = kNever;
  }
  // Of another SM: the counts begin again.
  void Start(Instant first) {
    missed_ = unchanged_ = 0;
    next_ = first;
  }
  void Schedule(Instant when) { next_ = when; }
  void ScheduleBy(Instant latest) { next_ = std::min(next_, latest); }
  // At next(). Not while a poll is out, or nothing leads to the SM; null: there is none.
  void Send(const RemoteSm* polled, Instant now);
  // A poll has completed.
  void OnCompletion() { out_ = false; }
  // True: so many in a row were not answered that the SM counts as dead.
  bool NoteMissed() { return ++missed_ >= options_.polling_retries; }
  void NoteAnswered() { missed_ = 0; }
  // The SM answers that nothing has changed. True: too often.
  bool NoteUnchanged() { return ++unchanged_ >= kMostUnchanged; }
  Instant next() const { return next_; }

 private:
  // Then the lower master is discovered again: other things may have changed meanwhile.
  static constexpr uint32_t kMostUnchanged = 10;

  const SmOptions& options_;
  const DeviceTable& devices_;
  mad::TransactionEngine& engine_;
  const mad::RequestContext context_;
  uint32_t missed_ = 0;     // In a row.
  uint32_t unchanged_ = 0;  // The same.
  bool out_ = false;
  Instant next_ = kNever;
};

}  // namespace fabricd::sweep
