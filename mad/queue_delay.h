// SPDX-License-Identifier: Apache-2.0
// QueueDelay: whether a response has waited in a queue. VL15 has no flow control: a
// switch whose queue of SMPs is full drops them. A queue that grows shows earlier, by responses
// that take longer than the fastest one over as many hops.
#pragma once

#include <array>
#include <cstddef>

#include "common/time.h"

namespace fabricd::mad {

class QueueDelay {
 public:
  // `slack`: EngineOptions::queue_delay.
  explicit QueueDelay(Duration slack) : slack_(slack) { fastest_.fill(Duration::max()); }

  // The response to the first attempt of a request over so many hops took so long.
  bool Note(size_t hops, Duration waited);

 private:
  const Duration slack_;
  std::array<Duration, 64> fastest_;  // By hops.
};

}  // namespace fabricd::mad
