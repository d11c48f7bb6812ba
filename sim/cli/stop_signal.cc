// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/stop_signal.h"

namespace fabricd::sim {
namespace {

volatile std::sig_atomic_t stop = 0;

void Stop(int) { stop = 1; }

}  // namespace

const volatile std::sig_atomic_t& StopOnSignals() {
  struct sigaction action {};
  action.sa_handler = Stop;
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  action.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &action, nullptr);
  return stop;
}

}  // namespace fabricd::sim
