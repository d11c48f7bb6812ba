// SPDX-License-Identifier: Apache-2.0
// fabricctl's verbs about the daemon's place among the subnet managers of its subnet.
#pragma once

#include <string>

#include "cli/verbs/globals.h"

namespace fabricd::cli {

struct SmOptions {
  bool dry_run = false;
  std::string reason;        // Kept in the audit log.
  std::string request_id;    // Of StepDown.
  bool for_upgrade = false;  // The same.
};

// Hands the subnet to the best standby, and waits until that one has it. kRefused: this is not the
// master, or nobody can take over; kFailure: who should have has not.
Result StepDown(Client& client, const Globals& globals, const SmOptions& options);
// Gives the daemon another priority. `priority` is 0-15.
Result SetPriority(Client& client, const Globals& globals, uint32_t priority,
                   const SmOptions& options);

// ---- taking over a fabric that another subnet manager has configured

// Shows what the daemon would change. kRefused: it has no report. The result is kFailure if the
// takeover is held, so that a script notices.
Result TakeoverPlan(Client& client, const Globals& globals);
// Lets the held takeover go on. kRefused: nothing is held, or the daemon only reads; kFailure: the
// report has another id by now.
Result TakeoverAccept(Client& client, const Globals& globals, const std::string& id,
                      const std::string& reason);

}  // namespace fabricd::cli
