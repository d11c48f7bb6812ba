// SPDX-License-Identifier: Apache-2.0
#include "sim/fabric/outside_ports.h"

#include <iterator>
#include <utility>

namespace fabricd::sim {

using wire::PortState;

void OutsidePorts::Mirror(PortRef port, const OutsideState& state) {
  wire::PortInfo& info = nodes_.Port(port).info;
  info.capability_mask = state.capability_mask;
  info.lid = state.lid;
  info.lmc = state.lmc;
  info.master_sm_lid = state.master_sm_lid;
  // The link is the simulator's: whether it is up is decided here, and what the adapter says of it
  // may be older than its last change.
  const bool up = info.port_state >= PortState::kInit && state.state >= PortState::kInit;
  if (up) info.port_state = state.state;
  nodes_.NoteChange();
  if (state.retrain) links_.RequestPhysicalState(port, state.physical_state);
}

void OutsidePorts::Receive(Packet&& packet) {
  const PortRef port = packet.at;
  arrived_.push_back({port, std::move(packet)});
}

void OutsidePorts::TakeArrivals(std::vector<OutsideArrival>& out) {
  out.insert(out.end(), std::make_move_iterator(arrived_.begin()),
             std::make_move_iterator(arrived_.end()));
  arrived_.clear();
}

}  // namespace fabricd::sim
