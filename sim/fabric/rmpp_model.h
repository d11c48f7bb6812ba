// SPDX-License-Identifier: Apache-2.0
// RmppModel: payloads of many segments, as a program sees them. The kernel's RMPP (IBA vol 1 §13.6)
// sends the segments and gives the receiver one payload. Here that payload travels whole; its
// segments count in the statistics and, with their retries, in the odds of loss. Windows,
// acknowledgements and retries take no time, and acknowledgements are not lost.
//
// It owns the payloads of which its programs may get a report.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include <absl/status/status.h>

#include "common/ids.h"
#include "common/time.h"
#include "mad/transport.h"
#include "sim/fabric/event_queue.h"
#include "sim/fabric/packet.h"
#include "sim/fabric/sim_stats.h"

namespace fabricd::sim {

class RmppModel {
 public:
  // The references must outlive it.
  RmppModel(EventQueue& queue, SimStats& stats) : queue_(queue), stats_(stats) {}

  // ib_umad's rules: only an agent with RMPP takes more than one MAD, and only if the MAD says so.
  // kInvalidArgument: neither one MAD nor under RMPP.
  static absl::Status CheckPayload(const mad::OutgoingMad& mad);
  // Fills in what the kernel does where RMPP is active: the header of the first segment, which is
  // the one that the receiver gets. Returns the number of segments, 0 where RMPP is not active.
  // REQUIRES: CheckPayload(mad).
  uint32_t Segment(mad::OutgoingMad& mad);
  // The probability that a packet is lost where each of its segments is, with the probability
  // `loss`. A payload under RMPP is lost with a segment of which all attempts are.
  static double LossOf(const Packet& packet, double loss);

  // From now on a payload of `host` without an answer to wait for is reported: where it has no
  // timeout, if it is not acknowledged; else always, as the kernel cannot tell that nothing is to
  // follow. Returns the number by which it is acknowledged.
  uint64_t Await(PortRef host, const mad::OutgoingMad& mad);
  // The whole payload has reached a program's agent. No effect for 0 and for what is over.
  void Acknowledge(uint64_t number);
  // An event of kind kNoAcknowledgement: the report for its program, if there is to be one.
  std::optional<mad::IncomingMad> Run(const Event& event);
  // The program on this port has ended.
  void Forget(PortRef host);

 private:
  struct Sent {
    PortRef host;
    mad::Agent agent;
    mad::Address to;
    std::vector<uint8_t> header;
    bool always_reported = false, acknowledged = false;
  };
  EventQueue& queue_;
  SimStats& stats_;
  absl::flat_hash_map<uint64_t, Sent> sent_;
};

}  // namespace fabricd::sim
