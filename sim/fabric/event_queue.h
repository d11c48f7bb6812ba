// SPDX-License-Identifier: Apache-2.0
// EventQueue: the clock of a simulated fabric and the events that are scheduled on it. It owns the
// events that have not run yet and does not interpret them: SimFabric hands each back to the class
// that scheduled it, and only that class knows what `id` and `serial` mean.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/ids.h"
#include "common/time.h"

namespace fabricd::sim {

struct Event {
  enum class Kind : uint8_t {
    kArrive,             // PacketWalk
    kTimeOut,            // HostPorts
    kLinkRequest,        // LinkModel
    kTrain,              // LinkModel
    kRebooted,           // LinkModel
    kTrap,               // TrapSender
    kNoAcknowledgement,  // HostPorts
    kRouteTraffic,       // SimFabric
    kLinkErrors          // SimFabric
  };
  Instant at;
  Kind kind = Kind::kArrive;
  PortRef port;
  uint64_t id = 0;  // Slot, TransactionID, RMPP number, physical state, or a trap and its subject.
  uint32_t serial = 0;  // Tells an event that something newer has replaced.
  uint64_t sequence = 0;
  // For a heap whose top is the earliest.
  friend bool operator<(const Event& a, const Event& b) {
    return a.at != b.at ? a.at > b.at : a.sequence > b.sequence;
  }
};

class EventQueue {
 public:
  Instant now() const { return now_; }
  // The clock never goes back. Events that are due by then stay, for the next TakeDue.
  void AdvanceTo(Instant now);
  // Events of one instant run in the order in which they were scheduled.
  void Schedule(Event event);
  // A number that this queue has not given before: for Event::serial, and for RmppModel.
  uint32_t NextSerial() { return next_serial_++; }
  bool empty() const { return events_.empty() && time_outs_.empty(); }
  Instant next_at() const;  // kNever: none.
  // Takes the earliest event that is due at or before `now`, and advances the clock to it. When
  // there is none, the clock is advanced to `now`.
  std::optional<Event> TakeDue(Instant now);

 private:
  const Event* Next() const;  // nullptr: none.

  Instant now_{};
  // Heaps. Time-outs are apart because nearly all are of requests answered long before: the heap
  // that every MAD passes through stays small.
  std::vector<Event> events_, time_outs_;
  uint64_t next_sequence_ = 0;
  uint32_t next_serial_ = 1;
};

}  // namespace fabricd::sim
