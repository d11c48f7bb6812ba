// SPDX-License-Identifier: Apache-2.0
// fabricctl's verbs about the daemon's place among the subnet managers of its subnet.
#pragma once

#include <string>

#include "cli/verbs/globals.h"

namespace fabricd::cli {

struct SmOptions {
  bool dry_run = false;
  std::string reason;      // Kept in the audit log.
  std::string request_id;  // Of StepDown.
};

// Hands the subnet to the best standby, and waits until that one has it. kRefused: this is not the
// master, or nobody can take over; kFailure: who should have has not.
Result StepDown(Client& client, const Globals& globals, const SmOptions& options);
// Gives the daemon another priority. `priority` is 0-15.
Result SetPriority(Client& client, const Globals& globals, uint32_t priority,
                   const SmOptions& options);

}  // namespace fabricd::cli
