// SPDX-License-Identifier: Apache-2.0
// sim/fabric: simulated devices and the links between them.
//
// SimFabric: an in-process InfiniBand subnet that answers MADs. Directed-route SMPs are walked hop
// by hop (IBA vol 1 §14.2.2), LID-routed MADs go by the forwarding tables that were programmed,
// links follow the port state machine (§7.2.7), devices send their traps to their MasterSMLID until
// they are repressed.
//
// Pure and deterministic: time is passed in, never read; the same calls give the same answers. With
// a link latency of zero (the default) a MAD and its answer are carried within Send. Used by one
// thread at a time; SimTransport adds threads and the real clock, the deterministic simulator
// virtual time.
//
//   sim::SimFabric fabric(*topology);
//   PortRef host = fabric.DefaultHostPort();
//   fabric.Attach(host);
//   fabric.Send(now, host, outgoing);
//   fabric.Advance(now, arrived);          // answers, time-outs, traps and local port events
//   next = fabric.next_event();            // when to call Advance again
//
// or, one request at a time: `auto answers = fabric.Exchange(now, host, outgoing);`
//
// SimFabric is a facade. It owns its parts, their common event queue and the statistics, and hands
// each event back to the part that scheduled it. The state is in the parts: devices and power in
// SimNodes, programs and their requests in HostPorts, the state of links in LinkModel, traps in
// TrapSender, agents that answer late in DeviceAgents, packets under way in PacketWalk.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include "common/ids.h"
#include "common/time.h"
#include "fabric/snapshot.h"
#include "mad/transport.h"
#include "sim/device/sim_device.h"
#include "sim/fabric/control.h"
#include "sim/fabric/device_agents.h"
#include "sim/fabric/event_queue.h"
#include "sim/fabric/host_ports.h"
#include "sim/fabric/link_errors.h"
#include "sim/fabric/link_model.h"
#include "sim/fabric/mad_faults.h"
#include "sim/fabric/outside_ports.h"
#include "sim/fabric/packet.h"
#include "sim/fabric/packet_walk.h"
#include "sim/fabric/sim_nodes.h"
#include "sim/fabric/sim_stats.h"
#include "sim/fabric/table_trace.h"
#include "sim/fabric/traffic_jobs.h"
#include "sim/fabric/trap_sender.h"
#include "sim/performance/performance_agent.h"

namespace fabricd::sim {

struct SimOptions {
  DeviceOptions device;
  Duration link_latency{};   // Of each hop, in each direction.
  Duration training_time{};  // From both ends Polling to LinkUp.
  Duration reboot_time = std::chrono::seconds(1);
  // A trap is repeated until TrapRepress, at the port's SubnetTimeOut but no oftener than this, and
  // at most this many times.
  Duration trap_interval_min = std::chrono::milliseconds(100);
  int trap_repeats = 10;
  // False: programs hear of no change of their port, as on ibsim or without verbs.
  bool reports_port_events = true;
  uint64_t seed = 1;               // Of the faults that are drawn.
  PerformanceOptions performance;  // Of all devices, see SetPerformance.
};

class SimFabric {
 public:
  static constexpr int kMaxHops = kMaxPacketHops;

  // NodeIndex and PortRef mean the same as in `topology`, which is copied.
  explicit SimFabric(const fabric::FabricSnapshot& topology, const SimOptions& options = {});
  SimFabric(const SimFabric&) = delete;
  SimFabric& operator=(const SimFabric&) = delete;

  // ---- programs on host ports (any CA port or switch port 0)
  // The first linked CA port by natural order of description, then GUID. None when there is no CA.
  PortRef DefaultHostPort() const { return nodes_.DefaultHostPort(); }
  // A port by "description", "description/port", GUID or "GUID/port" (names as in control.h; the
  // port defaults to the node's first end port).
  absl::StatusOr<PortRef> FindHostPort(const std::string& name) const {
    return nodes_.FindHostPort(name);
  }
  // From now on unsolicited MADs and events of this port are delivered. REQUIRES: an end port.
  void Attach(PortRef host);
  bool IsAttached(PortRef host) const { return hosts_.IsAttached(host); }
  // The program has ended, as by kill -9: what it waits for is forgotten, late answers to it match
  // nothing, and IsSM is cleared as the kernel clears it. No effect without a program.
  void Detach(Instant now, PortRef host);
  // PortInfo.CapabilityMask.IsSM; sends trap 144 on a change. SMInfo then goes to the program.
  void SetIsSm(Instant now, PortRef host, bool is_sm);
  // Plays a foreign SM on a port without a program: the device itself answers SMInfo. nullopt ends
  // it.
  void SetScriptedSm(Instant now, PortRef host, std::optional<wire::SmInfo> sm);

  // ---- MADs
  // As umad_send on that port: the upper half of a request's TransactionID is overwritten, a
  // request with a time-out is answered or reported kTimedOut, a response that matches no request
  // is dropped. An SA payload with RMPPFlags.Active may have any size from the SA header on; lost,
  // it is reported kTimedOut too, after 2 s where it has no time-out. kInvalidArgument: malformed,
  // or a request with this TransactionID is waiting.
  [[nodiscard]] absl::Status Send(Instant now, PortRef host, mad::OutgoingMad mad);
  // Runs all that is due at or before `now` and appends what was delivered, in order.
  void Advance(Instant now, std::vector<Delivery>& out);
  // When to call Advance next: at or before the last `now` when deliveries wait, kNever when
  // nothing is under way. May be earlier than needed.
  Instant next_event() const;
  // Sends one request and runs the fabric until it is answered or timed out (at now + timeout).
  // Returns all MADs that arrived at `host` meanwhile, the answer last. Events and other hosts'
  // MADs stay for Advance.
  std::vector<mad::IncomingMad> Exchange(Instant now, PortRef host, mad::OutgoingMad mad);

  // ---- adapters outside of the simulator (sim/kernel)
  // The first port of a CA that has a cable and no such adapter yet, by the names of hosts.
  PortRef FreeHostPort() const;
  // From now on what reaches this port is for its adapter; the simulated agents there do nothing.
  // REQUIRES: a port of a CA.
  void AttachOutside(PortRef port) { outside_.Attach(port); }
  bool IsOutside(PortRef port) const { return outside_.Has(port); }
  void MirrorOutside(Instant now, PortRef port, const OutsideState& state);
  // What that adapter sends by its link. REQUIRES: IsOutside(packet.at), and a whole MAD header
  // unless it is opaque.
  void SendFromOutside(Instant now, Packet packet);
  // Appends what has reached such ports by the last Advance, in order.
  void TakeOutsideArrivals(std::vector<OutsideArrival>& out) { outside_.TakeArrivals(out); }

  // ---- faults (see control.h for the meaning of the status codes)
  void SetMadFaults(const MadFaults& faults) { walk_.SetFaults(faults); }
  // Every MAD over this cable is lost with this probability, in both directions; 0 ends it. With 1
  // the link is silent although both its ends say that it is up.
  void SetLinkLoss(PortRef port, double loss) { links_.SetLoss(port, loss); }
  double link_loss(PortRef port) const { return links_.loss(port); }
  absl::Status Unlink(Instant now, PortRef port);
  absl::Status Link(Instant now, PortRef port);
  absl::Status Connect(Instant now, PortRef a, PortRef b);
  // The link of this port drops by itself and trains again; both ends show `reason`, an opcode of
  // PDDR page 6. kFailedPrecondition: it is not up.
  absl::Status LoseSignal(Instant now, PortRef port, uint8_t reason);
  // A manager or tool disables the port, as by a Set of PortInfo, or has it poll again.
  absl::Status SetDisabled(Instant now, PortRef port, bool disabled);
  // The node is away, its links down, all that was written to it lost, until PowerOn.
  absl::Status PowerOff(Instant now, NodeIndex node, Ending ending = Ending::kPowerLoss);
  absl::Status PowerOn(Instant now, NodeIndex node);
  // Off, and on after reboot_time.
  absl::Status Reboot(Instant now, NodeIndex node);
  // The device reports a threshold of that port: trap 129 local link integrity, 130 excessive
  // buffer overrun, 131 flow control update watchdog; repeated until repressed as all traps.
  // kInvalidArgument: another number; kFailedPrecondition: the device is off or has no SM to tell.
  absl::Status RaisePortTrap(Instant now, PortRef port, uint16_t number);
  // The same, but sent once, at once, whether or not earlier ones were repressed, as firmware that
  // has lost its mind does; trap 128 too.
  absl::Status SendStrayTrap(Instant now, PortRef port, uint16_t number);
  // Replaces those it had; Quirks() ends them. REQUIRES: the node exists.
  void SetQuirks(NodeIndex node, Quirks quirks);

  // Another manager has set up adaptive routing on this switch. REQUIRES: the node exists.
  void SetAdaptiveRouting(NodeIndex node, ShadowLft mode);

  // ---- counters. kNotFound of each: no such node or port (port 0 counts nothing here).
  // How the device's performance and vendor agents behave. Outlives a reboot.
  absl::Status SetPerformance(NodeIndex node, const PerformanceOptions& options);
  // Of all devices, those included that had their own.
  void SetPerformanceOfAll(const PerformanceOptions& options);
  // The port counts so many more.
  absl::Status AddToCounter(Instant now, PortRef port, Counter counter, uint64_t count);
  // What it has counted since it got power. REQUIRES: the port exists.
  uint64_t CounterTotal(Instant now, PortRef port, Counter counter);
  // All registers of this port are cleared, as by a tool that clears what it reads.
  absl::Status ClearCounters(Instant now, PortRef port);
  // Errors at this end of its link, from now on, drawn from a generator of the port's own. All 0
  // ends it. Outlives reboots. kInvalidArgument: a rate is not in [0, 1].
  absl::Status SetBitErrorRates(Instant now, PortRef port, const BitErrorRates& rates);
  // All of these; nothing is applied where one is refused.
  absl::Status SetErrors(Instant now, PortRef port, const PortErrors& errors);
  // The receiver at this end of a link is bad from now on, by a model of the signal instead of
  // three rates (sim/fabric/link_errors.h). Outlives reboots; LinkNoise() ends it.
  // kInvalidArgument: the raw rate is not in [0, 1], a burst is below 1, or spurious errors below
  // 0.
  absl::Status SetLinkNoise(Instant now, PortRef receiver, const LinkNoise& noise);
  // What is plugged there (nullopt: no cable), and the FEC of its link. REQUIRES: the port exists.
  std::optional<wire::PddrModule> ModuleAt(PortRef port) const { return errors_.ModuleAt(port); }
  wire::PddrFecMode FecAt(PortRef port) const { return errors_.FecAt(port); }
  // Of the module at this end of the cable, in degrees Celsius; nullopt: as it was made.
  absl::Status SetModuleTemperature(PortRef port, std::optional<int> celsius);
  // The cable there is another one of the same make, modules included. kNotFound too: no cable.
  absl::Status ReplaceCable(PortRef port);

  // ---- traffic
  // Runs until it is stopped. Its flows follow changes of tables and links within kRouteDelay.
  // kAlreadyExists: one of this name runs. kNotFound: no such host. kInvalidArgument: the job makes
  // no sense, or has too many flows.
  static constexpr Duration kRouteDelay = std::chrono::milliseconds(100);
  absl::Status StartTraffic(Instant now, TrafficJob job);
  // kNotFound: none of this name runs.
  absl::Status StopTraffic(Instant now, const std::string& name);
  // The host takes at most this part of what the link of its end port carries, as where its bus or
  // memory is too slow, and returns credits late; 1 ends it. kInvalidArgument: not in [0, 1], or
  // the port of a switch.
  absl::Status SetReceiverShare(Instant now, PortRef port, double share);
  // By name.
  std::vector<TrafficReport> ListTraffic() const { return traffic_.List(); }

  absl::StatusOr<NodeIndex> FindNode(const std::string& name) const {
    return nodes_.FindNode(name);
  }
  std::vector<SimCable> ListCables() const { return nodes_.ListCables(); }
  std::vector<SimNode> ListNodes() const { return nodes_.ListNodes(); }
  // By name; the adapters of each.
  std::map<std::string, std::vector<NodeIndex>> Hosts() const { return nodes_.Hosts(); }

  // ---- for checkers: the devices' registers
  uint32_t node_index_end() const { return nodes_.index_end(); }
  // nullptr: a tombstone of the topology.
  const SimDevice* device(NodeIndex node) const { return nodes_.Find(node); }
  // The port at the other end of a link that is up, else none.
  PortRef LinkedPeer(PortRef port) const;
  // Where a unicast data packet from `from` (an end port) to `dlid` arrives by the tables and port
  // states as they are; none when it is dropped. With a P_Key also by the partitions, those of the
  // switches and of the receiver; the sender's own table is not asked.
  PortRef TraceData(PortRef from, Lid dlid, std::optional<PKey> key = std::nullopt) const {
    return sim::TraceData(nodes_, from, dlid, key);
  }
  // The same for a multicast packet.
  MulticastReach TraceMulticast(PortRef from, Lid mlid,
                                std::optional<PKey> key = std::nullopt) const {
    return sim::TraceMulticast(nodes_, from, mlid, key);
  }
  const SimStats& stats() const { return stats_; }
  void ResetStats() { stats_ = SimStats(); }
  // At most one; null ends it. Must outlive its time here.
  void SetObserver(SimObserver* observer);

 private:
  absl::Status CheckNode(NodeIndex node) const;
  void SetIsSmBit(Instant now, PortRef port, bool is_sm);
  void RunDue(Instant now);
  void RunEvent(const Event& event);
  void RouteTrafficLater();
  void CountErrorsLater();

  const uint64_t seed_;
  // Each knows only those above it.
  SimNodes nodes_;
  EventQueue queue_;
  SimStats stats_;
  TrapSender traps_;
  HostPorts hosts_;
  LinkModel links_;
  OutsidePorts outside_;
  DeviceAgents agents_;
  PacketWalk walk_;
  TrafficJobs traffic_;
  LinkErrors errors_;
  bool route_scheduled_ = false;
  bool errors_scheduled_ = false;
};

}  // namespace fabricd::sim
