// SPDX-License-Identifier: Apache-2.0
#include "mad/transaction_engine.h"

#include <algorithm>
#include <span>

#include "common/check.h"

namespace fabricd::mad {
namespace {

using Outcome = Completion::Outcome;
using State = RequestSlot::State;
using Demand = RequestSlot::Demand;

bool IsBusy(const wire::Smp& smp) { return (smp.status & wire::kStatusBusy) != 0; }

OutgoingMad MakeMad(const RequestSlot& slot, Duration timeout) {
  const SmpRequest& request = slot.request;
  wire::Smp smp;
  smp.method = request.method;
  smp.tid = TransactionId(slot.tid);
  smp.attribute = request.attribute;
  smp.modifier = request.modifier;
  smp.m_key = slot.other_key().value_or(request.m_key);
  if (!request.lid) smp.path = slot.path();
  smp.data = request.data;
  OutgoingMad mad;
  mad.agent = request.lid ? Agent::kSmpLid : Agent::kSmpDirected;
  mad.to.lid = request.lid.value_or(kPermissiveLid);
  mad.timeout = timeout;
  mad.payload.resize(wire::kMadBytes);
  smp.Encode(std::span<uint8_t, wire::kMadBytes>(mad.payload.data(), wire::kMadBytes));
  return mad;
}

}  // namespace

TransactionEngine::TransactionEngine(const EngineOptions& options)
    : options_(options),
      slots_(options.first_transaction_id),
      queues_(slots_),
      window_(options_),
      queue_delay_(options_.queue_delay),
      scheduler_(options_, slots_, queues_, suspects_, window_.suspect_limit()),
      attempts_(slots_) {
  FABRICD_CHECK(options.first_timeout > Duration::zero() && options.timeout_factor >= 1.0);
  recorder_.NoteWindow(window_.size(), window_.shrinks());
}

// ---- sending

void TransactionEngine::Submit(const SmpRequest& request) {
  const DeviceId device = request.device;
  FABRICD_CHECK(request.method == wire::Method::kGet || request.method == wire::Method::kSet,
                "method {:#x}", static_cast<unsigned>(request.method));
  FABRICD_CHECK(request.priority < kPriorities, "priority {}", request.priority);
  FABRICD_CHECK(device < kMaxDevices, "device {} is not a dense number", device);
  queues_.Add(device);
  suspects_.Add(device);
  scheduler_.Add(device);
  const SlotIndex index = slots_.Allocate(request);
  slots_.At(index).counters = recorder_.CountersOf(request.attribute, request.method);
  queues_.Enqueue(index, /*front=*/false);
  scheduler_.OnQueueChange(device);
}

void TransactionEngine::Pump(Instant now, std::vector<OutgoingMad>& out, Done& done) {
  done.insert(done.end(), given_up_.begin(), given_up_.end());
  given_up_.clear();
  if (now >= NextDeadline()) Expire(now, done);
  while (attempts_.places() < window_.limit()) {
    const SlotIndex index = scheduler_.TakeNext();
    if (index == kNoIndex) return;
    out.push_back(StartAttempt(index, now));
  }
  window_.OnFull();
}

uint32_t TransactionEngine::RetriesOf(const RequestSlot& slot) const {
  return slot.request.pace ? slot.request.pace->retries : options_.retries;
}

Duration TransactionEngine::TimeoutOf(const RequestSlot& slot) const {
  if (slot.request.pace) return slot.request.pace->timeout;
  const uint32_t attempt = slot.attempts;
  double timeout = static_cast<double>(options_.first_timeout.count());
  for (uint32_t n = 1; n < attempt; ++n) timeout *= options_.timeout_factor;
  const double cap =
      static_cast<double>(std::max(options_.timeout_cap, options_.first_timeout).count());
  return Duration(static_cast<Duration::rep>(std::min(timeout, cap)));
}

OutgoingMad TransactionEngine::StartAttempt(SlotIndex index, Instant now) {
  slots_.AssignId(index);
  RequestSlot& slot = slots_.At(index);
  slot.state = State::kInFlight;
  slot.shrinks = window_.shrinks();
  slot.sent_at = now;
  if (slot.attempts == 0) slot.first_sent_at = now;
  recorder_.CountAttempt(*slot.counters, /*is_repeat=*/slot.attempts > 0);
  ++slot.attempts;
  const Duration timeout = TimeoutOf(slot);
  attempts_.Add(index, now + timeout + options_.safety_margin);
  return MakeMad(slot, timeout);
}

// ---- the end of an attempt

// Its places are free again.
void TransactionEngine::EndAttempt(SlotIndex index) {
  attempts_.Remove(index);
  scheduler_.Release(slots_.At(index));
}

void TransactionEngine::HoldAttempt(SlotIndex index, State why, Instant now) {
  slots_.At(index).state = why;
  attempts_.SetDeadline(index, now + TimeoutOf(slots_.At(index)));
}

void TransactionEngine::Requeue(SlotIndex index) {
  queues_.Enqueue(index, /*front=*/true);
  scheduler_.OnQueueChange(slots_.At(index).request.device);
}

void TransactionEngine::RepeatOrGiveUp(SlotIndex index, Done& done) {
  const RequestSlot& slot = slots_.At(index);
  const size_t repeats = std::max<size_t>(RetriesOf(slot), slot.request.other_keys.size());
  if (slot.WantsCompletion() && slot.attempts <= repeats) {
    Requeue(index);
    return;
  }
  if (slot.WantsCompletion()) {
    const bool was_sent = slot.state != State::kUnsent;
    Complete(slot, was_sent ? Outcome::kTimedOut : Outcome::kSendFailed, done);
    if (was_sent && !slot.request.may_be_unknown) GiveUpSameRoute(slot, done);
  }
  slots_.Free(index);
}

// The transport reported that no answer to this attempt came in time, or failed to report at all.
void TransactionEngine::OnTimeout(SlotIndex index, Done& done) {
  RequestSlot& slot = slots_.At(index);
  const DeviceId device = slot.request.device;
  window_.OnTimeout();
  if (slot.demand == Demand::kNoneDue) {
    EndAttempt(index);
    slots_.Free(index);
    return;
  }
  ++slot.counters->timeouts;
  ++slot.timeouts;
  if (!slot.request.may_be_unknown && suspects_.OnTimeout(device, slot.shrinks)) {
    recorder_.NoteSuspects(suspects_.count());
    scheduler_.OnSuspectChange(device);
  }
  EndAttempt(index);
  // The next attempt has another key, and the response must show which key got it.
  if (!slot.request.other_keys.empty()) slots_.DropId(index);
  RepeatOrGiveUp(index, done);
}

// The attempt never left. It keeps its places until its timeout has passed, so that a transport in
// trouble is not flooded.
void TransactionEngine::OnUnsent(SlotIndex index, Instant now) {
  recorder_.CountSendFailure();
  HoldAttempt(index, State::kUnsent, now);
}

void TransactionEngine::Expire(Instant now, Done& done) {
  for (const SlotIndex index : attempts_.FindOverdue(now)) {
    if (slots_.At(index).IsHeld()) {
      EndAttempt(index);
      RepeatOrGiveUp(index, done);
      continue;
    }
    slots_.DropId(index);  // The transport may still hold it.
    OnTimeout(index, done);
  }
}

void TransactionEngine::GiveUpSameRoute(const RequestSlot& dead, Done& done) {
  const SmpRequest& request = dead.request;
  if (suspects_.answered_at(request.device) >= dead.first_sent_at) return;
  queues_.ForEach(request.device, [&](SlotIndex index) {
    const SmpRequest& other = slots_.At(index).request;
    if (other.path != request.path || other.lid != request.lid ||
        other.alternative != request.alternative)
      return;
    Complete(slots_.At(index), Outcome::kTimedOut, done);
    Drop(index);
  });
  scheduler_.OnQueueChange(request.device);
}

// ---- what comes back

void TransactionEngine::OnIncoming(const IncomingMad& mad, Instant now, Done& done) {
  if (mad.kind == IncomingMad::Kind::kReceived) {
    OnResponse(mad, now, done);
    return;
  }
  const SlotIndex index = FindReported(mad.payload);
  if (index == kNoIndex) {
    recorder_.CountUnmatched();
  } else if (mad.kind == IncomingMad::Kind::kTimedOut) {
    OnTimeout(index, done);
  } else {
    OnUnsent(index, now);
  }
}

void TransactionEngine::OnSendFailed(const OutgoingMad& mad, Instant now) {
  const SlotIndex index = FindReported(mad.payload);
  if (index == kNoIndex) {
    recorder_.CountUnmatched();
  } else {
    OnUnsent(index, now);
  }
}

// The attempt in flight that a report about a sent MAD speaks of. A report on an attempt that was
// given up already, or on a response we sent, finds none.
SlotIndex TransactionEngine::FindReported(const std::vector<uint8_t>& payload) {
  if (payload.size() < wire::kMadBytes) return kNoIndex;
  const wire::MadHeader header = wire::MadHeader::Decode(WholeMad(payload));
  const SlotIndex index = slots_.Find(header.tid());
  if (index == kNoIndex) return kNoIndex;
  const RequestSlot& slot = slots_.At(index);
  const bool directed = header.management_class == wire::ManagementClass::kSubnDirectedRoute;
  const bool matches =
      slot.state == State::kInFlight && header.tid().value() == slot.tid &&
      header.method == slot.request.method && header.attribute == slot.request.attribute &&
      header.modifier == slot.request.modifier && directed == !slot.request.lid.has_value();
  return matches ? index : kNoIndex;
}

SlotIndex TransactionEngine::FindAnswered(const wire::Smp& response) {
  if (response.method != wire::Method::kGetResp) return kNoIndex;
  const SlotIndex index = slots_.Find(response.tid);
  if (index == kNoIndex) return kNoIndex;
  const SmpRequest& request = slots_.At(index).request;
  const bool matches = response.attribute == request.attribute &&
                       response.modifier == request.modifier &&
                       response.path.has_value() == !request.lid.has_value();
  return matches ? index : kNoIndex;
}

void TransactionEngine::OnResponse(const IncomingMad& mad, Instant now, Done& done) {
  std::optional<wire::Smp> smp;
  if (mad.payload.size() >= wire::kMadBytes) smp = wire::Smp::Decode(WholeMad(mad.payload));
  const SlotIndex index = smp ? FindAnswered(*smp) : kNoIndex;
  if (index == kNoIndex) {
    recorder_.CountUnmatched();
    return;
  }
  const RequestSlot& slot = slots_.At(index);
  if (smp->tid.value() == slot.redirected_tid && slot.IsInFlight())
    OnAnswerToRedirected(index, *smp, now, done);
  else
    OnAnswer(index, *smp, now, done);
}

// What it was redirected to is on the wire and keeps its places until it is answered or times out.
void TransactionEngine::OnAnswerToRedirected(SlotIndex index, const wire::Smp& smp, Instant now,
                                             Done& done) {
  RequestSlot& slot = slots_.At(index);
  slots_.DropRetiredId(index);
  if (!slot.WantsCompletion() || IsBusy(smp)) return;
  suspects_.OnAnswer(slot.request.device, now);
  recorder_.CountResponse(*slot.counters, smp.status);
  CompleteWith(slot, smp, done);
  slot.demand = Demand::kNoneDue;
}

// For the window, and for the limits of its device.
void TransactionEngine::CountAnswer(const RequestSlot& slot, Instant now) {
  const DeviceId device = slot.request.device;
  const bool reveals_loss = suspects_.WouldRevealLoss(device, window_.shrinks());
  suspects_.OnAnswer(device, now);
  if (suspects_.Clear(device)) {
    recorder_.NoteSuspects(suspects_.count());
    scheduler_.OnSuspectChange(device);
  }
  const size_t hops = slot.request.lid ? 0 : slot.path().hops();
  const bool has_queued =
      slot.attempts == 1 && slot.IsInFlight() && queue_delay_.Note(hops, now - slot.sent_at);
  window_.OnAnswer(reveals_loss, has_queued);
  recorder_.NoteWindow(window_.size(), window_.shrinks());
  scheduler_.SetSuspectLimit(window_.suspect_limit());
}

void TransactionEngine::OnAnswer(SlotIndex index, const wire::Smp& smp, Instant now, Done& done) {
  RequestSlot& slot = slots_.At(index);
  recorder_.CountResponse(*slot.counters, smp.status);
  CountAnswer(slot, now);
  if (slot.on_alternative) PreferAlternative(slot.request);
  // Busy means the MAD was dropped (IBA vol 1 §13.4.7): worth a repeat, but not at once.
  if (IsBusy(smp) && slot.WantsCompletion() && slot.attempts <= RetriesOf(slot)) {
    // Else it is late, and its repeat is queued.
    if (slot.IsInFlight()) HoldAttempt(index, State::kAnsweredBusy, now);
    return;
  }
  if (slot.IsInFlight()) {
    if (slot.attempts == 1) recorder_.CountRoundTrip(now - slot.sent_at);
    EndAttempt(index);
  } else {
    queues_.Dequeue(index);
    scheduler_.OnQueueChange(slot.request.device);
  }
  if (slot.WantsCompletion()) CompleteWith(slot, smp, done);
  slots_.Free(index);
}

void TransactionEngine::Complete(const RequestSlot& slot, Outcome outcome, Done& done) {
  Completion& completion = done.emplace_back();
  completion.context = slot.request.context;
  completion.outcome = outcome;
  completion.sent = slot.attempts > 0;
  completion.attempts = slot.attempts;
  completion.method = slot.request.method;
  completion.attribute = slot.request.attribute;
  completion.modifier = slot.request.modifier;
  completion.device = slot.request.device;
  completion.may_be_unknown = slot.request.may_be_unknown;
  completion.path_used = slot.path();
}

void TransactionEngine::CompleteWith(const RequestSlot& slot, const wire::Smp& smp, Done& done) {
  Complete(slot, Outcome::kResponse, done);
  Completion& completion = done.back();
  completion.response = smp;
  completion.status = smp.status;
  if (smp.path) completion.path_used = *smp.path;
  completion.found_key = slot.other_key();
}

// ---- paths that end

// What waits for the device by the path that failed takes the one that did not.
void TransactionEngine::PreferAlternative(const SmpRequest& answered) {
  queues_.ForEach(answered.device, [&](SlotIndex index) {
    SmpRequest& request = slots_.At(index).request;
    if (request.alternative == answered.alternative && request.path == answered.path)
      std::swap(request.path, *request.alternative);
  });
}

void TransactionEngine::Redirect(DeviceId device, const wire::DirectedPath& from,
                                 const wire::DirectedPath& to) {
  if (!queues_.Has(device)) return;
  const auto goes_there = [&](const SmpRequest& request) {
    return request.device == device && !request.lid && request.path == from;
  };
  const auto turn = [&](SmpRequest& request) {
    request.path = to;
    if (request.alternative == to) request.alternative.reset();
  };
  queues_.ForEach(device, [&](SlotIndex index) {
    if (goes_there(slots_.At(index).request)) turn(slots_.At(index).request);
  });
  std::vector<SlotIndex> lost;
  for (const SlotIndex index : attempts_.indices()) {
    const RequestSlot& slot = slots_.At(index);
    const bool may_repeat =
        slot.WantsCompletion() && !slot.IsHeld() && slot.attempts <= RetriesOf(slot);
    if (may_repeat && !slot.on_alternative && goes_there(slot.request)) lost.push_back(index);
  }
  for (const SlotIndex index : lost) {
    RequestSlot& slot = slots_.At(index);
    slots_.RetireId(index);
    attempts_.KeepPlaceUntil(slot.deadline - options_.safety_margin);
    EndAttempt(index);
    turn(slot.request);
    queues_.Enqueue(index, /*front=*/true);
  }
  scheduler_.OnRouteChange(device);
}

void TransactionEngine::GiveUp(DeviceId device, const std::optional<wire::DirectedPath>& only) {
  if (!queues_.Has(device)) return;
  const auto is_hopeless = [&](const SmpRequest& request) {
    const bool no_other = !request.lid && !request.alternative;
    return request.device == device && request.method == wire::Method::kGet &&
           (!only || (no_other && request.path == *only));
  };
  queues_.ForEach(device, [&](SlotIndex index) {
    if (!is_hopeless(slots_.At(index).request)) return;
    Complete(slots_.At(index), Outcome::kTimedOut, given_up_);
    Drop(index);
  });
  for (const SlotIndex index : attempts_.indices()) {
    RequestSlot& slot = slots_.At(index);
    if (!slot.WantsCompletion() || !is_hopeless(slot.request)) continue;
    Complete(slot, Outcome::kTimedOut, given_up_);
    slot.demand = Demand::kNoneDue;
  }
  scheduler_.OnQueueChange(device);
}

// ---- cancelling

void TransactionEngine::Drop(SlotIndex queued) {
  queues_.Dequeue(queued);
  slots_.Free(queued);
}

void TransactionEngine::DropQueued(DeviceId device) {
  queues_.ForEach(device, [this](SlotIndex index) { Drop(index); });
  scheduler_.OnQueueChange(device);
}

void TransactionEngine::CancelDevice(DeviceId device) {
  if (!queues_.Has(device)) return;
  DropQueued(device);
  for (const SlotIndex index : attempts_.indices()) {
    RequestSlot& slot = slots_.At(index);
    if (slot.request.device == device && slot.WantsCompletion()) slot.demand = Demand::kNone;
  }
  std::erase_if(given_up_, [&](const Completion& done) { return done.device == device; });
}

void TransactionEngine::CancelAll() {
  for (const DeviceId device : queues_.NonEmpty()) DropQueued(device);
  for (const SlotIndex index : attempts_.indices()) {
    RequestSlot& slot = slots_.At(index);
    if (slot.WantsCompletion()) slot.demand = Demand::kNone;
  }
  given_up_.clear();
}

void TransactionEngine::CancelQueuedIf(absl::FunctionRef<bool(const RequestContext&)> matches,
                                       Done& done) {
  for (const DeviceId device : queues_.NonEmpty()) {
    bool dropped = false;
    queues_.ForEach(device, [&](SlotIndex index) {
      const RequestSlot& slot = slots_.At(index);
      if (slot.attempts > 0 || !matches(slot.request.context)) return;
      Complete(slot, Outcome::kCancelled, done);
      Drop(index);
      dropped = true;
    });
    if (dropped) scheduler_.OnQueueChange(device);
  }
}

}  // namespace fabricd::mad
