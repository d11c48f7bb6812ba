// SPDX-License-Identifier: Apache-2.0
// RequestWindow: the requests in flight, by transaction id, and how many there may be. The window
// grows by an eighth for each window of responses, up to its maximum, and is halved where timeouts
// show loss: at most once for the requests of one window, and not for devices that did not respond
// before. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/ids.h"
#include "common/time.h"
#include "mad/transactions.h"
#include "telemetry/ask.h"

namespace fabricd::telemetry {

// What is in flight.
struct Request {
  uint32_t device = 0;  // NodeIndex.
  Ask ask{};
  PortNum port;
  bool is_repeat = false;
  bool is_voided = false;  // A timeout says nothing: the fabric was being changed.
  Instant sent{};
  Instant deadline{};  // A moment after the transport's: it tells first, where it tells at all.
};

class RequestWindow {
 public:
  // The highest bit of all transaction ids: tells the responses from those to other requests.
  static constexpr uint32_t kIdBit = mad::kTelemetryTransactionBit;

  // `first_round`: any number. Those who use a port one after the other take different ones, so
  // that none takes a late response to the other's request for its own.
  RequestWindow(uint32_t max_size, uint32_t first_round);

  bool HasRoom() const { return in_flight_ < size_; }
  uint32_t size() const { return size_; }
  uint32_t in_flight() const { return in_flight_; }
  // REQUIRES: HasRoom().
  TransactionId Open(const Request& request);
  // nullopt: not in flight, or no longer.
  std::optional<Request> Close(TransactionId id);
  const Request* Find(TransactionId id) const;
  void OnResponse();
  void OnLoss();
  void VoidAll();
  // The ids of those whose deadline has passed. Costs all slots: to be asked once a second.
  std::vector<TransactionId> Expired(Instant now) const;

 private:
  struct Slot {
    bool is_used = false;
    uint32_t round = 0;  // Of use: makes the id another one each time.
    Request request;
  };
  static constexpr uint32_t kSlotBits = 10;
  static constexpr uint32_t kSlotMask = (1u << kSlotBits) - 1;
  static constexpr uint32_t kRoundMask = (kIdBit >> kSlotBits) - 1;

  uint32_t max_size_, size_;
  uint32_t in_flight_ = 0;
  uint32_t responses_ = 0;     // Since the window grew.
  uint32_t loss_ignored_ = 0;  // Responses and losses to come before loss halves the window.
  std::vector<Slot> slots_;
  std::vector<uint16_t> free_;
};

}  // namespace fabricd::telemetry
