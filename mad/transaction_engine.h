// SPDX-License-Identifier: Apache-2.0
// TransactionEngine: turns queued SMP requests into MADs, and responses into completions. It
// assigns transaction ids, applies the windows, retries after timeouts and matches responses (IBA
// vol 1 §13.4.6.4 on transaction ids, §13.5.3 on timeouts, §14.2.2 on directed routes).
//
// Pure: no clock, no IO, no threads. Owned by the core thread. The caller passes what the transport
// delivers to OnIncoming, calls Pump after a batch of Submit and OnIncoming calls and at
// NextDeadline(), and passes the result of Pump to Transport::Send, in order.
//
// Windows. AdaptiveWindow limits how many requests are in flight, DeviceScheduler selects them. A
// device is suspect from a timeout until its next response, see SuspectDevices.
//
// Unresponsive devices. When a request is given up and its device has not responded since the
// request was first sent, all requests queued for the device by the same route are given up unsent.
// So a switch that fails with a queue of Sets costs one series of timeouts and not one for each
// Set. A request with SmpRequest::may_be_unknown neither does that nor makes its device suspect.
//
// Lost paths. If a device responded by SmpRequest::alternative, its queued requests use that path
// first. The caller redirects requests in flight over a link that it knows to be lost.
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
#include "mad/queue_delay.h"
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

  // Queues a request. Each completes exactly once, unless it is cancelled.
  void Submit(const SmpRequest& request);

  // Responses, timeouts and send failures. MADs that belong to no request (Gets, Sets, traps of
  // others) are counted as unmatched: route them elsewhere first, see IsForEngine().
  void OnIncoming(const IncomingMad& mad, Instant now, std::vector<Completion>& done);
  // Call if Transport::Send failed at once.
  void OnSendFailed(const OutgoingMad& mad, Instant now);

  // Appends the MADs that the windows allow to `out`, and gives up overdue attempts.
  void Pump(Instant now, std::vector<OutgoingMad>& out, std::vector<Completion>& done);
  // The next time that Pump has work even if nothing arrives or is submitted. kNever: nothing is in
  // flight. May be early.
  Instant NextDeadline() const { return attempts_.NextDeadline(); }

  // Devices that have become suspect since the last call, in that order: one of their requests has
  // timed out, and nothing has come from them since.
  std::vector<DeviceId> TakeSuspects() { return suspects_.TakeNew(); }

  size_t in_flight() const { return attempts_.size(); }
  size_t queued() const { return queues_.size(); }
  size_t size() const { return in_flight() + queued() + given_up_.size(); }
  const EngineStatistics& statistics() const { return recorder_.statistics(); }

  // See AdaptiveWindow. Affects the following Pump()s.
  void SetPatient(bool patient) { window_.SetPatient(patient); }

  // The path `from` no longer works. Requests queued for `device` on this path use `to`. Those in
  // flight are retried by `to` at once, within the global window, unless they are at their last
  // attempt. The retry counts as an attempt, not as a loss. A response by the old path is still
  // accepted.
  void Redirect(DeviceId device, const wire::DirectedPath& from, const wire::DirectedPath& to);

  // No path leads to `device` any more. With `only`: the device had this path, which no longer
  // works. Gets for the device (by `only`) complete as kTimedOut with the next Pump(). Requests in
  // flight keep their places until their timeout, because they may be on the wire, and do not count
  // as lost. Sets are not given up, because their result must be known.
  void GiveUp(DeviceId device, const std::optional<wire::DirectedPath>& only = std::nullopt);

  // Drops queued requests without a completion. Responses to those in flight are ignored.
  void CancelDevice(DeviceId device);
  void CancelAll();
  // Requests of this owner (or with this context) that were never sent complete as kCancelled.
  // Those that were sent complete as usual.
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
  uint32_t RetriesOf(const RequestSlot& slot) const;
  Duration TimeoutOf(const RequestSlot& slot) const;  // Of its present attempt.

  const EngineOptions options_;
  StatisticsRecorder recorder_;
  RequestSlots slots_;
  DeviceQueues queues_;
  SuspectDevices suspects_;
  AdaptiveWindow window_;
  QueueDelay queue_delay_;
  DeviceScheduler scheduler_;
  AttemptsInFlight attempts_;
  Done given_up_;  // For the next Pump().
};

}  // namespace fabricd::mad
