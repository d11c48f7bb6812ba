// SPDX-License-Identifier: Apache-2.0
// ReportMaker: the cost of one sweep, as the difference of the engine's counters before and after
// it.
#pragma once

#include "common/time.h"
#include "mad/transaction_engine.h"
#include "sweep/interface/view.h"

namespace fabricd::sweep {

class ReportMaker {
 public:
  void Begin(SweepKind kind, Instant now, const mad::EngineStatistics& statistics);
  Duration Elapsed(Instant now) const { return now - start_; }  // Since the last Begin().
  SweepKind kind() const { return kind_; }                      // Of the last Begin().
  // REQUIRES: Begin() was called.
  SweepReport Finish(Instant now, const mad::EngineStatistics& statistics) const;

 private:
  SweepKind kind_ = SweepKind::kNone;
  Instant start_{};
  mad::EngineStatistics before_;
};

}  // namespace fabricd::sweep
