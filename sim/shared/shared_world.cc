// SPDX-License-Identifier: Apache-2.0
#include "sim/shared/shared_world.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace fabricd::sim {

SimOptions DrawSimOptions(Rng& rng) {
  SimOptions options;
  options.seed = rng.Next();
  options.training_time = std::chrono::milliseconds(1 + rng.Below(200));
  options.reboot_time = std::chrono::milliseconds(100 + rng.Below(3000));
  return options;
}

void SharedWorld::Schedule() {
  const Instant next = fabric_.next_event();
  if (next == kNever || next >= next_) return;
  next_ = std::max(next, now());
  store.time.At(next_, [this] { Advance(); });
}

void SharedWorld::Advance() {
  next_ = kNever;
  std::vector<Delivery> arrived;
  fabric_.Advance(now(), arrived);
  for (Delivery& delivery : arrived) {
    const auto listener = listeners_.find(delivery.host);
    if (listener != listeners_.end() && listener->second)
      listener->second(std::move(delivery.what));
  }
  Schedule();
}

void SharedWorld::Tell(const std::string& what) const {
  if (!store.tell) return;
  const auto at = std::chrono::duration<double>(now().time_since_epoch()).count();
  store.tell(fmt::format("{:12.6f} {}", at, what));
}

}  // namespace fabricd::sim
