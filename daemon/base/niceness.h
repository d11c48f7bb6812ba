// SPDX-License-Identifier: Apache-2.0
// How urgently the kernel runs the calling thread.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include <spdlog/spdlog.h>

namespace fabricd::daemon {

// Above 0: this thread waits for others; below 0: it goes before them. What the system refuses is
// said once for each direction: below 0 takes CAP_SYS_NICE or RLIMIT_NICE (LimitNICE= of the unit),
// above 0 is refused by a system call filter without setpriority.
inline void SetNiceness(int niceness) {
  if (setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), niceness) == 0) return;
  const int error = errno;
  static std::atomic<bool> said_below = false, said_above = false;
  if ((niceness < 0 ? said_below : said_above).exchange(true)) return;
  spdlog::log(niceness < 0 ? spdlog::level::info : spdlog::level::warn,
              "niceness {} is refused ({}): {}", niceness, std::strerror(error),
              niceness < 0 ? "SA answers wait behind computing while the processors are busy"
                           : "computing competes with reroutes for the processors");
}

}  // namespace fabricd::daemon
