// SPDX-License-Identifier: Apache-2.0
// HopSchedule: when the ports of one hop count may be probed: once every probe of at most that many
// hops has a response, or none came for a while. So each link is probed from one end only, and
// unresponsive devices do not delay the others.
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
  // A port of a switch at `hops`, to be probed.
  void Add(uint16_t hops, PortRef port) { waiting_[hops].push_back(port); }
  // A probe of a device at `hops` was sent.
  void OnSent(uint16_t hops) { ++unanswered_[hops]; }
  // It got a response or was given up. The other probes have until `deadline`.
  void OnAnswered(uint16_t hops, Instant deadline);
  struct Ports {
    uint16_t hops = 0;  // Hop count of the switches.
    std::vector<PortRef> ports;
  };
  // The ports to probe now. nullopt: none.
  std::optional<Ports> Take(Instant now);
  void SetDeadline(Instant deadline) { deadline_ = deadline; }
  bool empty() const { return waiting_.empty(); }
  // The latest time at which Take() returns ports.
  Instant deadline() const { return deadline_; }

 private:
  std::map<uint16_t, size_t> unanswered_;             // By hops.
  std::map<uint16_t, std::vector<PortRef>> waiting_;  // By hops of the switch.
  Instant deadline_ = kNever;
};

}  // namespace fabricd::sweep
