// SPDX-License-Identifier: Apache-2.0
// PriorityNotice: tells the master by trap 144 that this standby's priority has changed (IBA vol 1
// §14.2.5.1). Once: a master that misses it reads the priority with its next light sweep.
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

  // Reads the SM's own port first: its LIDs are the master's to give, and were perhaps given after
  // this SM's discovery. None: nothing is sent.
  void Begin(PortRef own);
  // The same, at most every 10 s.
  void BeginSeldom(PortRef own, Instant now);
  // The trap, once the port was read. nullopt: it has no LID, or no master.
  std::optional<mad::OutgoingMad> Finish(const mad::Completion& own_port);

 private:
  const DeviceTable& devices_;
  mad::TransactionEngine& engine_;
  const mad::RequestContext context_;
  Instant next_ = Instant::min();
  uint32_t last_id_ = 0;  // Transaction id of the last trap.
};

}  // namespace fabricd::sweep
