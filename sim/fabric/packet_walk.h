// SPDX-License-Identifier: Apache-2.0
// PacketWalk: how one MAD travels. It is forwarded hop by hop, along its directed route (IBA vol 1
// §14.2.2) or by the forwarding tables, subject to port states, partitions and faults, and
// replicated where it is multicast, until it is lost or reaches a program or a device's agent,
// whose response travels in turn. It owns the packets that wait for their arrival, and draws what
// faults do to MADs.
#pragma once

#include <cstdint>
#include <vector>

#include "common/ids.h"
#include "common/rng.h"
#include "common/time.h"
#include "sim/fabric/device_agents.h"
#include "sim/fabric/event_queue.h"
#include "sim/fabric/host_ports.h"
#include "sim/fabric/link_model.h"
#include "sim/fabric/mad_faults.h"
#include "sim/fabric/outside_ports.h"
#include "sim/fabric/packet.h"
#include "sim/fabric/sim_nodes.h"
#include "sim/fabric/sim_stats.h"
#include "sim/fabric/trap_sender.h"

namespace fabricd::sim {

class PacketWalk {
 public:
  struct Options {
    Duration link_latency;  // Of each hop, in each direction.
    uint64_t seed;          // Of the faults that are drawn.
  };
  // The references must outlive it.
  PacketWalk(Options options, SimNodes& nodes, EventQueue& queue, TrapSender& traps,
             HostPorts& hosts, LinkModel& links, OutsidePorts& outside, DeviceAgents& agents,
             SimStats& stats);
  void SetFaults(const MadFaults& faults) { faults_ = faults; }

  // Takes a packet from where it is as far as it gets at this instant: to its end, the response
  // included, where no latency, fault or late agent holds it.
  void Carry(Packet packet);
  // A packet that the adapter at packet.at puts on its link. REQUIRES: OutsidePorts has that port.
  void CarryFromOutside(Packet packet);
  // An event of kind kArrive.
  void Run(const Event& event);

 private:
  enum class Hop : uint8_t { kConsume, kForward, kLost };

  bool Step(Packet& packet);
  bool Cross(Packet& packet, PortNum egress);
  bool PassesVl15Queue(Packet& packet);
  bool Continues(Packet& packet);
  bool MeetsFate(const Packet& packet, Duration& wait);
  bool MeetsGmpFate(const Packet& packet, Duration& wait);
  // What happens to the packet is drawn from this.
  Rng& RngOf(const Packet& packet) { return packet.IsOfTelemetry() ? telemetry_rng_ : rng_; }
  bool Defer(Packet& packet, Duration wait);
  void Hold(Packet packet, Duration wait);

  Hop DirectedHop(Packet& packet, PortNum& egress);
  Hop DirectedReturn(Packet& packet, PortNum& egress);
  Hop RoutedHop(const Packet& packet, PortNum& egress);
  Hop RoutedBySwitch(const Packet& packet, PortNum& egress);
  void Replicate(Packet& packet);

  bool Enters(const Packet& packet);
  bool Leaves(const Packet& packet, PortNum egress);
  bool PassesPartition(const Packet& packet, PortNum port);
  bool IsAdmitted(Packet& packet);
  void CountBadPKey(PortRef at, const Packet& packet);

  bool Consume(Packet& packet);
  bool ConsumeGmp(Packet& packet);
  void Deliver(PortRef host_port, Packet&& packet);

  const Options options_;
  SimNodes& nodes_;
  EventQueue& queue_;
  TrapSender& traps_;
  HostPorts& hosts_;
  LinkModel& links_;
  OutsidePorts& outside_;
  DeviceAgents& agents_;
  SimStats& stats_;
  MadFaults faults_;
  // Two, so that the draws of SMPs and SA do not depend on how many counters are read.
  Rng rng_, telemetry_rng_;
  std::vector<Packet> in_flight_;  // Slots of packets that wait for their arrival.
  std::vector<uint32_t> free_slots_;
};

}  // namespace fabricd::sim
