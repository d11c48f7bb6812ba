// SPDX-License-Identifier: Apache-2.0
// The transaction engine between a caller and a wire that are both scripts of the input: requests,
// answers right and wrong, any bytes as MADs, reports, time. Each request ends exactly once, as
// what it was; the window holds; and what arrives is answered in its own words.
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "common/check.h"
#include "mad/replies.h"
#include "mad/transaction_engine.h"
#include "mad/transactions.h"
#include "tests/fuzz/bytes.h"

namespace fabricd::mad {
namespace {

using test::FuzzBytes;
using Whole = std::span<const uint8_t, wire::kMadBytes>;

wire::MadHeader HeaderOf(const std::vector<uint8_t>& payload) {
  FABRICD_CHECK(payload.size() >= wire::kMadBytes);
  return wire::MadHeader::Decode(Whole(payload.data(), wire::kMadBytes));
}

// What an answer repeats of what it answers.
void CheckReply(const IncomingMad& request, const OutgoingMad& reply, wire::Method method) {
  const wire::MadHeader asked = HeaderOf(request.payload), said = HeaderOf(reply.payload);
  FABRICD_CHECK(reply.payload.size() == wire::kMadBytes && reply.timeout == Duration::zero());
  FABRICD_CHECK(said.method == method && said.transaction_id == asked.transaction_id);
  FABRICD_CHECK(said.attribute == asked.attribute && said.modifier == asked.modifier);
  FABRICD_CHECK(said.management_class == asked.management_class);
  FABRICD_CHECK(wire::Smp::Decode(Whole(reply.payload.data(), wire::kMadBytes)).has_value());
}

void Answer(const IncomingMad& mad, const wire::SmpData& data) {
  if (mad.payload.size() < wire::kMadBytes) return;
  const auto smp = wire::Smp::Decode(Whole(mad.payload.data(), wire::kMadBytes));
  if (!smp) return;
  wire::Smp response = *smp;
  response.data = data;
  const OutgoingMad reply = MakeSmpResponse(mad, response);
  CheckReply(mad, reply, wire::Method::kGetResp);
  const auto said = wire::Smp::Decode(Whole(reply.payload.data(), wire::kMadBytes));
  FABRICD_CHECK(said->data == data && said->returning == smp->path.has_value());
  FABRICD_CHECK(said->path == smp->path && said->m_key == smp->m_key);
  const OutgoingMad repress = MakeTrapRepress(mad, MKey());
  CheckReply(mad, repress, wire::Method::kTrapRepress);
  for (const OutgoingMad& sent : {reply, repress}) {
    FABRICD_CHECK(sent.agent == (smp->path ? Agent::kSmpDirected : Agent::kSmpLid));
    FABRICD_CHECK(smp->path || sent.to.lid == mad.from.lid);
  }
}

EngineOptions OptionsOf(FuzzBytes& input) {
  EngineOptions options;
  const uint8_t byte = input.Byte();
  options.window_floor = 1 + byte % 4;
  options.window_max = options.window_floor + byte / 4 % 16;
  options.window_initial = 1 + input.Byte() % 32;
  options.window_patient = 1 + byte / 8 % 8;
  options.device_limit = 1 + byte / 64;
  options.subtree_limit = 1 + input.Byte() % 8;
  options.retries = input.Byte() % 4;
  options.alternative_after = input.Byte() % 4;
  // At the end of the numbers too: 0 is no TransactionID, and the highest bit is telemetry's.
  options.first_transaction_id = byte % 2 == 0 ? 1 : kTelemetryTransactionBit - 16;
  return options;
}

class Script {
 public:
  explicit Script(FuzzBytes input)
      : input_(input), options_(OptionsOf(input_)), engine_(options_) {}

  void Run() {
    while (!input_.AtEnd()) {
      Act();
      if (input_.Byte() % 4 != 0) Pump();
    }
    Drain();
    for (const auto& [number, request] : requests_) {
      FABRICD_CHECK(request.done == (request.cancelled ? 0 : 1), "request {}", number);
    }
  }

 private:
  struct Request {
    SmpRequest what;
    bool cancelled = false;
    int done = 0;
  };

  void Act() {
    switch (input_.Byte() % 12) {
      case 0:
      case 1:
      case 2: Submit(); break;
      case 3:
      case 4: Receive(Response(), 0); break;
      case 5: Receive(Response(), 1 + input_.Byte() % 4); break;
      case 6: Receive(AnyBytes(), 0); break;
      case 7: Report(); break;
      case 8: Cancel(); break;
      case 9: {
        const DeviceId device = input_.Byte() % 16;
        if (input_.Byte() % 2 == 0)
          engine_.GiveUp(device);
        else
          engine_.GiveUp(device, Path());
        break;
      }
      case 10: engine_.SetPatient(input_.Byte() % 2 == 0); break;
      default: now_ += std::chrono::milliseconds(input_.Word() % 4000);
    }
  }

  wire::DirectedPath Path() {
    wire::DirectedPath path;
    for (int hops = input_.Byte() % 5; hops > 0; --hops)
      path = path.Then(PortNum(input_.Byte() % 4));
    return path;
  }

  void Submit() {
    Request request;
    request.what.device = input_.Byte() % 16;
    request.what.method = input_.Byte() % 2 == 0 ? wire::Method::kGet : wire::Method::kSet;
    request.what.attribute = wire::AttributeId::kPortInfo;
    request.what.modifier = input_.Byte();
    request.what.priority = input_.Byte() % kPriorities;
    request.what.path = Path();
    if (input_.Byte() % 4 == 0) request.what.lid = Lid(input_.Word());
    if (input_.Byte() % 4 == 0) request.what.alternative = Path();
    request.what.context.number = static_cast<uint32_t>(requests_.size()) + 1;
    engine_.Submit(request.what);
    requests_.emplace(request.what.context.number, request);
  }

  IncomingMad Response() {
    IncomingMad mad;
    if (sent_.empty()) return mad;
    const OutgoingMad& one = sent_[input_.Byte() % sent_.size()];
    auto smp = wire::Smp::Decode(Whole(one.payload.data(), wire::kMadBytes));
    smp->method = wire::Method::kGetResp;
    smp->returning = smp->path.has_value();
    const uint8_t status = input_.Byte();
    smp->status = status < 192 ? 0 : status % 32;
    mad.agent = one.agent;
    mad.payload.resize(wire::kMadBytes);
    smp->Encode(std::span<uint8_t, wire::kMadBytes>(mad.payload.data(), wire::kMadBytes));
    return mad;
  }

  IncomingMad AnyBytes() {
    IncomingMad mad;
    mad.agent = input_.Byte() % 2 == 0 ? Agent::kSmpDirected : Agent::kSmpLid;
    mad.from.lid = Lid(input_.Word());
    const auto bytes = input_.Take(input_.Byte());
    mad.payload.assign(bytes.begin(), bytes.end());
    if (mad.payload.size() > 4) mad.payload.resize(wire::kMadBytes);
    return mad;
  }

  void Receive(IncomingMad mad, int patches) {
    for (; patches > 0; --patches) input_.Patch(mad.payload);
    wire::SmpData data{};
    input_.Patch(data);
    Answer(mad, data);
    if (IsForEngine(mad)) FABRICD_CHECK(mad.payload.size() >= wire::kMadBytes);
    engine_.OnIncoming(mad, now_, done_);
    Count();
  }

  // The kernel gives back the header of what was sent, and it is sure of no more.
  void Report() {
    if (sent_.empty()) return;
    const OutgoingMad& one = sent_[input_.Byte() % sent_.size()];
    const uint8_t kind = input_.Byte() % 4;
    if (kind == 0) {
      engine_.OnSendFailed(one, now_);
      return;
    }
    IncomingMad report;
    report.kind = kind == 1 ? IncomingMad::Kind::kSendFailed : IncomingMad::Kind::kTimedOut;
    report.agent = one.agent;
    report.payload = one.payload;
    std::fill(report.payload.begin() + 24, report.payload.end(), uint8_t{0});
    if (kind == 3) input_.Patch(report.payload);
    engine_.OnIncoming(report, now_, done_);
    Count();
  }

  void Cancel() {
    const uint8_t device = input_.Byte();
    if (device == 255) {
      engine_.CancelAll();
    } else if (device % 4 == 0) {
      engine_.CancelDevice(device % 16);
    } else {
      return;
    }
    for (auto& [number, request] : requests_) {
      if (device == 255 || request.what.device == device % 16) request.cancelled |= !request.done;
    }
  }

  void Pump() {
    std::vector<OutgoingMad> out;
    engine_.Pump(now_, out, done_);
    for (OutgoingMad& mad : out) {
      FABRICD_CHECK(mad.payload.size() == wire::kMadBytes && mad.timeout > Duration::zero());
      FABRICD_CHECK(HeaderOf(mad.payload).tid() && HeaderOf(mad.payload).transaction_id >> 32 == 0);
      sent_.push_back(std::move(mad));
      if (sent_.size() > 32) sent_.pop_front();
    }
    FABRICD_CHECK(engine_.in_flight() <= options_.window_max);
    FABRICD_CHECK(out.empty() || engine_.in_flight() <= engine_.statistics().window);
    FABRICD_CHECK(engine_.in_flight() == 0 || engine_.NextDeadline() != kNever);
    Count();
  }

  void Count() {
    for (const Completion& completion : done_) {
      const auto found = requests_.find(completion.context.number);
      FABRICD_CHECK(found != requests_.end(), "request {}", completion.context.number);
      Request& request = found->second;
      FABRICD_CHECK(!request.cancelled && ++request.done == 1, "request {}",
                    completion.context.number);
      FABRICD_CHECK(completion.method == request.what.method &&
                    completion.attribute == request.what.attribute &&
                    completion.modifier == request.what.modifier &&
                    completion.device == request.what.device);
      const bool answered = completion.outcome == Completion::Outcome::kResponse;
      FABRICD_CHECK(!answered || completion.response.status == completion.status);
    }
    done_.clear();
  }

  // Nothing arrives any more: every request gives up in a finite number of attempts.
  void Drain() {
    size_t steps = 16 + requests_.size() * (options_.retries + 2) * 2;
    for (Pump(); engine_.size() > 0; Pump()) {
      FABRICD_CHECK(engine_.in_flight() > 0, "{} queued and nothing goes out", engine_.queued());
      FABRICD_CHECK(steps-- > 0, "{} requests never end", engine_.size());
      now_ = std::max(now_, engine_.NextDeadline());
    }
    FABRICD_CHECK(engine_.NextDeadline() == kNever);
  }

  FuzzBytes input_;
  const EngineOptions options_;
  TransactionEngine engine_;
  Instant now_{std::chrono::seconds(1)};
  std::map<uint64_t, Request> requests_;
  std::deque<OutgoingMad> sent_;
  std::vector<Completion> done_;
};

}  // namespace
}  // namespace fabricd::mad

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fabricd::mad::Script(fabricd::test::FuzzBytes(data, size)).Run();
  return 0;
}
