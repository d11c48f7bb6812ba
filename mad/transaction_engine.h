// SPDX-License-Identifier: Apache-2.0
// TransactionEngine: from queued SMP requests to MADs on the wire and back to completions. It
// assigns transaction ids, holds the windows, repeats what timed out and matches what came back
// (IBA vol 1 §13.4.6.4 on transaction ids, §13.5.3 on timeouts, §14.2.2 on directed routes).
//
// Pure: no clock, no IO, no threads. Owned by the core thread. The caller feeds OnIncoming with
// what the transport delivers, calls Pump after a batch of Submit and OnIncoming calls and at
// NextDeadline(), and hands what Pump produced to Transport::Send, in order.
//
// Windows. How many requests are in flight: see AdaptiveWindow. Which of them: see DeviceScheduler.
// A device is suspect from its timeout until it answers anything, see SuspectDevices.
//
// Dead devices. When a request is given up and its device has answered nothing since it was first
// sent, what waits for the same device by the same route is given up with it, unsent: a switch that
// dies with a table of Sets ahead of it costs one round of timeouts, not one for each.
//
// Dead paths. What waits for a device that answered by SmpRequest::alternative takes that path
// first. What the caller knows to be under way over a link that is gone it redirects.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <absl/functional/function_ref.h>

#include "common/time.h"
#include "mad/adaptive_window.h"
#include "mad/attempts_in_flight.h"
#include "mad/device_queues.h"
#include "mad/device_scheduler.h"
#include "mad/engine_options.h"
#include "mad/engine_statistics.h"
#include "mad/request_slots.h"
#include "mad/smp_request.h"
#include "mad/suspect_devices.h"
#include "mad/transport.h"
#include "mad/wire/smp.h"

namespace fabricd::mad {

class TransactionEngine {
 public:
  explicit TransactionEngine(const EngineOptions& options);
  TransactionEngine(const TransactionEngine&) = delete;
  TransactionEngine& operator=(const TransactionEngine&) = delete;

  // Queues. Each request completes exactly once, unless it is cancelled.
  void Submit(const SmpRequest& request);

  // Responses, timeouts and send failures. What belongs to no request (Gets, Sets, traps of
  // others) is counted as unmatched: route requests elsewhere first, see IsForEngine().
  void OnIncoming(const IncomingMad& mad, Instant now, std::vector<Completion>& done);
  // For a Transport::Send that failed at once.
  void OnSendFailed(const OutgoingMad& mad, Instant now);

  // Appends what the windows allow to `out` and gives up what is overdue.
  void Pump(Instant now, std::vector<OutgoingMad>& out, std::vector<Completion>& done);
  // When Pump has work even if nothing arrives or is submitted; kNever when nothing is in flight.
  // May be early.
  Instant NextDeadline() const { return attempts_.NextDeadline(); }

  // Devices that have become suspect since the last call, in that order: one of their requests has
  // timed out, and nothing has come from them since.
  std::vector<DeviceId> TakeSuspects() { return suspects_.TakeNew(); }

  size_t in_flight() const { return attempts_.size(); }
  size_t queued() const { return queues_.size(); }
  size_t size() const { return in_flight() + queued() + given_up_.size(); }
  const EngineStatistics& statistics() const { return recorder_.statistics(); }

  // See AdaptiveWindow; for Pump()s to come.
  void SetPatient(bool patient) { window_.SetPatient(patient); }

  // `from` is known to lead nowhere any more: what is queued for `device` by that path takes `to`,
  // and what is in flight there, its last attempt apart, is repeated so at once instead of after
  // its timeout, though within the global window. It counts as an attempt, not as a loss. An answer
  // that was under way when the path ended is still one.
  void Redirect(DeviceId device, const wire::DirectedPath& from, const wire::DirectedPath& to);

  // Nothing leads to `device` any more, or nothing but `only` did and that leads nowhere: Gets for
  // it (by `only`) complete as kTimedOut with the next Pump(). What is in flight keeps its places
  // until its timeout, for it may be on the wire, and counts as no loss. Sets are waited for: what
  // they did has to be known.
  void GiveUp(DeviceId device, const std::optional<wire::DirectedPath>& only = std::nullopt);

  // Queued requests are dropped without a completion; answers to those in flight are ignored.
  void CancelDevice(DeviceId device);
  void CancelAll();
  // Drops what was never sent of this owner, or with this very context, as kCancelled; the rest
  // completes as ever.
  template <OneByteEnum Owner>
  void CancelQueuedOf(Owner owner, std::vector<Completion>& done) {
    CancelQueuedIf([owner](const RequestContext& each) { return each.owner_as<Owner>() == owner; },
                   done);
  }
  void CancelQueued(const RequestContext& context, std::vector<Completion>& done) {
    CancelQueuedIf([&](const RequestContext& each) { return each == context; }, done);
  }

 private:
  using Done = std::vector<Completion>;

  void Drop(SlotIndex queued);
  void DropQueued(DeviceId device);
  void CancelQueuedIf(absl::FunctionRef<bool(const RequestContext&)> matches, Done& done);

  OutgoingMad StartAttempt(SlotIndex index, Instant now);
  void EndAttempt(SlotIndex index);
  void HoldAttempt(SlotIndex index, RequestSlot::State why, Instant now);
  void Requeue(SlotIndex index);
  void RepeatOrGiveUp(SlotIndex index, Done& done);
  void OnTimeout(SlotIndex index, Done& done);
  void OnUnsent(SlotIndex index, Instant now);
  void Expire(Instant now, Done& done);

  SlotIndex FindReported(const std::vector<uint8_t>& payload);
  SlotIndex FindAnswered(const wire::Smp& response);
  void OnResponse(const IncomingMad& mad, Instant now, Done& done);
  void OnAnswer(SlotIndex index, const wire::Smp& smp, Instant now, Done& done);
  void OnAnswerToRedirected(SlotIndex index, const wire::Smp& smp, Instant now, Done& done);
  void CountAnswer(const RequestSlot& slot, Instant now);
  static void Complete(const RequestSlot& slot, Completion::Outcome outcome, Done& done);
  static void CompleteWith(const RequestSlot& slot, const wire::Smp& smp, Done& done);
  void GiveUpSameRoute(const RequestSlot& dead, Done& done);
  void PreferAlternative(const SmpRequest& answered);
  Duration TimeoutOf(uint32_t attempt) const;

  const EngineOptions options_;
  StatisticsRecorder recorder_;
  RequestSlots slots_;
  DeviceQueues queues_;
  SuspectDevices suspects_;
  AdaptiveWindow window_;
  DeviceScheduler scheduler_;
  AttemptsInFlight attempts_;
  Done given_up_;  // For the next Pump.
};

}  // namespace fabricd::mad
