// SPDX-License-Identifier: Apache-2.0
// LinkErrors: receivers whose signal is bad, second by second. What a receiver counts follows from
// its raw bit error rate and the FEC of its link (sim/performance/error_model.h). Errors behind FEC
// come in bursts, those of one within a second. Each of them hits a packet with the probability
// that the link carries one: the receiver counts PortRcvErrors, LocalPhysical, and the packet,
// which a switch has begun to forward, goes on with the EBP delimiter. Every receiver further down
// its path counts it as PortRcvRemotePhysicalErrors and PortRcvErrors. More than LocalPhyErrors of
// them in a second count as one of LocalLinkIntegrityErrors, and the device sends trap 129.
//
// Nothing happens, and nothing is drawn, where no receiver is bad. Each has a generator of its own.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "common/ids.h"
#include "common/rng.h"
#include "common/time.h"
#include "mad/wire/registers.h"
#include "sim/fabric/sim_nodes.h"
#include "sim/fabric/traffic_jobs.h"
#include "sim/fabric/trap_sender.h"

namespace fabricd::sim {

// What is bad at a receiver; LinkNoise() is nothing.
struct LinkNoise {
  double raw = 0;       // Bits that arrive wrong, before FEC, of all bits.
  double burst = 1;     // Mean number of symbol errors in a burst; at least 1.
  double spurious = 0;  // Symbol errors a second that firmware counts and that were none.
  friend bool operator==(const LinkNoise&, const LinkNoise&) = default;
};

class LinkErrors {
 public:
  static constexpr Duration kStep = std::chrono::seconds(1);

  // The references must outlive it.
  LinkErrors(uint64_t seed, SimNodes& nodes, TrapSender& traps, TrafficJobs& traffic)
      : seed_(seed), nodes_(nodes), traps_(traps), traffic_(traffic) {}

  // REQUIRES: the port exists.
  void Set(Instant now, PortRef receiver, const LinkNoise& noise);
  bool empty() const { return sources_.empty(); }
  // Counts the errors of one kStep that has passed.
  void Step();
  // What is plugged there; nullopt: no cable. And the FEC of the link as it runs.
  std::optional<wire::PddrModule> ModuleAt(PortRef port) const;
  wire::PddrFecMode FecAt(PortRef port) const;

 private:
  struct Source {
    LinkNoise noise;
    Rng rng;
  };
  void CountErrors(PortRef receiver, Source& source);
  uint64_t DrawBursts(Source& source, double mean) const;
  void HitPackets(PortRef receiver, Source& source, uint64_t errors, double link_gigabits);

  const uint64_t seed_;
  SimNodes& nodes_;
  TrapSender& traps_;
  TrafficJobs& traffic_;
  std::map<PortRef, Source> sources_;  // By receiver.
};

}  // namespace fabricd::sim
