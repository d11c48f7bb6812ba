// SPDX-License-Identifier: Apache-2.0
// OwnPortWatch: whether the SM's own port has a link. The device reports a change by an event, but
// ibsim does not, nor does a device without verbs. An SM that shares its durable state must know
// soon: a master without a link must acknowledge no change, and one that waits must sweep again
// once it has a link. For them the port is read too.
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

  // As last seen. True before the first discovery; port 0 of a switch needs no link.
  bool has_link() const { return has_link_; }

  // The device has reported it, or OnCompletion() has returned it.
  void Note(bool has_link) {
    has_link_ = has_link;
    is_noted_ = true;
  }
  // The engine has dropped all requests. A discovery may follow.
  void OnRequestsDropped() { is_out_ = is_noted_ = false; }
  // A discovery has filled `observed`. A Note() since its start is newer, and stays.
  void OnDiscovered();

  // Reads the port, unless the last read is still out. Call at next(), while it is to be read.
  void OnTimer(Instant now);
  Instant next() const { return next_; }
  // What the device should have reported: kPortDown or kPortActive. Nullopt: nothing has changed.
  std::optional<mad::LocalPortEvent::Kind> OnCompletion(const mad::Completion& completion);

 private:
  static constexpr Duration kInterval = std::chrono::milliseconds(250);
  // The answer comes from the device that this host is attached to, so it is not repeated.
  static constexpr mad::Pace kOnce{kInterval, 0};

  const Ground ground_;
  const ObservedFabric& observed_;
  bool has_link_ = true;
  bool is_noted_ = false;  // Since the requests were dropped.
  bool is_out_ = false;    // A read is.
  Instant next_{};
};

}  // namespace fabricd::sweep
