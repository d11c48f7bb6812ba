// SPDX-License-Identifier: Apache-2.0
// ResetEvents: counters that began again, as events. A tool that clears all counters of a fabric
// must not flood the event log: of a minute the first kEach ports have an event each, and the
// others one together. One thread.
#pragma once

#include <memory>
#include <vector>

#include "fabric/event.h"
#include "fabric/snapshot.h"
#include "telemetry/collector.h"

namespace fabricd::daemon {

class ResetEvents {
 public:
  static constexpr size_t kEach = 10;

  // Events of type CountersReset. Call it without epochs now and then: it ends the minute.
  std::vector<fabric::FabricEvent> Take(const std::vector<telemetry::EpochStarted>& epochs,
                                        const fabric::FabricSnapshot& snapshot, Instant now);

 private:
  Instant minute_ends_{};
  size_t in_minute_ = 0;
};

}  // namespace fabricd::daemon
