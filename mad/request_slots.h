// SPDX-License-Identifier: Apache-2.0
// RequestSlots: storage for the requests of the TransactionEngine from submission to completion,
// and their transaction ids. Slots of a slab are reused, so a million requests cost no allocation
// each, and an index stays valid until Free().
//
// Transaction ids (IBA vol 1 §13.4.6.4). All attempts of a request have the same id, like the
// kernel's own retries, so a response to any of them counts. Another id is assigned where the
// transport may still hold the old one, because the kernel refuses a second MAD with it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "common/time.h"
#include "mad/engine_statistics.h"
#include "mad/index_list.h"
#include "mad/smp_request.h"

namespace fabricd::mad {

struct Gate;  // device_scheduler.h

using SlotIndex = uint32_t;  // kNoIndex: none.

struct RequestSlot {
  enum class State : uint8_t {
    kFree,
    kQueued,
    kInFlight,
    // These occupy places in flight, and are retried once the timeout of the attempt has passed:
    kAnsweredBusy,
    kUnsent,  // The transport refused the attempt, or failed to send it.
  };
  // What the caller still expects while an attempt is in flight.
  enum class Demand : uint8_t {
    kCompletion,
    kNone,     // Cancelled.
    kNoneDue,  // Completed before its response, which is no longer expected. It only keeps its
               // places, and its timeout is no loss.
  };

  SmpRequest request;
  MethodStatistics* counters = nullptr;
  std::array<Gate*, 2> gates{};  // Passed by the attempt in flight; null: none.
  Instant first_sent_at{}, sent_at{}, deadline{};
  SlotIndex previous = kNoIndex, next = kNoIndex;  // In its device's queue or the free list.
  uint32_t place = 0;                              // Among the attempts in flight.
  uint32_t tid = 0;                                // 0: none assigned.
  uint32_t redirected_tid = 0;                     // See RetireId(); 0: none.
  uint32_t attempts = 0;
  uint32_t timeouts = 0;
  uint64_t shrinks = 0;  // AdaptiveWindow::shrinks() when the attempt was sent.
  State state = State::kFree;
  Demand demand = Demand::kCompletion;
  bool on_alternative = false;  // Of the attempt in flight, or the last one.

  bool IsInFlight() const { return state >= State::kInFlight; }
  // In flight, but no response or report will come for this attempt.
  bool IsHeld() const { return state > State::kInFlight; }
  bool WantsCompletion() const { return demand == Demand::kCompletion; }
  // The directed route of the attempt.
  const wire::DirectedPath& path() const {
    return on_alternative ? *request.alternative : request.path;
  }
  // Of SmpRequest::other_keys, the one of the attempt; nullopt: SmpRequest::m_key.
  std::optional<MKey> other_key() const {
    const size_t turn = timeouts % (request.other_keys.size() + 1);
    return turn == 0 ? std::nullopt : std::optional(request.other_keys[turn - 1]);
  }
};

class RequestSlots {
 public:
  explicit RequestSlots(uint32_t first_transaction_id) : last_id_(first_transaction_id - 1) {}

  RequestSlot& At(SlotIndex index) { return slabs_[index / kSlabSlots][index % kSlabSlots]; }
  // Returns a slot for the request, otherwise in its initial state.
  SlotIndex Allocate(const SmpRequest& request);
  // Also frees its ids.
  void Free(SlotIndex index);

  // The slot that has this transaction id, or had it before RetireId(); kNoIndex: none.
  SlotIndex Find(TransactionId id) const;
  // Assigns a transaction id that no other slot has, unless the slot has one.
  void AssignId(SlotIndex index);
  // The slot will get another id. Responses to the old one belong to no request.
  void DropId(SlotIndex index);
  // The same, but a response to the old id may still arrive: Find() still finds the slot by it,
  // until the next RetireId() or DropRetiredId().
  void RetireId(SlotIndex index);
  void DropRetiredId(SlotIndex index);

 private:
  static constexpr size_t kSlabSlots = 256;

  std::vector<std::unique_ptr<RequestSlot[]>> slabs_;
  SlotIndex free_ = kNoIndex;
  absl::flat_hash_map<uint32_t, SlotIndex> by_id_;
  uint32_t last_id_;
};

}  // namespace fabricd::mad
