// SPDX-License-Identifier: Apache-2.0
// Schedule: whose turn it is. Each port has its place in the polling interval, drawn from a seed,
// so that the ports of a switch are spread over it and two fabricds do not poll in step. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/ids.h"
#include "telemetry/port_record.h"

namespace fabricd::telemetry {

class Schedule {
 public:
  explicit Schedule(uint64_t seed) : seed_(seed) {}

  // Replaces the ports. Those whose place has passed have their turn in the next pass.
  void SetPorts(std::span<const PortRef> ports, Millis now);
  // The first pass starts now. REQUIRES: interval > 0.
  void Start(Millis now, Millis interval);
  // Calls visit(PortRef, pass) for each port whose turn has come. A pass is skipped where the last
  // call was longer ago.
  template <typename Visit>
  void TakeDue(Millis now, Visit&& visit) {
    if (interval_ == 0) return;
    while (true) {
      const Millis into = now - pass_at_;
      for (; next_ < turns_.size() && turns_[next_].at <= into; ++next_) {
        visit(turns_[next_].port, pass_);
      }
      if (into < interval_) return;
      EndPass(now);
    }
  }
  // When the next turn comes; now or later. kNone: there is none.
  static constexpr Millis kNone = ~Millis{0};
  Millis NextAt() const;
  uint32_t pass() const { return pass_; }
  Millis interval() const { return interval_; }
  size_t ports() const { return turns_.size(); }

 private:
  struct Turn {
    Millis at = 0;  // After the pass began.
    PortRef port;
  };
  void EndPass(Millis now);
  Millis PlaceOf(PortRef port) const;

  uint64_t seed_;
  Millis interval_ = 0;  // 0: not started.
  Millis pass_at_ = 0;
  uint32_t pass_ = 0;
  std::vector<Turn> turns_;  // By time.
  size_t next_ = 0;
};

}  // namespace fabricd::telemetry
