// SPDX-License-Identifier: Apache-2.0
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
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include "common/ids.h"
#include "common/rng.h"
#include "common/time.h"
#include "fabric/snapshot.h"
#include "mad/transport.h"
#include "mad/wire/notice.h"
#include "sim/device/sim_device.h"
#include "sim/fabric/control.h"
#include "sim/fabric/mad_faults.h"

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
  uint64_t seed = 1;  // Of the faults that are drawn.
};

// Something that reached a program attached to a host port.
struct Delivery {
  Instant at;
  PortRef host;
  mad::Incoming what;
};

// Counted at the devices, so a test need not believe the sender.
struct SimStats {
  struct Attribute {
    uint64_t gets = 0, sets = 0;
    uint64_t idle_sets = 0;  // Sets that changed nothing.
    uint64_t refused = 0;    // Answered with a status other than 0.
  };
  std::map<wire::AttributeId, Attribute> smps;  // Those that reached a device's agent.
  uint64_t lost_by_fault = 0;                   // MadFaults::loss and the links' own loss.
  uint64_t duplicated = 0;                      // Second copies made by MadFaults::duplicate.
  uint64_t lost_link_down = 0;   // Directed-route: no link, or not up, at an egress port.
  uint64_t lost_bad_route = 0;   // Directed-route: hop pointer, count or port make no sense.
  uint64_t lost_no_lft = 0;      // LID-routed: no table entry.
  uint64_t lost_not_active = 0;  // LID-routed: the egress port's state does not carry it.
  uint64_t lost_wrong_lid = 0;   // LID-routed: arrived at a port that does not own the DLID.
  uint64_t lost_loop = 0;        // LID-routed: more than kMaxHops hops.
  uint64_t lost_no_mft = 0;      // Multicast: at a switch that has no port for it.
  uint64_t lost_p_key = 0;       // At a switch or its receiver, or the sender has no such key.
  uint64_t lost_m_key = 0;
  uint64_t lost_nobody = 0;  // No program for it at its destination.
  uint64_t unmatched_responses =
      0;  // Responses that no waiting request matched (late, duplicate, wrong id).
  uint64_t timed_out = 0;
  uint64_t rmpp_segments = 0;   // Sent; a payload under RMPP has one at least.
  uint64_t unacknowledged = 0;  // Payloads reported because a segment was lost.
  uint64_t traps_sent = 0;

  uint64_t sets() const;
  uint64_t gets() const;
};

// Where the copies of one multicast packet arrive.
struct MulticastReach {
  std::vector<PortRef> ports;  // End ports, each once, in order; the sender when a copy comes back.
  std::vector<PortRef> twice;  // Those of them that get it more than once.
  bool loops = false;          // The tables lead a copy to where it has been.
};

class SimFabric {
 public:
  static constexpr int kMaxHops = 64;

  // NodeIndex and PortRef mean the same as in `topology`, which is copied.
  explicit SimFabric(const fabric::FabricSnapshot& topology, SimOptions options = {});
  ~SimFabric();
  SimFabric(const SimFabric&) = delete;
  SimFabric& operator=(const SimFabric&) = delete;

  // ---- programs on host ports (any CA port or switch port 0)
  // The first linked CA port by natural order of description, then GUID. None when there is no CA.
  PortRef DefaultHostPort() const;
  // A port by "description", "description/port", GUID or "GUID/port" (names as in control.h; the
  // port defaults to the node's first end port).
  absl::StatusOr<PortRef> FindHostPort(const std::string& name) const;
  // From now on unsolicited MADs and events of this port are delivered. REQUIRES: an end port.
  void Attach(PortRef host);
  bool IsAttached(PortRef host) const { return host_of_.contains(host); }
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

  // ---- faults (see control.h for the meaning of the status codes)
  void SetMadFaults(const MadFaults& faults) { mad_faults_ = faults; }
  // Every MAD over this cable is lost with this probability, in both directions; 0 ends it. With 1
  // the link is silent although both its ends say that it is up.
  void SetLinkLoss(PortRef port, double loss);
  double link_loss(PortRef port) const {
    const auto found = link_loss_.find(port);
    return found == link_loss_.end() ? 0 : found->second;
  }
  absl::Status Unlink(Instant now, PortRef port);
  absl::Status Link(Instant now, PortRef port);
  absl::Status Connect(Instant now, PortRef a, PortRef b);
  // The node is away, its links down, all that was written to it lost, until PowerOn.
  absl::Status PowerOff(Instant now, NodeIndex node);
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
  // Replaces those it had; Oddities() ends them. REQUIRES: the node exists.
  void SetOddities(NodeIndex node, Oddities oddities);
  absl::StatusOr<NodeIndex> FindNode(const std::string& name) const;
  std::vector<SimCable> ListCables() const;
  std::vector<SimNode> ListNodes() const;

  // ---- for checkers: the devices' registers
  uint32_t node_index_end() const { return static_cast<uint32_t>(nodes_.size()); }
  // nullptr: a tombstone of the topology.
  const SimDevice* device(NodeIndex node) const {
    return node.value() < nodes_.size() ? nodes_[node.value()].device.get() : nullptr;
  }
  // The port at the other end of a link that is up, else none.
  PortRef LinkedPeer(PortRef port) const;
  // Where a unicast data packet from `from` (an end port) to `dlid` arrives by the tables and port
  // states as they are; none when it is dropped. With a P_Key also by the partitions, those of the
  // switches and of the receiver; the sender's own table is not asked.
  PortRef TraceData(PortRef from, Lid dlid, std::optional<PKey> key = std::nullopt) const;
  // The same for a multicast packet.
  MulticastReach TraceMulticast(PortRef from, Lid mlid,
                                std::optional<PKey> key = std::nullopt) const;
  const SimStats& stats() const { return stats_; }
  void ResetStats() { stats_ = SimStats(); }
  // At most one; null ends it. Must outlive its time here.
  void SetObserver(SimObserver* observer) { observer_ = observer; }

 private:
  // A MAD on its way. Its first hops need only the raw bytes: forwarding nodes look at no more.
  struct Packet {
    std::vector<uint8_t> bytes;
    PortRef from;        // The port it was sent from.
    PortRef at;          // The port it arrives by; at its origin the sender's port.
    bool origin = true;  // It has not left its sender yet.
    bool directed = false;
    bool deferred = false;     // It has reached an agent that answers late,
    uint32_t power_cycle = 0;  // and is lost when that loses power.
    Lid slid = kPermissiveLid, dlid = kPermissiveLid;
    ServiceLevel sl;
    PKey pkey;                    // Data (QP1) only: of the sender's table.
    uint16_t pkey_index = 0;      // In the table of its receiver.
    uint32_t segments = 0;        // 0: not under RMPP.
    uint64_t unacknowledged = 0;  // Of its sender's host; 0: nobody waits for it.
    int hops = 0;
    // Multicast: arrivals at each port of a switch, shared by the copies of a packet.
    std::shared_ptr<absl::flat_hash_map<PortRef, int>> copies;
    uint8_t management_class() const { return bytes[1]; }
    uint8_t method() const { return bytes[3]; }
    bool IsSmp() const { return directed || management_class() == 0x01; }
    bool IsMulticast() const { return !directed && SimFabric::IsMulticast(dlid); }
  };
  struct Waiting {  // A request that a program wants answered.
    mad::Agent agent;
    mad::Address to;
    std::array<uint8_t, 24> header;  // All that a time-out gives back (IBA vol 1 §13.4.2).
    uint8_t management_class;
    uint32_t serial;
  };
  struct Unacknowledged {  // A payload under RMPP that is no request.
    mad::Agent agent;
    mad::Address to;
    std::vector<uint8_t> header;
  };
  struct Host {
    PortRef port;
    bool is_sm = false;
    uint32_t id = 0;
    absl::flat_hash_map<uint64_t, Waiting> waiting;  // By TransactionID.
    absl::flat_hash_map<uint64_t, Unacknowledged> unacknowledged;
  };
  struct TrapKey {
    PortRef source;  // The end port that sends it.
    uint16_t number = 0;
    PortNum subject;  // Traps 129-131 and 259: the port that it is about.
    friend auto operator<=>(const TrapKey&, const TrapKey&) = default;
  };
  using TrapDetails = std::array<uint8_t, 54>;
  struct Trap {  // Sent, and not repressed yet.
    uint64_t transaction_id = 0;
    int repeats_left = 0;
    uint32_t serial = 0;
    bool again = false;  // It happened once more since it was sent.
    // Of what happened, where the registers of the port do not say it; of what happened last.
    std::optional<TrapDetails> details, later;
  };
  struct Event {
    enum class Kind : uint8_t {
      kArrive,
      kTimeOut,
      kLinkRequest,
      kTrain,
      kRebooted,
      kTrap,
      kNoAcknowledge
    };
    Instant at;
    Kind kind = Kind::kArrive;
    PortRef port;
    uint64_t id = 0;      // Slot, TransactionID, physical state, or subject << 16 | trap number.
    uint32_t serial = 0;  // Tells an event that something newer has replaced.
    uint64_t sequence = 0;
    // For a heap whose top is the earliest.
    friend bool operator<(const Event& a, const Event& b) {
      return a.at != b.at ? a.at > b.at : a.sequence > b.sequence;
    }
  };
  struct NodeState {
    std::unique_ptr<SimDevice> device;
    bool running = true;
    bool boots = false;  // Off, but not for long.
    uint32_t power_cycles = 0;
    Instant busy_until{};  // The last SMP that Oddities::answer_delay holds; later ones queue.
  };
  enum class Hop : uint8_t { kConsume, kForward, kLost };

  SimDevice& Device(NodeIndex node) { return *nodes_[node.value()].device; }
  const SimDevice& Device(NodeIndex node) const { return *nodes_[node.value()].device; }
  SimPort& Port(PortRef ref) { return Device(ref.node).mutable_port(ref.port); }
  const SimPort& Port(PortRef ref) const { return Device(ref.node).port(ref.port); }
  bool PortExists(PortRef ref) const {
    return device(ref.node) && Device(ref.node).HasPort(ref.port);
  }
  Host* FindHost(PortRef port);

  // packet_walk.cc: the way of a MAD.
  void Carry(Packet packet);
  bool Step(Packet& packet);
  Hop DirectedHop(Packet& packet, PortNum& egress);
  Hop DirectedReturn(Packet& packet, PortNum& egress);
  bool Continues(Packet& packet);
  bool Cross(Packet& packet, PortNum egress);
  bool MeetsFate(const Packet& packet, Duration& wait);
  void Hold(Packet packet, Duration wait);
  bool Consume(Packet& packet);
  bool AnswerAsDevice(Packet& packet, PortNum ingress);
  void CountSmp(wire::AttributeId attribute, wire::Method method, const wire::Smp& answer);
  void ApplyEffects(NodeIndex node);
  void DeliverToHost(Packet packet, Host* host);
  void DeliverEvent(PortRef port, mad::LocalPortEvent::Kind kind);
  void Deliver(Delivery delivery);

  // table_trace.cc: forwarding tables and partitions.
  static bool IsMulticast(Lid lid) { return lid > kMaxUnicastLid && lid != kPermissiveLid; }
  bool Enters(const Packet& packet);
  bool Leaves(const Packet& packet, PortNum egress);
  bool PassesPartition(const Packet& packet, PortNum port);
  bool IsAdmitted(Packet& packet);
  void CountBadPKey(PortRef at, const Packet& packet);
  Hop RoutedHop(const Packet& packet, PortNum& egress);
  Hop RoutedBySwitch(const Packet& packet, PortNum& egress);
  void Replicate(Packet& packet);
  PortRef TraceLink(PortRef out, std::optional<PKey> key) const;
  struct MulticastWalk;
  void WalkMulticast(PortRef at, bool origin, MulticastWalk& walk) const;

  // rmpp_model.cc
  static absl::Status CheckPayload(const mad::OutgoingMad& mad);
  void Segment(mad::OutgoingMad& mad, Packet& packet);
  static double LossOf(const Packet& packet, double loss);
  void AwaitAcknowledge(Host& host, const mad::OutgoingMad& mad, Packet& packet);
  void Acknowledge(const Packet& packet);
  void ReportUnacknowledged(const Event& event);

  // link_model.cc: links, faults.
  void SetPhysical(PortRef port, wire::PortPhysicalState state);
  void DropLink(PortRef port, bool asked_for);
  void NoteStateChange(PortRef port);
  void NoteChange(NodeIndex node) {
    if (observer_ != nullptr) observer_->OnNodeChanged(now_, node);
  }
  void TryTrain(PortRef port, Duration training_time);
  void FinishTraining(PortRef port);
  void FinishBoot(NodeIndex node);
  void SetIsSmBit(Instant now, PortRef port, bool is_sm);
  absl::Status CheckSocket(PortRef port) const;
  SimEndpoint Endpoint(PortRef port) const;

  // trap_sender.cc
  absl::StatusOr<PortRef> TrapSource(PortRef port) const;
  void RaiseTrap(const TrapKey& key, std::optional<TrapDetails> details = std::nullopt);
  void ScheduleTrap(Instant at, const TrapKey& key, uint32_t serial);
  void SendTrap(const TrapKey& key, const Trap& trap);
  void RunTrap(const Event& event);
  void Repress(NodeIndex node, uint64_t transaction_id);
  void ForgetTraps(NodeIndex node);
  wire::Notice MakeNotice(const TrapKey& key, const Trap& trap) const;
  static TrapDetails BadMKeyDetails(const Packet& packet, const wire::Smp& smp);
  static TrapDetails BadPKeyDetails(const Packet& packet);
  TrapDetails SwitchBadPKeyDetails(const Packet& packet, PortRef at) const;

  void Schedule(Event event);
  const Event* NextEvent() const;  // nullptr: none.
  void RunEvent(const Event& event);
  void RunDue(Instant now);
  void TimeOut(const Event& event);

  SimOptions options_;
  std::vector<NodeState> nodes_;
  absl::flat_hash_map<Guid, NodeIndex> by_guid_;
  absl::flat_hash_map<std::string, std::vector<NodeIndex>> by_description_;
  std::vector<std::unique_ptr<Host>> hosts_;  // In the order in which they were attached.
  absl::flat_hash_map<PortRef, Host*> host_of_;
  Instant now_{};
  // Heaps. Time-outs are apart because nearly all are of requests answered long before: the heap
  // that every MAD passes through stays small.
  std::vector<Event> events_, time_outs_;
  uint64_t next_sequence_ = 0;
  uint32_t next_serial_ = 1;
  uint32_t next_trap_id_ = 1;
  uint32_t next_host_id_ = 1;
  Rng rng_;
  MadFaults mad_faults_;
  absl::flat_hash_map<PortRef, double> link_loss_;  // Both ends of each cable.
  SimObserver* observer_ = nullptr;
  std::vector<Packet> in_flight_;  // Slots of packets that wait for their arrival.
  std::vector<uint32_t> free_slots_;
  std::map<TrapKey, Trap> traps_;
  SmaEffects effects_;  // Of the answer being given; a member to reuse its storage.
  std::vector<Delivery> delivered_;
  SimStats stats_;
};

}  // namespace fabricd::sim
