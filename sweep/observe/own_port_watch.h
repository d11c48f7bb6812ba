// SPDX-License-Identifier: Apache-2.0
// OwnPortWatch: reads the SM's own port again and again, to notice that it has no link. The device
// reports that by an event, but ibsim does not, nor does a device without verbs. A master that
// shares its durable state must know soon: it reaches no device, so it must acknowledge no change.
#pragma once

#include <optional>

#include "common/time.h"
#include "mad/transaction_engine.h"
#include "sweep/observe/ground.h"
#include "sweep/observe/observed_fabric.h"

namespace fabricd::sweep {

class OwnPortWatch {
 public:
  // Both must outlive this.
  OwnPortWatch(const Ground& ground, const ObservedFabric& observed)
      : ground_(ground), observed_(observed) {}

  // Call at next(), while the port is to be watched.
  void OnTimer(Instant now);
  Instant next() const { return next_; }
  // What the device should have reported: kPortDown or kPortActive. Nullopt: nothing has changed
  // since observed.HasOwnLink() was set.
  std::optional<mad::LocalPortEvent::Kind> OnCompletion(const mad::Completion& completion) const;

 private:
  static constexpr Duration kInterval = std::chrono::milliseconds(250);
  // The answer comes from the device that this host is attached to, so it is not repeated.
  static constexpr mad::Pace kOnce{kInterval, 0};

  const Ground ground_;
  const ObservedFabric& observed_;
  Instant next_{};
};

}  // namespace fabricd::sweep
