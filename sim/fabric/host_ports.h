// SPDX-License-Identifier: Apache-2.0
// HostPorts: the programs on end ports, served as the kernel does (ib_umad). It owns which ports
// have a program, which requests each program waits for, the payloads under RMPP that it has sent,
// and the deliveries that nobody has collected yet. It makes the packets of what a program sends
// and does not know how they travel.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include <absl/status/statusor.h>

#include "common/ids.h"
#include "common/time.h"
#include "mad/transport.h"
#include "sim/fabric/event_queue.h"
#include "sim/fabric/mad_faults.h"
#include "sim/fabric/packet.h"
#include "sim/fabric/rmpp_model.h"
#include "sim/fabric/sim_nodes.h"
#include "sim/fabric/sim_stats.h"

namespace fabricd::sim {

// Something that reached a program attached to a host port.
struct Delivery {
  Instant at;
  PortRef host;
  mad::Incoming what;
};

class HostPorts {
 public:
  // The references must outlive it.
  // `reports_events`: SimOptions::reports_port_events.
  HostPorts(bool reports_events, SimNodes& nodes, EventQueue& queue, SimStats& stats);
  void set_observer(SimObserver* observer) { observer_ = observer; }

  // No effect where there is a program already.
  void Attach(PortRef port);
  // Forgets all that the program waits for, and what was delivered to it.
  void Detach(PortRef port);
  bool IsAttached(PortRef port) const { return hosts_.contains(port); }
  // What SMInfo requests ask: whether the program there, if any, is a subnet manager.
  bool IsSm(PortRef port) const;
  // REQUIRES: IsAttached(port).
  void SetIsSm(PortRef port, bool is_sm);
  // The node has restarted. Its programs outlive that and their driver sets IsSM again.
  void RestoreIsSm(NodeIndex node);

  struct Request {  // That a program wants answered.
    PortRef host;
    uint64_t id;
    uint32_t serial;
    Duration timeout;
  };
  struct Sent {
    Packet packet;
    std::optional<Request> request;
  };
  // As umad_send: what is to travel. Errors as SimFabric::Send.
  absl::StatusOr<Sent> Send(PortRef from, mad::OutgoingMad mad);
  // Starts the timeout of a request, unless it is answered. To be called when all is done that
  // sending it caused at once: most requests are answered by then, and need no event.
  void StartTimeOut(const Request& request);
  // A MAD has reached the end port `at`, and is admitted by its partitions.
  void Receive(PortRef at, Packet&& packet);
  // Something has happened to the port that programs on it hear of.
  void OnPortEvent(PortRef port, mad::LocalPortEvent::Kind kind);
  // Events of the kinds kTimeOut and kNoAcknowledgement.
  void Run(const Event& event);

  // When the first was delivered of what waits; kNever: nothing does.
  Instant first_delivery() const { return delivered_.empty() ? kNever : delivered_.front().at; }
  // Appends all that was delivered to `out`, in order.
  void TakeDeliveries(std::vector<Delivery>& out);
  // Gives back what TakeDeliveries has given. REQUIRES: nothing was delivered since.
  void ReturnDeliveries(std::vector<Delivery> deliveries) { delivered_ = std::move(deliveries); }

 private:
  struct Waiting {
    mad::Agent agent;
    mad::Address to;
    std::array<uint8_t, 24> header;  // All that a time-out gives back (IBA vol 1 §13.4.2).
    uint8_t management_class;
    uint32_t serial;
  };
  struct Host {
    bool is_sm = false;
    uint32_t id = 0;
    absl::flat_hash_map<uint64_t, Waiting> waiting;  // By TransactionID.
  };
  Host* FindHost(PortRef port);
  void TimeOut(const Event& event);
  void Deliver(Delivery delivery);

  const bool reports_events_;
  SimNodes& nodes_;
  EventQueue& queue_;
  SimStats& stats_;
  RmppModel rmpp_;
  SimObserver* observer_ = nullptr;
  absl::flat_hash_map<PortRef, std::unique_ptr<Host>> hosts_;
  uint32_t next_host_id_ = 1;
  std::vector<Delivery> delivered_;
};

}  // namespace fabricd::sim
