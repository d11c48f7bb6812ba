// SPDX-License-Identifier: Apache-2.0
#include "mad/transaction_engine.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "common/check.h"
#include "mad/transactions.h"

namespace fabricd::mad {
namespace {

constexpr size_t kMKeyOffset = 24;
constexpr size_t kDrSlidOffset = 32;
constexpr size_t kDataOffset = 64;
constexpr uint16_t kDirectionBit = 0x8000;
constexpr uint32_t kSmallestRound = 16;
constexpr uint32_t kLossShareDivisor = 32;
constexpr uint32_t kSuspectShareDivisor = 4;
constexpr uint32_t kRttWeightDivisor = 16;

std::span<const uint8_t, wire::kMadBytes> WholeMad(const std::vector<uint8_t>& payload) {
  FABRICD_CHECK(payload.size() >= wire::kMadBytes, "a MAD of {} bytes", payload.size());
  return std::span<const uint8_t, wire::kMadBytes>(payload.data(), wire::kMadBytes);
}

bool IsSmpAgent(Agent agent) { return agent == Agent::kSmpDirected || agent == Agent::kSmpLid; }

bool IsRequest(wire::Method method) {
  return method == wire::Method::kGet || method == wire::Method::kSet;
}

// An answer to `request`: its bytes with another header, addressed to where it came from.
OutgoingMad Reply(const IncomingMad& request, const wire::MadHeader& header) {
  OutgoingMad reply;
  reply.to = request.from;
  reply.to.qpn = 0;
  reply.to.qkey = 0;
  reply.payload.assign(request.payload.begin(), request.payload.begin() + wire::kMadBytes);
  header.Encode(std::span<uint8_t, wire::kMadBytes>(reply.payload.data(), wire::kMadBytes));
  return reply;
}

// The same, with its status, on the way that the request came: D set on a directed route.
OutgoingMad ReplyAlongItsRoute(const IncomingMad& request, wire::Method method, uint16_t status) {
  wire::MadHeader header = wire::MadHeader::Decode(WholeMad(request.payload));
  const bool directed = header.management_class == wire::ManagementClass::kSubnDirectedRoute;
  header.method = method;
  header.status = static_cast<uint16_t>((status & ~kDirectionBit) | (directed ? kDirectionBit : 0));
  OutgoingMad reply = Reply(request, header);
  reply.agent = directed ? Agent::kSmpDirected : Agent::kSmpLid;
  // Without a LID routed part before the directed one the way back is directed to its end.
  if (directed && reply.payload[kDrSlidOffset] == 0xFF &&
      reply.payload[kDrSlidOffset + 1] == 0xFF) {
    reply.to.lid = kPermissiveLid;
  }
  return reply;
}

void PutMKey(std::vector<uint8_t>& payload, MKey key) {
  for (size_t byte = 0; byte < 8; ++byte) {
    payload[kMKeyOffset + byte] = static_cast<uint8_t>(key.value() >> (56 - 8 * byte));
  }
}

}  // namespace

struct TransactionEngine::Slot {
  enum class State : uint8_t { kFree, kQueued, kFlying };
  SmpRequest request;
  MethodStatistics* counters = nullptr;
  Gate* subtree = nullptr;  // Of the attempt in flight.
  Instant first_sent_at{}, sent_at{}, deadline{};
  Index previous = kNone, next = kNone;  // In the device's queue; next also in the free list.
  Index place = 0;                       // In flying_.
  uint32_t tid = 0;                      // 0 before the first attempt.
  uint32_t redirected_tid = 0;           // Of an attempt that was redirected; 0: none was.
  uint32_t attempts = 0;
  uint32_t timeouts = 0;
  uint64_t shrinks = 0;  // statistics_.window_shrinks when the attempt left.
  State state = State::kFree;
  bool as_suspect = false;   // Counted in suspects_.
  bool held = false;         // Refused or answered busy: waits out the attempt's time-out.
  bool send_failed = false;  // The last attempt.
  bool cancelled = false;
  bool given_up = false;  // And cancelled: it only keeps its places until its time-out.
  bool on_alternative = false;
};

uint64_t EngineStatistics::total_sent() const {
  uint64_t total = 0;
  for (const auto& [id, attribute] : attributes) total += attribute.get.sent + attribute.set.sent;
  return total;
}

TransactionEngine::TransactionEngine(const EngineOptions& options)
    : options_(options),
      last_id_(options.first_transaction_id - 1),
      window_(std::clamp(options.window_initial, options.window_floor, options.window_max)) {
  FABRICD_CHECK(options.window_floor >= 1 && options.window_floor <= options.window_max,
                "window floor {}, max {}", options.window_floor, options.window_max);
  FABRICD_CHECK(options.device_limit >= 1 && options.subtree_limit >= 1);
  FABRICD_CHECK(options.first_timeout > Duration::zero() && options.timeout_factor >= 1.0);
  statistics_.window = window_;
}

TransactionEngine::~TransactionEngine() = default;

// ---- storage

TransactionEngine::Slot& TransactionEngine::At(Index index) {
  return slabs_[index / kSlabSlots][index % kSlabSlots];
}

TransactionEngine::Index TransactionEngine::Allocate() {
  if (free_ == kNone) {
    const Index first = static_cast<Index>(slabs_.size() * kSlabSlots);
    slabs_.push_back(std::make_unique<Slot[]>(kSlabSlots));
    for (Index index = first + kSlabSlots; index-- > first;) {
      At(index).next = free_;
      free_ = index;
    }
  }
  const Index index = free_;
  free_ = At(index).next;
  return index;
}

void TransactionEngine::Free(Index index) {
  Slot& slot = At(index);
  if (slot.tid != 0) by_id_.erase(slot.tid);
  if (slot.redirected_tid != 0) by_id_.erase(slot.redirected_tid);
  slot.state = Slot::State::kFree;
  slot.next = free_;
  free_ = index;
}

TransactionEngine::Device& TransactionEngine::Touch(DeviceId id) {
  FABRICD_CHECK(id < kMaxDevices, "device {} is not a dense number", id);
  if (id >= devices_.size()) devices_.resize(std::max<size_t>(id + 1, devices_.size() * 2));
  return devices_[id];
}

uint32_t TransactionEngine::NewTransactionId() {
  do {
    last_id_ = NextTransactionId(last_id_);
  } while (by_id_.contains(last_id_));
  return last_id_;
}

// ---- a device's queue, and where the device stands

void TransactionEngine::Enqueue(Index index, bool front) {
  Slot& slot = At(index);
  SlotList& queue = devices_[slot.request.device].queue[slot.request.priority];
  slot.state = Slot::State::kQueued;
  slot.previous = front ? kNone : queue.tail;
  slot.next = front ? queue.head : kNone;
  (slot.previous == kNone ? queue.head : At(slot.previous).next) = index;
  (slot.next == kNone ? queue.tail : At(slot.next).previous) = index;
  ++queued_;
  queued_devices_.insert(slot.request.device);
}

void TransactionEngine::Dequeue(Index index) {
  Slot& slot = At(index);
  SlotList& queue = devices_[slot.request.device].queue[slot.request.priority];
  (slot.previous == kNone ? queue.head : At(slot.previous).next) = slot.next;
  (slot.next == kNone ? queue.tail : At(slot.next).previous) = slot.previous;
  --queued_;
  if (devices_[slot.request.device].TopPriority() == kPriorities)
    queued_devices_.erase(slot.request.device);
}

void TransactionEngine::Link(DeviceId id, DeviceList& list, uint8_t priority, bool front) {
  Device& device = devices_[id];
  device.list = &list;
  device.list_priority = priority;
  device.previous = front ? kNone : list.tail;
  device.next = front ? list.head : kNone;
  (device.previous == kNone ? list.head : devices_[device.previous].next) = id;
  (device.next == kNone ? list.tail : devices_[device.next].previous) = id;
}

void TransactionEngine::Unlink(DeviceId id) {
  Device& device = devices_[id];
  if (device.list == nullptr) return;
  (device.previous == kNone ? device.list->head : devices_[device.previous].next) = device.next;
  (device.next == kNone ? device.list->tail : devices_[device.next].previous) = device.previous;
  device.list = nullptr;
  device.waiting_at = nullptr;
}

void TransactionEngine::ReturnToken(DeviceId id) {
  Gate* gate = devices_[id].woken_by;
  if (gate == nullptr) return;
  devices_[id].woken_by = nullptr;
  --gate->woken;
  Balance(*gate);
}

uint32_t TransactionEngine::Window() const {
  return patient_ && !lost_patience_ ? std::min(window_, options_.window_patient) : window_;
}

void TransactionEngine::SetPatient(bool patient) {
  if (std::exchange(patient_, patient) != patient) lost_patience_ = false;
}

uint32_t TransactionEngine::DeviceLimit(const Device& device) const {
  return device.suspect ? 1 : options_.device_limit;
}

uint32_t TransactionEngine::GateLimit(const Gate& gate) const {
  if (&gate != &suspects_) return options_.subtree_limit;
  return std::max({1u, window_ / kSuspectShareDivisor, options_.window_floor / 2});
}

uint8_t TransactionEngine::Device::TopPriority() const {
  uint8_t priority = 0;
  while (priority < kPriorities && queue[priority].head == kNone) ++priority;
  return priority;
}

// Puts the device where it belongs after its queue, its limit or its count in flight changed.
void TransactionEngine::Refresh(DeviceId id) {
  Device& device = devices_[id];
  const uint8_t priority = device.TopPriority();
  if (priority == kPriorities || device.in_flight >= DeviceLimit(device)) {
    Unlink(id);
    ReturnToken(id);
  } else if (device.list == nullptr || device.list_priority != priority) {
    // From a gate too: the request that is first now need not pass that gate.
    Unlink(id);
    Link(id, ready_[priority], priority, /*front=*/false);
  }
}

void TransactionEngine::WaitAt(DeviceId id, Gate& gate, bool front) {
  const uint8_t priority = devices_[id].TopPriority();
  Link(id, gate.waiting[priority], priority, front);
  devices_[id].waiting_at = &gate;
}

// Wakes one waiting device for each free place. Every change of a gate's count, tokens or limit
// ends here, so a device never waits at a gate with room.
void TransactionEngine::Balance(Gate& gate) {
  const uint32_t limit = GateLimit(gate);
  for (uint8_t priority = 0; priority < kPriorities;) {
    if (gate.in_flight + gate.woken >= limit) return;
    const DeviceId id = gate.waiting[priority].head;
    if (id == kNone) {
      ++priority;
      continue;
    }
    Unlink(id);
    devices_[id].woken_by = &gate;
    ++gate.woken;
    // To the front: it has waited.
    Link(id, ready_[priority], priority, /*front=*/true);
  }
}

DeviceId TransactionEngine::PopReady() {
  for (DeviceList& list : ready_) {
    const DeviceId id = list.head;
    if (id == kNone) continue;
    Unlink(id);
    return id;
  }
  return kNone;
}

TransactionEngine::Gate* TransactionEngine::SubtreeOf(const Slot& slot) {
  if (slot.request.lid) return nullptr;
  const wire::DirectedPath& path =
      slot.on_alternative ? *slot.request.alternative : slot.request.path;
  if (path.hops() < 2) return nullptr;
  std::unique_ptr<std::array<Gate, 256>>& by_second_hop = subtrees_[path[0]];
  if (by_second_hop == nullptr) by_second_hop = std::make_unique<std::array<Gate, 256>>();
  return &(*by_second_hop)[path[1]];
}

// ---- sending

void TransactionEngine::Submit(const SmpRequest& request) {
  FABRICD_CHECK(IsRequest(request.method), "method {:#x}", static_cast<unsigned>(request.method));
  FABRICD_CHECK(request.priority < kPriorities, "priority {}", request.priority);
  Touch(request.device);
  const Index index = Allocate();
  Slot& slot = At(index);
  slot = Slot{};
  slot.request = request;
  EngineStatistics::Attribute& attribute = statistics_.attributes[request.attribute];
  slot.counters = request.method == wire::Method::kSet ? &attribute.set : &attribute.get;
  Enqueue(index, /*front=*/false);
  Refresh(request.device);
}

void TransactionEngine::Pump(Instant now, std::vector<OutgoingMad>& out,
                             std::vector<Completion>& done) {
  done.insert(done.end(), given_up_.begin(), given_up_.end());
  given_up_.clear();
  if (now >= next_deadline_) Expire(now, done);
  while (in_flight() + redirected_.size() < Window()) {
    const DeviceId id = PopReady();
    if (id == kNone) return;
    Offer(id, now, out);
  }
  round_was_full_ = round_was_full_ || Window() == window_;
}

// Sends the first request of a device that was ready, or lets it wait at the gate that is full.
void TransactionEngine::Offer(DeviceId id, Instant now, std::vector<OutgoingMad>& out) {
  Device& device = devices_[id];
  Gate* const woken_by = device.woken_by;
  const Index index = device.queue[device.TopPriority()].head;
  Slot& slot = At(index);
  slot.on_alternative = slot.request.alternative && slot.timeouts >= options_.alternative_after;
  slot.subtree = SubtreeOf(slot);
  slot.as_suspect = device.suspect;
  Gate* const gates[] = {device.suspect ? &suspects_ : nullptr, slot.subtree};
  const auto full = std::find_if(std::begin(gates), std::end(gates), [this](const Gate* gate) {
    return gate != nullptr && gate->in_flight >= GateLimit(*gate);
  });
  if (full != std::end(gates)) {
    WaitAt(id, **full, /*front=*/*full == woken_by);
    ReturnToken(id);
    return;
  }
  Send(index, now, out);
  ReturnToken(id);
  Refresh(id);
}

Duration TransactionEngine::TimeoutOf(uint32_t attempt) const {
  double timeout = static_cast<double>(options_.first_timeout.count());
  for (uint32_t n = 1; n < attempt; ++n) timeout *= options_.timeout_factor;
  const double cap =
      static_cast<double>(std::max(options_.timeout_cap, options_.first_timeout).count());
  return Duration(static_cast<Duration::rep>(std::min(timeout, cap)));
}

void TransactionEngine::Send(Index index, Instant now, std::vector<OutgoingMad>& out) {
  Slot& slot = At(index);
  Dequeue(index);
  if (slot.tid == 0) {
    slot.tid = NewTransactionId();
    by_id_.emplace(slot.tid, index);
  }
  slot.state = Slot::State::kFlying;
  slot.held = slot.send_failed = false;
  slot.shrinks = statistics_.window_shrinks;
  if (slot.attempts == 0) slot.first_sent_at = now;
  if (slot.attempts++ > 0) ++slot.counters->retries;
  ++slot.counters->sent;
  const Duration timeout = TimeoutOf(slot.attempts);
  slot.sent_at = now;
  slot.deadline = now + timeout + options_.safety_margin;
  next_deadline_ = std::min(next_deadline_, slot.deadline);
  slot.place = static_cast<Index>(flying_.size());
  flying_.push_back(index);
  ++devices_[slot.request.device].in_flight;
  if (slot.subtree != nullptr) ++slot.subtree->in_flight;
  if (slot.as_suspect) ++suspects_.in_flight;

  const SmpRequest& request = slot.request;
  wire::Smp smp;
  smp.method = request.method;
  smp.tid = TransactionId(slot.tid);
  smp.attribute = request.attribute;
  smp.modifier = request.modifier;
  smp.m_key = request.m_key;
  if (!request.lid) smp.path = slot.on_alternative ? *request.alternative : request.path;
  smp.data = request.data;
  OutgoingMad& mad = out.emplace_back();
  mad.agent = request.lid ? Agent::kSmpLid : Agent::kSmpDirected;
  mad.to.lid = request.lid.value_or(kPermissiveLid);
  mad.timeout = timeout;
  mad.payload.resize(wire::kMadBytes);
  smp.Encode(std::span<uint8_t, wire::kMadBytes>(mad.payload.data(), wire::kMadBytes));
}

// ---- what comes back

// An attempt is over: its places are free again.
void TransactionEngine::Land(Index index) {
  Slot& slot = At(index);
  flying_[slot.place] = flying_.back();
  At(flying_.back()).place = slot.place;
  flying_.pop_back();
  if (flying_.empty()) next_deadline_ = redirected_.empty() ? kNever : *redirected_.begin();
  slot.state = Slot::State::kFree;
  --devices_[slot.request.device].in_flight;
  if (slot.subtree != nullptr) {
    --slot.subtree->in_flight;
    Balance(*slot.subtree);
  }
  if (slot.as_suspect) {
    --suspects_.in_flight;
    Balance(suspects_);
  }
  Refresh(slot.request.device);
}

void TransactionEngine::OnIncoming(const IncomingMad& mad, Instant now,
                                   std::vector<Completion>& done) {
  if (mad.kind == IncomingMad::Kind::kReceived) {
    OnResponse(mad, now, done);
    return;
  }
  const Index index = FindReported(mad.payload);
  if (index == kNone) {
    ++statistics_.unmatched;
  } else if (mad.kind == IncomingMad::Kind::kTimedOut) {
    Lose(index, done);
  } else {
    Hold(index, now);
  }
}

void TransactionEngine::OnSendFailed(const OutgoingMad& mad, Instant now) {
  const Index index = FindReported(mad.payload);
  if (index == kNone) {
    ++statistics_.unmatched;
  } else {
    Hold(index, now);
  }
}

// The attempt in flight that a report about a sent MAD speaks of. A report on an attempt that was
// given up already, or on a response we sent, finds none.
TransactionEngine::Index TransactionEngine::FindReported(const std::vector<uint8_t>& payload) {
  if (payload.size() < wire::kMadBytes) return kNone;
  const wire::MadHeader header = wire::MadHeader::Decode(WholeMad(payload));
  const auto found = by_id_.find(header.tid().value());
  if (found == by_id_.end()) return kNone;
  const Slot& slot = At(found->second);
  const bool directed = header.management_class == wire::ManagementClass::kSubnDirectedRoute;
  const bool matches =
      slot.state == Slot::State::kFlying && !slot.held && header.tid().value() == slot.tid &&
      header.method == slot.request.method && header.attribute == slot.request.attribute &&
      header.modifier == slot.request.modifier && directed == !slot.request.lid.has_value();
  return matches ? found->second : kNone;
}

void TransactionEngine::OnResponse(const IncomingMad& mad, Instant now,
                                   std::vector<Completion>& done) {
  std::optional<wire::Smp> smp;
  if (mad.payload.size() >= wire::kMadBytes) smp = wire::Smp::Decode(WholeMad(mad.payload));
  const auto found =
      smp && smp->method == wire::Method::kGetResp ? by_id_.find(smp->tid.value()) : by_id_.end();
  if (found == by_id_.end()) {
    ++statistics_.unmatched;
    return;
  }
  const SmpRequest& request = At(found->second).request;
  if (smp->attribute != request.attribute || smp->modifier != request.modifier ||
      smp->path.has_value() != !request.lid.has_value()) {
    ++statistics_.unmatched;
    return;
  }
  const Index index = found->second;
  const bool of_redirected = smp->tid.value() == At(index).redirected_tid;
  if (of_redirected && At(index).state == Slot::State::kFlying)
    AnswerRedirected(index, *smp, now, done);
  else
    Answer(index, *smp, now, done);
}

// What it was redirected to is on the wire and keeps its places until it is answered or lost.
void TransactionEngine::AnswerRedirected(Index index, const wire::Smp& smp, Instant now,
                                         std::vector<Completion>& done) {
  Slot& slot = At(index);
  by_id_.erase(std::exchange(slot.redirected_tid, 0));
  if (slot.cancelled || (smp.status & wire::kStatusBusy) != 0) return;
  devices_[slot.request.device].answered_at = now;
  ++slot.counters->received;
  if (smp.status != wire::kStatusOk) ++statistics_.bad_status;
  CompleteBy(slot, smp, done);
  slot.cancelled = slot.given_up = true;
}

void TransactionEngine::Answer(Index index, const wire::Smp& smp, Instant now,
                               std::vector<Completion>& done) {
  Slot& slot = At(index);
  ++slot.counters->received;
  if (smp.status != wire::kStatusOk) ++statistics_.bad_status;
  Device& device = devices_[slot.request.device];
  device.answered_at = now;
  const bool revealed_loss = device.suspect && device.shrinks_at_loss == statistics_.window_shrinks;
  SetSuspect(slot.request.device, false);
  CountRound(revealed_loss);
  if (slot.on_alternative) TakeOtherWay(slot.request);
  const bool flying = slot.state == Slot::State::kFlying;
  // Busy means the MAD was dropped (IBA vol 1 §13.4.7): worth a repeat, but not at once.
  if ((smp.status & wire::kStatusBusy) != 0 && !slot.cancelled &&
      slot.attempts <= options_.retries) {
    if (!flying) return;  // Late, and its repeat is queued.
    slot.held = true;
    slot.deadline = now + TimeoutOf(slot.attempts);
    next_deadline_ = std::min(next_deadline_, slot.deadline);
    return;
  }
  if (flying) {
    if (slot.attempts == 1) {  // Of a repeat nobody can tell which attempt was answered.
      const Duration rtt = now - slot.sent_at;
      const bool first = statistics_.rtt_max == Duration::zero();
      statistics_.rtt_min = first ? rtt : std::min(statistics_.rtt_min, rtt);
      statistics_.rtt_max = std::max(statistics_.rtt_max, rtt);
      statistics_.rtt_average =
          first ? rtt
                : statistics_.rtt_average + (rtt - statistics_.rtt_average) / kRttWeightDivisor;
    }
    Land(index);
  } else {
    Dequeue(index);
    Refresh(slot.request.device);
  }
  if (!slot.cancelled) CompleteBy(slot, smp, done);
  Free(index);
}

void TransactionEngine::CompleteBy(const Slot& slot, const wire::Smp& smp,
                                   std::vector<Completion>& done) {
  Complete(slot, Completion::Outcome::kResponse, done);
  Completion& completion = done.back();
  completion.response = smp;
  completion.status = smp.status;
  if (smp.path) completion.path_used = *smp.path;
}

// The transport reported that nobody answered this attempt in time, or failed to report at all.
void TransactionEngine::Lose(Index index, std::vector<Completion>& done) {
  Slot& slot = At(index);
  lost_patience_ = true;
  if (slot.given_up) {  // Nobody expected an answer.
    Land(index);
    Free(index);
    return;
  }
  ++slot.counters->timeouts;
  ++slot.timeouts;
  Device& device = devices_[slot.request.device];
  if (!device.suspect) device.shrinks_at_loss = slot.shrinks;
  SetSuspect(slot.request.device, true);
  Land(index);
  RepeatOrGiveUp(index, done);
}

// The attempt never left. It keeps its places until its time-out has passed, so that a transport
// in trouble is not flooded.
void TransactionEngine::Hold(Index index, Instant now) {
  Slot& slot = At(index);
  ++statistics_.send_failures;
  slot.held = slot.send_failed = true;
  slot.deadline = now + TimeoutOf(slot.attempts);
  next_deadline_ = std::min(next_deadline_, slot.deadline);
}

void TransactionEngine::RepeatOrGiveUp(Index index, std::vector<Completion>& done) {
  Slot& slot = At(index);
  if (!slot.cancelled && slot.attempts <= options_.retries) {
    // The same id again, like the kernel's own repeats: an answer to any attempt is an answer.
    Enqueue(index, /*front=*/true);
    Refresh(slot.request.device);
    return;
  }
  using Outcome = Completion::Outcome;
  if (!slot.cancelled) {
    Complete(slot, slot.send_failed ? Outcome::kSendFailed : Outcome::kTimedOut, done);
    if (!slot.send_failed) GiveUpAlike(index, done);
  }
  Free(index);
}

void TransactionEngine::Complete(const Slot& slot, Completion::Outcome outcome,
                                 std::vector<Completion>& done) {
  Completion& completion = done.emplace_back();
  completion.context = slot.request.context;
  completion.outcome = outcome;
  completion.sent = slot.attempts > 0;
  completion.attempts = slot.attempts;
  completion.method = slot.request.method;
  completion.attribute = slot.request.attribute;
  completion.modifier = slot.request.modifier;
  completion.device = slot.request.device;
  completion.path_used = slot.on_alternative ? *slot.request.alternative : slot.request.path;
}

// What waits for the device by the way that failed goes by the way that did not.
void TransactionEngine::TakeOtherWay(const SmpRequest& answered) {
  for (const SlotList& queue : devices_[answered.device].queue) {
    for (Index index = queue.head; index != kNone; index = At(index).next) {
      SmpRequest& request = At(index).request;
      if (request.alternative == answered.alternative && request.path == answered.path)
        std::swap(request.path, *request.alternative);
    }
  }
}

void TransactionEngine::GiveUpAlike(Index given_up, std::vector<Completion>& done) {
  const Slot& dead = At(given_up);
  Device& device = devices_[dead.request.device];
  if (device.answered_at >= dead.first_sent_at) return;
  for (SlotList& queue : device.queue) {
    for (Index index = queue.head; index != kNone;) {
      const Slot& slot = At(index);
      const Index next = slot.next;
      const bool other_way = slot.request.alternative != dead.request.alternative;
      if (slot.request.path == dead.request.path && slot.request.lid == dead.request.lid &&
          !other_way) {
        Complete(slot, Completion::Outcome::kTimedOut, done);
        Dequeue(index);
        Free(index);
      }
      index = next;
    }
  }
  Refresh(dead.request.device);
}

void TransactionEngine::Redirect(DeviceId id, const wire::DirectedPath& from,
                                 const wire::DirectedPath& to) {
  if (id >= devices_.size()) return;
  const auto goes_there = [&](const SmpRequest& request) {
    return request.device == id && !request.lid && request.path == from;
  };
  const auto turn = [&](SmpRequest& request) {
    request.path = to;
    if (request.alternative == to) request.alternative.reset();
  };
  for (const SlotList& queue : devices_[id].queue)
    for (Index index = queue.head; index != kNone; index = At(index).next)
      if (goes_there(At(index).request)) turn(At(index).request);
  overdue_.clear();
  for (const Index index : flying_) {
    const Slot& slot = At(index);
    const bool may_repeat = !slot.cancelled && !slot.held && slot.attempts <= options_.retries;
    if (may_repeat && !slot.on_alternative && goes_there(slot.request)) overdue_.push_back(index);
  }
  for (const Index index : overdue_) {
    Slot& slot = At(index);
    // Its repeat gets another id, as that of what is overdue; but its answer may be under way.
    if (slot.redirected_tid != 0) by_id_.erase(slot.redirected_tid);
    slot.redirected_tid = std::exchange(slot.tid, 0);
    redirected_.insert(slot.deadline - options_.safety_margin);
    next_deadline_ = std::min(next_deadline_, *redirected_.begin());
    Land(index);
    turn(slot.request);
    Enqueue(index, /*front=*/true);
  }
  if (devices_[id].waiting_at != nullptr) Unlink(id);  // Perhaps at the gate of the old way.
  Refresh(id);
}

void TransactionEngine::GiveUp(DeviceId id, const std::optional<wire::DirectedPath>& only) {
  if (id >= devices_.size()) return;
  const auto is_hopeless = [&](const SmpRequest& request) {
    const bool no_other = !request.lid && !request.alternative;
    return request.device == id && request.method == wire::Method::kGet &&
           (!only || (no_other && request.path == *only));
  };
  for (SlotList& queue : devices_[id].queue) {
    for (Index index = queue.head; index != kNone;) {
      const Index next = At(index).next;
      if (is_hopeless(At(index).request)) {
        Complete(At(index), Completion::Outcome::kTimedOut, given_up_);
        Dequeue(index);
        Free(index);
      }
      index = next;
    }
  }
  for (const Index index : flying_) {
    Slot& slot = At(index);
    if (slot.cancelled || !is_hopeless(slot.request)) continue;
    Complete(slot, Completion::Outcome::kTimedOut, given_up_);
    slot.cancelled = slot.given_up = true;
  }
  Refresh(id);
}

void TransactionEngine::Expire(Instant now, std::vector<Completion>& done) {
  overdue_.clear();
  redirected_.erase(redirected_.begin(), redirected_.upper_bound(now));
  next_deadline_ = redirected_.empty() ? kNever : *redirected_.begin();
  for (const Index index : flying_) {
    const Instant deadline = At(index).deadline;
    if (deadline <= now) {
      overdue_.push_back(index);
    } else {
      next_deadline_ = std::min(next_deadline_, deadline);
    }
  }
  for (const Index index : overdue_) {
    Slot& slot = At(index);
    if (slot.held) {
      Land(index);
      RepeatOrGiveUp(index, done);
      continue;
    }
    // The transport may still hold the old id, and the kernel refuses a second MAD with it.
    by_id_.erase(slot.tid);
    slot.tid = 0;
    Lose(index, done);
  }
}

// ---- adaptation

void TransactionEngine::SetSuspect(DeviceId id, bool suspect) {
  Device& device = devices_[id];
  if (device.suspect == suspect) return;
  device.suspect = suspect;
  suspect ? ++statistics_.suspect_devices : --statistics_.suspect_devices;
  const auto known = std::find(new_suspects_.begin(), new_suspects_.end(), id);
  if (suspect && known == new_suspects_.end()) new_suspects_.push_back(id);
  if (!suspect && known != new_suspects_.end()) new_suspects_.erase(known);
  if (device.waiting_at == &suspects_) Unlink(id);
  Refresh(id);
}

// Counts an answer; see the rules at the top of the header.
void TransactionEngine::CountRound(bool revealed_loss) {
  ++round_answers_;
  if (revealed_loss) ++round_losses_;
  if (round_answers_ < std::max(window_, kSmallestRound)) return;
  if (round_losses_ >= 2 && round_losses_ * kLossShareDivisor >= round_answers_) {
    window_ = std::max(options_.window_floor, window_ / 2);
    ++statistics_.window_shrinks;
  } else if (round_losses_ == 0 && round_was_full_) {
    window_ = std::min(options_.window_max, window_ + options_.window_growth);
    Balance(suspects_);
  }
  statistics_.window = window_;
  round_answers_ = round_losses_ = 0;
  round_was_full_ = false;
}

// ---- cancelling

void TransactionEngine::DropQueued(DeviceId id) {
  for (uint8_t priority = 0; priority < kPriorities; ++priority) {
    while (devices_[id].queue[priority].head != kNone) {
      const Index index = devices_[id].queue[priority].head;
      Dequeue(index);
      Free(index);
    }
  }
  Refresh(id);
}

void TransactionEngine::CancelDevice(DeviceId device) {
  if (device >= devices_.size()) return;
  DropQueued(device);
  for (const Index index : flying_) {
    if (At(index).request.device == device) At(index).cancelled = true;
  }
  std::erase_if(given_up_, [&](const Completion& done) { return done.device == device; });
}

void TransactionEngine::CancelAll() {
  for (DeviceId id = 0; id < devices_.size(); ++id) DropQueued(id);
  for (const Index index : flying_) At(index).cancelled = true;
  given_up_.clear();
}

void TransactionEngine::CancelQueuedIf(absl::FunctionRef<bool(const RequestContext&)> matches,
                                       std::vector<Completion>& done) {
  std::vector<DeviceId> ids(queued_devices_.begin(), queued_devices_.end());
  std::sort(ids.begin(), ids.end());  // Hash order decides nothing.
  for (const DeviceId id : ids) {
    bool dropped = false;
    for (const SlotList& queue : devices_[id].queue) {
      for (Index index = queue.head; index != kNone;) {
        const Index next = At(index).next;
        if (At(index).attempts == 0 && matches(At(index).request.context)) {
          Dequeue(index);
          Complete(At(index), Completion::Outcome::kCancelled, done);
          Free(index);
          dropped = true;
        }
        index = next;
      }
    }
    if (dropped) Refresh(id);
  }
}

// ---- helpers for what others ask

bool IsForEngine(const IncomingMad& mad) {
  if (!IsSmpAgent(mad.agent) || mad.payload.size() < wire::kMadBytes) return false;
  const wire::MadHeader header = wire::MadHeader::Decode(WholeMad(mad.payload));
  if (IsTelemetryTransaction(header.tid())) return false;
  return mad.kind == IncomingMad::Kind::kReceived ? header.method == wire::Method::kGetResp
                                                  : IsRequest(header.method);
}

OutgoingMad MakeSmpResponse(const IncomingMad& request, const wire::Smp& response) {
  OutgoingMad reply = ReplyAlongItsRoute(request, wire::Method::kGetResp, response.status);
  PutMKey(reply.payload, response.m_key);
  std::copy(response.data.begin(), response.data.end(), reply.payload.begin() + kDataOffset);
  return reply;
}

OutgoingMad MakeTrapRepress(const IncomingMad& trap) {
  OutgoingMad reply = ReplyAlongItsRoute(trap, wire::Method::kTrapRepress, wire::kStatusOk);
  PutMKey(reply.payload, MKey{});
  return reply;
}

}  // namespace fabricd::mad
