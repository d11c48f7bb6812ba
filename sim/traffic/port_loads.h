// SPDX-License-Identifier: Apache-2.0
// What flows make of the ports on their paths: how much each transmits, receives and waits.
//
// The model: fluids without packets, buffers or VLs. Rates are max-min fair over egress
// ports. A flow that a saturated egress port holds back keeps the port that feeds that one busy
// with data for which there are no credits, so the feeding port waits whenever it does not
// transmit. Waiting does not spread further against the flow. A port that is itself the bottleneck,
// and the sender's own port, wait for no credits.
//
// A receiver that takes less than its link carries returns credits late. The port before it waits
// although its link is free, and the buffers fill back to the senders: every port on the paths to
// the receiver waits, the senders' own ones too. Flows to other receivers share these buffers, and
// switches arbitrate fairly between the packets that want them: on a shared port such a flow gets
// no more than the one that is held back. What it leaves free goes to the flows that share nothing;
// flows that share a port only with a flow slowed in this way are not slowed themselves, and where
// all flows to a receiver are slowed by another one, so that it could take more, it holds back
// none. Of what a receiver does not take in time, packets are discarded at the head of the queue
// before it (HOQLife), so that kHoqShare of the link's rate gets away in any case.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "common/ids.h"

namespace fabricd::sim {

// One flow: `path` has its egress ports from the sender's on, `peers` the ports at the other ends
// of their links, `capacities` their rates in Gb/s. Of the same length, at least one.
struct TrafficFlow {
  std::vector<PortRef> path, peers;
  std::vector<double> capacities;
  // Flows with the same number together send no more than limit_gigabits. REQUIRES: one limit for
  // one number.
  uint32_t limit = 0;
  double limit_gigabits = 0;
  // What the receiver takes from its port, of all flows; nullopt: all that the link carries.
  // REQUIRES: the same for all flows to one port.
  std::optional<double> receiver_gigabits;
};

struct PortLoad {
  double xmit_gigabits = 0;
  double rcv_gigabits = 0;
  double wait = 0;                // Part of the time, 0 to 1.
  double discarded_gigabits = 0;  // At the head of the queue, instead of being transmitted.
  friend bool operator==(const PortLoad&, const PortLoad&) = default;
};

constexpr double kHoqShare = 0.02;

struct TrafficLoads {
  absl::flat_hash_map<PortRef, PortLoad> ports;
  std::vector<double> gigabits;  // Of each flow.
};

TrafficLoads LoadsOf(const std::vector<TrafficFlow>& flows);

}  // namespace fabricd::sim
