// SPDX-License-Identifier: Apache-2.0
// FakeWire: a transport and devices in virtual time around one TransactionEngine. `react` decides
// what becomes of each MAD sent; the wire keeps its own count of what is outstanding, as the oracle
// for the windows.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "mad/transaction_engine.h"

namespace fabricd::mad {

using namespace std::chrono_literals;

inline wire::Smp DecodeSmp(const std::vector<uint8_t>& payload) {
  EXPECT_EQ(payload.size(), wire::kMadBytes);
  const auto smp =
      wire::Smp::Decode(std::span<const uint8_t, wire::kMadBytes>(payload.data(), wire::kMadBytes));
  EXPECT_TRUE(smp.has_value());
  return smp.value_or(wire::Smp{});
}

inline std::vector<uint8_t> EncodeSmp(const wire::Smp& smp) {
  std::vector<uint8_t> payload(wire::kMadBytes);
  smp.Encode(std::span<uint8_t, wire::kMadBytes>(payload.data(), wire::kMadBytes));
  return payload;
}

inline IncomingMad Received(const wire::Smp& smp) {
  IncomingMad mad;
  mad.agent = smp.path ? Agent::kSmpDirected : Agent::kSmpLid;
  mad.payload = EncodeSmp(smp);
  return mad;
}

inline wire::Smp AnswerTo(const wire::Smp& request, uint16_t status = 0) {
  wire::Smp answer = request;
  answer.method = wire::Method::kGetResp;
  answer.status = status;
  answer.returning = request.path.has_value();
  // The kernel's half, which the engine must not look at.
  answer.tid_high = 0xABCD;
  return answer;
}

class FakeWire {
 public:
  struct Sent {
    Instant at;
    OutgoingMad mad;
    wire::Smp smp;
    size_t number = 0;  // Of all that were sent.
  };
  struct Reaction {
    std::optional<Duration> answer = Duration(10us);  // nullopt: lost.
    uint16_t status = 0;
    int copies = 1;
    bool refuse = false;  // Transport::Send fails.
    bool report = true;   // The time-out is reported when due, unless answered before.
  };

  explicit FakeWire(const EngineOptions& options = {}) : engine(options), options_(options) {}

  // A Get whose modifier is the number in its context, so that the wire knows requests apart. Any
  // path will do.
  static SmpRequest Get(DeviceId device, uint32_t number, uint8_t priority = 1) {
    SmpRequest request;
    request.attribute = wire::AttributeId::kPortInfo;
    request.modifier = number;
    request.context.number = number;
    request.device = device;
    request.priority = priority;
    return request;
  }

  void Submit(const SmpRequest& request) {
    requests_[request.modifier] = request;
    engine.Submit(request);
  }

  // The wire still carries what the engine has given up there, but nobody counts it.
  void Redirect(DeviceId device, const wire::DirectedPath& from, const wire::DirectedPath& to) {
    for (const auto& [tid, number] : outstanding_)
      if (requests_.at(sent[number].smp.modifier).device == device && sent[number].smp.path == from)
        abandoned_.insert(tid);
    engine.Redirect(device, from, to);
  }

  void Pump() {
    std::vector<OutgoingMad> out;
    engine.Pump(now, out, done);
    for (OutgoingMad& mad : out) {
      sent.push_back(Sent{now, mad, DecodeSmp(mad.payload), sent.size()});
      Take(sent.back());
    }
    if (!out.empty()) {
      EXPECT_LE(outstanding_.size(), engine.statistics().window);
    }
  }

  // To the next event or deadline. False when there is none.
  bool Step() {
    const Instant due = events_.empty() ? kNever : events_.begin()->first;
    const Instant next = std::min(due, engine.NextDeadline());
    if (next == kNever) return false;
    now = std::max(now, next);
    while (!events_.empty() && events_.begin()->first <= now) {
      const Event event = std::move(events_.begin()->second);
      events_.erase(events_.begin());
      Handle(event);
    }
    Pump();
    return true;
  }
  void Run() {
    Pump();
    while (Step()) {
    }
  }
  // Up to and including what happens at `end`.
  void RunUntil(Instant end) {
    Pump();
    while (true) {
      const Instant due = events_.empty() ? kNever : events_.begin()->first;
      if (std::min(due, engine.NextDeadline()) > end) break;
      Step();
    }
    now = end;
  }

  size_t Count(Completion::Outcome outcome) const {
    size_t count = 0;
    for (const Completion& completion : done) count += completion.outcome == outcome;
    return count;
  }
  size_t outstanding() const { return outstanding_.size(); }

  TransactionEngine engine;
  Instant now{};
  std::function<Reaction(const Sent&)> react = [](const Sent&) { return Reaction{}; };
  std::vector<Sent> sent;
  std::vector<Completion> done;

 private:
  struct Event {
    IncomingMad mad;
    size_t number;        // Of the attempt.
    bool silent = false;  // The engine must see by itself that this moment has come.
  };

  // The attempts on the wire by request, and the limits they must keep.
  void Take(const Sent& one) {
    const Reaction reaction = react(one);
    if (reaction.refuse) {
      engine.OnSendFailed(one.mad, now);
      return;
    }
    EXPECT_TRUE(outstanding_.emplace(one.smp.tid.value(), one.number).second)
        << "transaction id " << one.smp.tid.value() << " is in use";
    const SmpRequest& request = requests_.at(one.smp.modifier);
    numbers_[one.number] = one.smp.tid.value();
    size_t of_device = 0, of_subtree = 0;
    for (const auto& [tid, number] : outstanding_) {
      if (abandoned_.contains(tid)) continue;
      const wire::Smp& other = sent[number].smp;
      of_device += requests_.at(other.modifier).device == request.device;
      of_subtree += one.smp.path && other.path && one.smp.path->hops() >= 2 &&
                    other.path->hops() >= 2 && (*other.path)[0] == (*one.smp.path)[0] &&
                    (*other.path)[1] == (*one.smp.path)[1];
    }
    EXPECT_LE(of_device, options_.device_limit);
    EXPECT_LE(of_subtree, options_.subtree_limit);

    const bool in_time = reaction.answer && *reaction.answer < one.mad.timeout;
    if (!in_time) {
      IncomingMad report{IncomingMad::Kind::kTimedOut, one.mad.agent, one.mad.to, one.mad.payload};
      const Duration extra = reaction.report ? Duration(0) : options_.safety_margin;
      events_.emplace(now + one.mad.timeout + extra,
                      Event{std::move(report), one.number, /*silent=*/!reaction.report});
    }
    if (!reaction.answer) return;
    for (int copy = 0; copy < reaction.copies; ++copy) {
      events_.emplace(now + *reaction.answer + copy * Duration(3us),
                      Event{Received(AnswerTo(one.smp, reaction.status)), one.number});
    }
  }

  void Handle(const Event& event) {
    // Any answer ends the attempt that now carries its id, as in the kernel.
    const uint32_t tid = numbers_.at(event.number);
    abandoned_.erase(tid);
    if (event.mad.kind == IncomingMad::Kind::kReceived) {
      outstanding_.erase(tid);
    } else if (auto it = outstanding_.find(tid);
               it != outstanding_.end() && it->second == event.number) {
      outstanding_.erase(it);
    } else {
      return;  // Answered meanwhile: the kernel has forgotten the attempt.
    }
    if (!event.silent) engine.OnIncoming(event.mad, now, done);
  }

  const EngineOptions options_;
  std::multimap<Instant, Event> events_;
  std::map<uint32_t, SmpRequest> requests_;  // By modifier.
  std::map<uint32_t, size_t> outstanding_;   // Transaction id to attempt.
  std::map<size_t, uint32_t> numbers_;
  std::set<uint32_t> abandoned_;  // Of outstanding_.
};

}  // namespace fabricd::mad
