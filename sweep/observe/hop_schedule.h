// SPDX-License-Identifier: Apache-2.0
// HopSchedule: when the ports of one hop count may be probed: once every probe of fewer or as many
// hops has been answered, or none was for a while. So each cable is asked over from one end only,
// and dead devices do not hold up the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "common/time.h"

namespace fabricd::sweep {

class HopSchedule {
 public:
  // A port of a switch `hops` away, to be probed.
  void Add(uint16_t hops, PortRef port) { waiting_[hops].push_back(port); }
  // A probe of a device `hops` away leaves.
  void OnSent(uint16_t hops) { ++unanswered_[hops]; }
  // It was answered or given up: the others have until `deadline`.
  void OnAnswered(uint16_t hops, Instant deadline);
  struct Ports {
    uint16_t hops = 0;  // Of the switches.
    std::vector<PortRef> ports;
  };
  // What is due now. nullopt: nothing.
  std::optional<Ports> Take(Instant now);
  void SetDeadline(Instant deadline) { deadline_ = deadline; }
  bool empty() const { return waiting_.empty(); }
  // When Take() has something at the latest.
  Instant deadline() const { return deadline_; }

 private:
  std::map<uint16_t, size_t> unanswered_;             // By hops.
  std::map<uint16_t, std::vector<PortRef>> waiting_;  // By hops of the switch.
  Instant deadline_ = kNever;
};

}  // namespace fabricd::sweep
