// SPDX-License-Identifier: Apache-2.0
// EngineOptions: the limits, timeouts and retries of a TransactionEngine.
#pragma once

#include <cstdint>

#include "common/time.h"

namespace fabricd::mad {

struct EngineOptions {
  uint32_t first_transaction_id = 1;  // The telemetry bit (transactions.h) is ignored.
  uint32_t window_initial = 32;
  uint32_t window_max = 128;  // As deep as the kernel's default send queue of a MAD QP.
  uint32_t window_floor = 8;
  uint32_t window_growth = 4;
  uint32_t window_patient = 8;  // See AdaptiveWindow::SetPatient().
  // Nothing is known of the fabric: the window starts with at most window_first, and a device gets
  // one request at a time until it has answered device_trial of them.
  bool first_contact = false;
  uint32_t window_first = 8;
  uint32_t device_trial = 8;
  // The window does not grow while most responses come later than this after twice the fastest
  // one over as many hops (QueueDelay). Zero: however late they come.
  Duration queue_delay{};
  uint32_t device_limit = 2;
  uint32_t subtree_limit = 64;
  // Attempt n waits first_timeout * timeout_factor^(n-1), at most timeout_cap.
  Duration first_timeout = std::chrono::milliseconds(200);
  double timeout_factor = 1.5;
  Duration timeout_cap = std::chrono::seconds(1);
  uint32_t retries = 3;            // After the first attempt.
  uint32_t alternative_after = 2;  // Timeouts before SmpRequest::alternative is used.
  // The transport reports timeouts. An attempt without a report counts as timed out this long after
  // its timeout.
  Duration safety_margin = std::chrono::seconds(1);
};

}  // namespace fabricd::mad
