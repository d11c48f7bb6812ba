// SPDX-License-Identifier: Apache-2.0
// TrapSender: the traps by which devices report to their subnet manager unasked (IBA vol 1 §13.4.9,
// §14.2.5.1). It owns those that were raised and not repressed yet; each is sent to the MasterSMLID
// of its end port, and again and again until TrapRepress. It makes the packets and does not know
// how they travel: whoever calls Run or MakeStray carries what they return.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include "common/ids.h"
#include "common/time.h"
#include "mad/wire/notice.h"
#include "mad/wire/smp.h"
#include "sim/fabric/event_queue.h"
#include "sim/fabric/packet.h"
#include "sim/fabric/sim_nodes.h"
#include "sim/fabric/sim_stats.h"

namespace fabricd::sim {

class TrapSender {
 public:
  struct Options {
    Duration interval_min;  // Between two repeats of one trap.
    int repeats;
  };
  // All references must outlive it.
  TrapSender(Options options, const SimNodes& nodes, EventQueue& queue, SimStats& stats);

  // Something has happened that a trap reports. It leaves in an event of its own at this instant.
  // While the trap is not repressed, the next one of the same kind and place waits for that. No
  // effect where the end port that reports has no LID or knows no subnet manager.
  void RaiseLinkStateChange(NodeIndex switch_node);                                 // 128
  void RaiseCapabilityMaskChange(PortRef end_port);                                 // 144
  void RaiseBadMKey(PortRef end_port, const Packet& packet, const wire::Smp& smp);  // 256
  // 257 where `at` is an end port, 259 where it is an external port of a switch.
  void RaiseBadPKey(PortRef at, const Packet& packet);
  // One of 129-131 about `port`. kFailedPrecondition: its device is off, or has no SM to tell.
  absl::Status RaiseThreshold(PortRef port, uint16_t number);

  // One of 128-131 about `port`, to be sent now and never repeated, whatever else waits. Errors as
  // above.
  absl::StatusOr<Packet> MakeStray(PortRef port, uint16_t number);
  // An event of kind kTrap. A packet is to be sent now.
  std::optional<Packet> Run(const Event& event);

  // TrapRepress with this TransactionID has reached the node.
  void Repress(NodeIndex node, uint64_t transaction_id);
  // The node has lost power.
  void Forget(NodeIndex node);

 private:
  struct Key {
    PortRef source;  // The end port that sends it.
    uint16_t number = 0;
    PortNum subject;  // Traps 129-131 and 259: the port that it is about.
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  using Details = std::array<uint8_t, 54>;
  struct Trap {  // Sent, and not repressed yet.
    uint64_t transaction_id = 0;
    int repeats_left = 0;
    uint32_t serial = 0;
    bool again = false;  // It happened once more since it was sent.
    // Of what happened, where the registers of the port do not say it; of what happened last.
    std::optional<Details> details, later;
  };

  static Details BadMKeyDetails(const Packet& packet, const wire::Smp& smp);
  static Details BadPKeyDetails(const Packet& packet);
  Details SwitchBadPKeyDetails(const Packet& packet, PortRef at) const;
  absl::StatusOr<PortRef> Source(PortRef port) const;
  uint64_t NextTransactionId(NodeIndex node);
  void Raise(const Key& key, std::optional<Details> details = std::nullopt);
  void Schedule(Instant at, const Key& key, uint32_t serial);
  wire::Notice MakeNotice(const Key& key, const Trap& trap) const;
  Packet MakePacket(const Key& key, const Trap& trap);

  const Options options_;
  const SimNodes& nodes_;
  EventQueue& queue_;
  SimStats& stats_;
  std::map<Key, Trap> traps_;
  uint32_t next_id_ = 1;
};

}  // namespace fabricd::sim
