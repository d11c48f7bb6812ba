// SPDX-License-Identifier: Apache-2.0
#include "policy/evidence.h"

namespace fabricd::policy {

Duration LengthOf(Window window) {
  using std::chrono::hours, std::chrono::seconds;
  switch (window) {
    case Window::k60s: return seconds(60);
    case Window::k300s: return seconds(300);
    case Window::k600s: return seconds(600);
    case Window::k720s: return seconds(720);
    case Window::k3600s: return seconds(3600);
    case Window::k7500s: return seconds(7500);
    case Window::k24h: return hours(24);
  }
  return {};
}

}  // namespace fabricd::policy
