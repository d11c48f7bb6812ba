// SPDX-License-Identifier: Apache-2.0
// OutsidePorts: the end ports whose adapter is outside of the simulator (the kernel's, sim/kernel).
// Such an adapter has agents and registers of its own: the simulated device beneath it only carries
// its link. It owns which ports these are and the packets that have reached them, unread, and
// mirrors into the simulated registers what decides how packets pass that link.
#pragma once

#include <cstdint>
#include <vector>

#include <absl/container/flat_hash_set.h>

#include "common/ids.h"
#include "mad/wire/port_info.h"
#include "sim/fabric/link_model.h"
#include "sim/fabric/packet.h"
#include "sim/fabric/sim_nodes.h"

namespace fabricd::sim {

// What the adapter says of its port.
struct OutsideState {
  uint32_t capability_mask = 0;
  Lid lid, master_sm_lid;
  uint8_t lmc = 0;
  wire::PortState state = wire::PortState::kDown;
  // Its SMA was asked by a Set to take the link down, and that this physical state comes next.
  bool retrain = false;
  wire::PortPhysicalState physical_state = wire::PortPhysicalState::kPolling;
};

struct OutsideArrival {
  PortRef port;
  Packet packet;
};

class OutsidePorts {
 public:
  // The references must outlive it.
  OutsidePorts(SimNodes& nodes, LinkModel& links) : nodes_(nodes), links_(links) {}

  void Attach(PortRef port) { ports_.insert(port); }
  bool Has(PortRef port) const { return !ports_.empty() && ports_.contains(port); }
  // REQUIRES: Has(port).
  void Mirror(PortRef port, const OutsideState& state);

  // A packet has come to packet.at. REQUIRES: Has(packet.at).
  void Receive(Packet&& packet);
  bool empty() const { return arrived_.empty(); }
  // Appends all that has arrived, in order.
  void TakeArrivals(std::vector<OutsideArrival>& out);

 private:
  SimNodes& nodes_;
  LinkModel& links_;
  absl::flat_hash_set<PortRef> ports_;
  std::vector<OutsideArrival> arrived_;
};

}  // namespace fabricd::sim
