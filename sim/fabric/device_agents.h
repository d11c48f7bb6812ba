// SPDX-License-Identifier: Apache-2.0
// DeviceAgents: the management agents of the devices, as far as they concern more than their own
// registers: when an agent serves a MAD, which response leaves, and what that causes at links,
// traps and programs. It owns the queues of agents that answer late, and counts MADs.
#pragma once

#include <optional>
#include <vector>

#include "common/ids.h"
#include "common/time.h"
#include "mad/wire/smp.h"
#include "sim/fabric/event_queue.h"
#include "sim/fabric/host_ports.h"
#include "sim/fabric/link_model.h"
#include "sim/fabric/mad_faults.h"
#include "sim/fabric/packet.h"
#include "sim/fabric/sim_nodes.h"
#include "sim/fabric/sim_stats.h"
#include "sim/fabric/trap_sender.h"

namespace fabricd::sim {

class DeviceAgents {
 public:
  // The references must outlive it.
  DeviceAgents(SimNodes& nodes, EventQueue& queue, TrapSender& traps, HostPorts& hosts,
               LinkModel& links, SimStats& stats);
  void set_observer(SimObserver* observer) { observer_ = observer; }

  // How long an SMP that comes now has to wait for the agent (Quirks::answer_delay, and those
  // before it). To be called once for each; Answer after that time.
  Duration Enqueue(NodeIndex node);
  // How long a directed-route SMP that comes now has to wait for the queue of the switch
  // (Quirks::vl15_queue). nullopt: the queue is full, and it is dropped.
  std::optional<Duration> EnqueueVl15(NodeIndex node);
  // The agent of the node that the packet has reached, by the port `ingress`, serves it. True: the
  // packet has turned into the response, which is to leave here.
  bool Answer(Packet& packet, PortNum ingress);
  // The same two for GMPs (Packet::IsForPerformanceAgent), by PerformanceOptions::answer_delay.
  Duration EnqueueGmp(NodeIndex node);
  bool AnswerGmp(Packet& packet);

 private:
  void Serve(const Packet& packet, PortNum ingress, wire::Smp& smp);
  Duration EnqueueAt(Instant& busy_until, Duration delay);
  void Count(wire::AttributeId attribute, wire::Method method, const wire::Smp& answer);
  void ApplyEffects(NodeIndex node);

  SimNodes& nodes_;
  EventQueue& queue_;
  TrapSender& traps_;
  HostPorts& hosts_;
  LinkModel& links_;
  SimStats& stats_;
  SimObserver* observer_ = nullptr;
  // By node: the last SMP that waits, and the last GMP; later ones queue.
  std::vector<Instant> busy_until_, gmps_busy_until_;
  std::vector<Instant> vl15_busy_until_;
  SmaEffects effects_;  // Of the answer being given; a member to reuse its storage.
};

}  // namespace fabricd::sim
