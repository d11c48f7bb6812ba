// SPDX-License-Identifier: Apache-2.0
// PriorityNotice: notifies the master by trap 144 that the priority of this standby has changed
// (IBA vol 1 §14.2.5.1). Sent once: a master that misses it reads the priority with its next light
// sweep.
#pragma once

#include <cstdint>
#include <optional>

#include "common/time.h"
#include "mad/transaction_engine.h"
#include "sweep/device/device_table.h"

namespace fabricd::sweep {

class PriorityNotice {
 public:
  // Both must outlive this.
  PriorityNotice(const DeviceTable& devices, mad::TransactionEngine& engine,
                 mad::RequestContext context)
      : devices_(devices), engine_(engine), context_(context) {}

  // Reads the SM's own port first, because the master assigns its LIDs, perhaps after this SM's
  // discovery. `own` none: nothing is sent.
  void Begin(PortRef own);
  // The same, at most every 10 s.
  void BeginSeldom(PortRef own, Instant now);
  // Returns the trap after the port was read. nullopt: the port has no LID, or no master.
  std::optional<mad::OutgoingMad> Finish(const mad::Completion& own_port);

 private:
  const DeviceTable& devices_;
  mad::TransactionEngine& engine_;
  const mad::RequestContext context_;
  Instant next_ = Instant::min();
  uint32_t last_id_ = 0;  // Transaction id of the last trap.
};

}  // namespace fabricd::sweep
