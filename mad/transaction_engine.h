// SPDX-License-Identifier: Apache-2.0
// TransactionEngine: from queued SMP requests to MADs on the wire and back to completions. It gives
// out transaction ids, holds the windows, repeats what timed out and matches what came back (IBA
// vol 1 §13.4.6.4 on transaction ids, §13.5.3 on time-outs, §14.2.2 on directed routes).
//
// Pure: no clock, no IO, no threads. Owned by the core thread. The caller feeds OnIncoming with
// what the transport delivers, calls Pump after a batch of Submit and OnIncoming calls and at
// NextDeadline(), and hands what Pump produced to Transport::Send, in order.
//
// Windows. A request goes out when four limits allow it:
//   global    adaptive, between window_floor and window_max, and while the caller is patient at
//             most window_patient: whatever else the wire carries does not queue behind a sweep.
//             Its first time-out ends that: few who are silent would have all of so few places;
//   device    device_limit in flight to one device, 1 while the device is suspect;
//   subtree   subtree_limit in flight behind one egress port of the first switch, that is per
//             (path[0], path[1]) of a path of two or more hops. The first hop alone says nothing:
//             the SM's CA has one port. Shorter paths and LID routed requests have no subtree;
//   suspects  a quarter of the global window for all suspect devices together, at least half of
//             window_floor (and 1): where MADs are lost at random, every other device is suspect.
// A device is suspect from its time-out until it answers anything, so silent devices keep probing
// but cannot fill the window.
//
// Dead devices. When a request is given up and its device has answered nothing since it was first
// sent, what waits for the same device by the same route is given up with it, unsent: a switch that
// dies with a table of Sets ahead of it costs one round of time-outs, not one for each.
//
// Dead ways. What waits for a device that answered by SmpRequest::alternative goes that way first.
// What the caller knows to be under way over a link that is gone it redirects.
//
// Adaptation. Answers are counted in rounds of about one window. A round without a loss that filled
// the window adds window_growth. A round halves the window when at least two devices, and 1/32 of
// its answers, reveal a loss. A loss is revealed when a suspect device answers: then the MAD was
// lost, not the device; and it counts only if that MAD left after the last shrink. Hence silent
// devices, be it one or a whole subtree, never shrink the window, while overload, which hits
// devices that do answer, halves it once per time-out until the losses end.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>
#include <absl/functional/function_ref.h>

#include "common/ids.h"
#include "common/time.h"
#include "mad/request_context.h"
#include "mad/transport.h"
#include "mad/wire/smp.h"

namespace fabricd::mad {

// The caller's dense number of the device addressed, for the limits; below kMaxDevices.
using DeviceId = uint32_t;
inline constexpr DeviceId kMaxDevices = 1u << 22;

// 0 first (event handling), 1 normal, 2 background.
inline constexpr uint8_t kPriorities = 3;

struct EngineOptions {
  uint32_t first_transaction_id = 1;  // The telemetry bit (transactions.h) does not count.
  uint32_t window_initial = 32;
  uint32_t window_max = 128;  // As deep as the kernel's default send queue of a MAD QP.
  uint32_t window_floor = 8;
  uint32_t window_growth = 4;
  uint32_t window_patient = 8;  // See SetPatient().
  uint32_t device_limit = 2;
  uint32_t subtree_limit = 64;
  // Attempt n waits first_timeout * timeout_factor^(n-1), at most timeout_cap.
  Duration first_timeout = std::chrono::milliseconds(200);
  double timeout_factor = 1.5;
  Duration timeout_cap = std::chrono::seconds(1);
  uint32_t retries = 3;            // Repeats after the first attempt.
  uint32_t alternative_after = 2;  // Time-outs after which SmpRequest::alternative is taken.
  // The transport reports time-outs; one that was not reported this long after its due time counts
  // too.
  Duration safety_margin = std::chrono::seconds(1);
};

struct SmpRequest {
  wire::Method method = wire::Method::kGet;  // kGet or kSet.
  wire::AttributeId attribute = wire::AttributeId::kNone;
  uint32_t modifier = 0;
  MKey m_key;
  wire::DirectedPath path;                        // Directed route (the default).
  std::optional<Lid> lid;                         // Set: LID routed instead.
  std::optional<wire::DirectedPath> alternative;  // Tried after repeated time-outs.
  wire::SmpData data{};
  DeviceId device = 0;
  RequestContext context;  // Handed back in the completion.
  uint8_t priority = 1;    // Below kPriorities. First in, first out per device and priority.
};

struct Completion {
  enum class Outcome : uint8_t {
    kResponse,    // `response` and `status` are valid; status may be an error.
    kTimedOut,    // No attempt was answered, or none was made at a device found dead meanwhile.
    kSendFailed,  // The last attempt could not be sent.
    kCancelled,   // Dropped by CancelQueued() before it was ever sent.
  };
  RequestContext context;
  Outcome outcome = Outcome::kTimedOut;
  bool sent = false;  // Some attempt left, so that a Set may have done what it was to do.
  uint32_t attempts = 0;
  wire::Method method = wire::Method::kGet;  // Of the request.
  wire::AttributeId attribute = wire::AttributeId::kNone;
  uint32_t modifier = 0;
  DeviceId device = 0;
  wire::Smp response;
  uint16_t status = 0;           // MADHeader.Status without the D bit.
  wire::DirectedPath path_used;  // Of the attempt that was answered, or of the last one.
};

struct MethodStatistics {
  uint64_t sent = 0;      // Attempts, repeats included.
  uint64_t received = 0;  // Responses matched.
  uint64_t timeouts = 0;  // Attempts that timed out.
  uint64_t retries = 0;   // Attempts that were repeats.
  friend bool operator==(const MethodStatistics&, const MethodStatistics&) = default;
};

struct EngineStatistics {
  struct Attribute {
    MethodStatistics get, set;
  };
  std::map<wire::AttributeId, Attribute> attributes;
  uint64_t bad_status = 0;     // Responses with a status other than 0.
  uint64_t unmatched = 0;      // Responses and reports that belong to no request in flight.
  uint64_t send_failures = 0;  // Attempts the transport refused or failed to send.
  uint64_t window_shrinks = 0;
  uint32_t window = 0;           // Now.
  uint32_t suspect_devices = 0;  // Now.
  // Round-trip times of requests answered at the first attempt; the average is exponential (1/16).
  Duration rtt_min{}, rtt_average{}, rtt_max{};

  uint64_t total_sent() const;
};

class TransactionEngine {
 public:
  explicit TransactionEngine(const EngineOptions& options);
  TransactionEngine(const TransactionEngine&) = delete;
  TransactionEngine& operator=(const TransactionEngine&) = delete;
  ~TransactionEngine();

  // Queues. Each request completes exactly once, unless it is cancelled.
  void Submit(const SmpRequest& request);

  // Responses, time-outs and send failures. What belongs to no request (Gets, Sets, traps of
  // others) is counted as unmatched: route requests elsewhere first, see IsForEngine().
  void OnIncoming(const IncomingMad& mad, Instant now, std::vector<Completion>& done);
  // For a Transport::Send that failed at once.
  void OnSendFailed(const OutgoingMad& mad, Instant now);

  // Appends what the windows allow to `out` and gives up what is overdue.
  void Pump(Instant now, std::vector<OutgoingMad>& out, std::vector<Completion>& done);
  // When Pump has work even if nothing arrives or is asked for; kNever when nothing is in flight.
  // May be early.
  Instant NextDeadline() const { return next_deadline_; }

  // Devices that have become suspect since the last call, in that order: one of their requests has
  // timed out, and nothing has come from them since.
  std::vector<DeviceId> TakeSuspects() { return std::exchange(new_suspects_, {}); }

  size_t in_flight() const { return flying_.size(); }
  size_t queued() const { return queued_; }
  size_t size() const { return in_flight() + queued_ + given_up_.size(); }
  const EngineStatistics& statistics() const { return statistics_; }

  // Whether nothing that is asked or set is urgent: for Pump()s to come, until false or a time-out
  // ends it. False at first.
  void SetPatient(bool patient);

  // `from` is known to lead nowhere any more: what is queued for `device` by that way goes by `to`,
  // and what is in flight there, its last attempt apart, is repeated so at once instead of after
  // its time-out, though within the global window. It counts as an attempt, not as a loss. An
  // answer that was under way when the way ended is still one.
  void Redirect(DeviceId device, const wire::DirectedPath& from, const wire::DirectedPath& to);

  // Nothing leads to `device` any more, or nothing but `only` did and that leads nowhere: Gets for
  // it (by `only`) complete as kTimedOut with the next Pump(). What is in flight keeps its places
  // until its time-out, for it may be on the wire, and counts as no loss. Sets are waited for: what
  // came of them has to be known.
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
  using Index = uint32_t;
  static constexpr Index kNone = 0xFFFFFFFFu;
  static constexpr size_t kSlabSlots = 256;

  struct Slot;
  struct SlotList {
    Index head = kNone, tail = kNone;
  };
  struct DeviceList {
    DeviceId head = kNone, tail = kNone;
  };
  // A limit shared by several devices: those that found it full wait here.
  struct Gate {
    uint32_t in_flight = 0;
    uint32_t woken = 0;  // Devices moved to ready_ for a free place and not looked at since.
    std::array<DeviceList, kPriorities> waiting;
  };
  struct Device {
    std::array<SlotList, kPriorities> queue;
    uint32_t in_flight = 0;
    bool suspect = false;
    Instant answered_at = Instant::min();  // The last time.
    uint64_t shrinks_at_loss =
        0;  // EngineStatistics::window_shrinks when the first lost attempt left.
    // Where the device stands: in one of ready_, in one of a gate's waiting lists, or nowhere
    // (nothing queued, or at its limit).
    DeviceList* list = nullptr;
    uint8_t list_priority = 0;
    DeviceId previous = kNone, next = kNone;
    Gate* waiting_at = nullptr;
    Gate* woken_by = nullptr;

    uint8_t TopPriority() const;  // kPriorities when nothing is queued.
  };

  Slot& At(Index index);
  Index Allocate();
  void Free(Index index);
  Device& Touch(DeviceId id);
  uint32_t NewTransactionId();

  void Enqueue(Index index, bool front);
  void Dequeue(Index index);
  void Link(DeviceId id, DeviceList& list, uint8_t priority, bool front);
  void Unlink(DeviceId id);
  void Refresh(DeviceId id);
  void WaitAt(DeviceId id, Gate& gate, bool front);
  void ReturnToken(DeviceId id);
  void Balance(Gate& gate);
  DeviceId PopReady();
  uint32_t Window() const;  // The limit in force.
  uint32_t DeviceLimit(const Device& device) const;
  uint32_t GateLimit(const Gate& gate) const;
  Gate* SubtreeOf(const Slot& slot);

  void Offer(DeviceId id, Instant now, std::vector<OutgoingMad>& out);
  void Send(Index index, Instant now, std::vector<OutgoingMad>& out);
  void Land(Index index);
  Index FindReported(const std::vector<uint8_t>& payload);
  void OnResponse(const IncomingMad& mad, Instant now, std::vector<Completion>& done);
  void Answer(Index index, const wire::Smp& smp, Instant now, std::vector<Completion>& done);
  void AnswerRedirected(Index index, const wire::Smp& smp, Instant now,
                        std::vector<Completion>& done);
  void CompleteBy(const Slot& slot, const wire::Smp& smp, std::vector<Completion>& done);
  void Lose(Index index, std::vector<Completion>& done);
  void Hold(Index index, Instant now);
  void RepeatOrGiveUp(Index index, std::vector<Completion>& done);
  void Complete(const Slot& slot, Completion::Outcome outcome, std::vector<Completion>& done);
  void GiveUpAlike(Index index, std::vector<Completion>& done);
  void TakeOtherWay(const SmpRequest& answered);
  void Expire(Instant now, std::vector<Completion>& done);
  void SetSuspect(DeviceId id, bool suspect);
  void CountRound(bool revealed_loss);
  void DropQueued(DeviceId id);
  void CancelQueuedIf(absl::FunctionRef<bool(const RequestContext&)> matches,
                      std::vector<Completion>& done);
  Duration TimeoutOf(uint32_t attempt) const;

  const EngineOptions options_;
  EngineStatistics statistics_;

  std::vector<std::unique_ptr<Slot[]>> slabs_;
  Index free_ = kNone;
  std::vector<Device> devices_;
  std::array<DeviceList, kPriorities> ready_;
  // By the first hop, of which a CA has one, then the second.
  std::array<std::unique_ptr<std::array<Gate, 256>>, 256> subtrees_;
  Gate suspects_;
  absl::flat_hash_map<uint32_t, Index> by_id_;  // From the first attempt to the completion.
  uint32_t last_id_;

  std::vector<Index> flying_;           // In flight; each slot knows its place.
  std::vector<Index> overdue_;          // Scratch of Expire.
  std::vector<Completion> given_up_;    // For the next Pump.
  std::vector<DeviceId> new_suspects_;  // Each once.
  // When attempts that were redirected would have timed out: until then they take a place of the
  // window, for they may be on the wire.
  std::multiset<Instant> redirected_;
  size_t queued_ = 0;
  absl::flat_hash_set<DeviceId> queued_devices_;  // Those with something queued.
  Instant next_deadline_ = kNever;

  uint32_t window_;
  bool patient_ = false, lost_patience_ = false;
  uint32_t round_answers_ = 0;
  uint32_t round_losses_ = 0;
  bool round_was_full_ = false;
};

// True for what OnIncoming expects: responses to our SMPs, and reports on MADs we sent as requests,
// those of telemetry apart.
bool IsForEngine(const IncomingMad& mad);

// The response to another SM's Get or Set (SMInfo): id, route, hop count, hop pointer, attribute
// and modifier are the request's, method is GetResp, D is set on directed routes; M_Key, status and
// data are taken from `response`. The hop pointer stays as received (hop count + 1 on hardware),
// which is where the kernel's send side expects a returning SMP to start (IBA vol 1 §14.2.2.4).
// REQUIRES: request.payload holds a whole SMP.
OutgoingMad MakeSmpResponse(const IncomingMad& request, const wire::Smp& response);

// TrapRepress of a trap: LID routed to its source, same transaction id and data, M_Key 0 (§13.4.9,
// §14.2.4); of a trap that came by directed route, which nobody should send, the way back that a
// response would take. REQUIRES: trap.payload holds a whole SMP.
OutgoingMad MakeTrapRepress(const IncomingMad& trap);

}  // namespace fabricd::mad
