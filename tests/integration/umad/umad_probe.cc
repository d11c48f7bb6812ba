// SPDX-License-Identifier: Apache-2.0
// umad_probe: UmadTransport and TransactionEngine on a real umad port (hardware, or ibsim under its
// preload shim), without the rest of fabricd.
//
//   umad_probe PORT discover
//     NodeInfo of the own node and of what its port is linked to
//   umad_probe PORT serve TRAPS GETS
//     holds IsSM, answers SMInfo, represses traps; ends well after that many traps and SMInfo Gets,
//     or ill after 20 s
//   umad_probe PORT rate WINDOW COUNT [HOP...]
//     pipelined NodeInfo Gets along the path, and their rate
//   umad_probe PORT counters LID PORTNUM COUNT
//     COUNT Gets of PortCounters at once, one of PortSamplesControl and one of the vendor's
//     GeneralInfo: how many of each agent were answered, timed out, or could not be sent, and
//     whether there was room for all at once
//
// PORT is umad[:DEVICE[:PORT]]. One line per fact on stdout, errors on stderr; exit 0 when all was
// answered.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "common/bounded_queue.h"
#include "common/status.h"
#include "mad/replies.h"
#include "mad/transaction_engine.h"
#include "mad/transactions.h"
#include "mad/umad_transport.h"
#include "mad/wire/node_info.h"
#include "mad/wire/notice.h"
#include "mad/wire/perf.h"
#include "mad/wire/sm_info.h"
#include "mad/wire/vendor_mad.h"

namespace fabricd::mad {
namespace {

using Clock = std::chrono::steady_clock;

Instant Now() { return Instant(Clock::now().time_since_epoch()); }

// What the daemon's core thread does, as small as it can be.
class Probe {
 public:
  using Other = std::function<void(const IncomingMad&)>;

  Probe(UmadTransport& transport, const EngineOptions& options)
      : transport_(transport), engine_(options) {}

  absl::Status Start() {
    return transport_.Start([this](std::span<Incoming> burst) {
      // Full means the probe is broken, not busy: it never has more in flight than this.
      for (Incoming& event : burst) inbox_.TryPush(std::move(event));
    });
  }
  TransactionEngine& engine() { return engine_; }
  void OnOther(Other other) { other_ = std::move(other); }

  absl::Status Send(const OutgoingMad& mad) { return transport_.Send(mad); }
  bool Offers(Agent agent) const { return transport_.AgentStatus(agent).ok(); }

  // One round: what arrived by `deadline`, then what may go out.
  void Step(Clock::time_point deadline, std::vector<Completion>& done) {
    Pump(done);
    if (!done.empty()) return;
    const Instant next = engine_.NextDeadline();
    if (next != kNever) deadline = std::min(deadline, Clock::time_point(next.time_since_epoch()));
    inbox_.DrainUntil(batch_, deadline);
    const Instant now = Now();
    for (auto& event : batch_) {
      const IncomingMad* mad = std::get_if<IncomingMad>(&event);
      if (mad == nullptr) continue;
      if (IsForEngine(*mad)) {
        engine_.OnIncoming(*mad, now, done);
      } else if (other_) {
        other_(*mad);
      }
    }
    Pump(done);
  }

 private:
  void Pump(std::vector<Completion>& done) {
    out_.clear();
    const Instant now = Now();
    engine_.Pump(now, out_, done);
    for (const OutgoingMad& mad : out_) {
      if (const absl::Status status = transport_.Send(mad); !status.ok()) {
        fmt::print(stderr, "{}\n", Message(status));
        engine_.OnSendFailed(mad, now);
      }
    }
  }

  UmadTransport& transport_;
  TransactionEngine engine_;
  Other other_;
  BoundedQueue<Incoming> inbox_{4096};
  std::vector<Incoming> batch_;
  std::vector<OutgoingMad> out_;
};

SmpRequest NodeInfoGet(const wire::DirectedPath& path, DeviceId device, uint32_t number) {
  SmpRequest request;
  request.attribute = wire::AttributeId::kNodeInfo;
  request.path = path;
  request.device = device;
  request.context.number = number;
  return request;
}

int Discover(Probe& probe, PortNum port) {
  probe.engine().Submit(NodeInfoGet({}, 0, 0));
  probe.engine().Submit(NodeInfoGet({port.value()}, 1, 1));
  size_t answered = 0, ended = 0;
  while (ended < 2) {
    std::vector<Completion> done;
    probe.Step(Clock::now() + std::chrono::seconds(1), done);
    for (const Completion& completion : done) {
      ++ended;
      if (completion.outcome != Completion::Outcome::kResponse || completion.status != 0) continue;
      ++answered;
      const wire::NodeInfo info = wire::NodeInfo::Decode(completion.response.data);
      fmt::print("{} path {} node {} type {} ports {}\n",
                 completion.context.number == 0 ? "own" : "peer", completion.path_used.ToString(),
                 info.node_guid, static_cast<unsigned>(info.node_type), info.num_ports);
    }
  }
  const EngineStatistics& statistics = probe.engine().statistics();
  fmt::print("ended {} timeouts {} unmatched {}\n", ended,
             statistics.attributes.at(wire::AttributeId::kNodeInfo).get.timeouts,
             statistics.unmatched);
  return answered == 2 ? 0 : 1;
}

int Serve(UmadTransport& transport, Probe& probe, int traps_wanted, int gets_wanted) {
  int traps = 0, gets = 0;
  probe.OnOther([&](const IncomingMad& mad) {
    if (mad.kind != IncomingMad::Kind::kReceived) return;
    const auto bytes =
        std::span<const uint8_t, wire::kMadBytes>(mad.payload.data(), wire::kMadBytes);
    const std::optional<wire::Smp> smp = wire::Smp::Decode(bytes);
    if (!smp) return;
    OutgoingMad answer;
    if (smp->method == wire::Method::kTrap) {
      const wire::Notice notice = wire::Notice::Decode(smp->data);
      fmt::print("trap {} issuer {} from {}\n", notice.trap, notice.issuer_lid, mad.from.lid);
      answer = MakeTrapRepress(mad, MKey());
      ++traps;
    } else if (smp->method == wire::Method::kGet && smp->attribute == wire::AttributeId::kSmInfo) {
      wire::SmInfo info;
      info.guid = transport.local_port().port_guid;
      info.priority = 7;
      info.activity_count = 42;
      info.state = wire::SmState::kMaster;
      wire::Smp response;
      info.Encode(response.data);
      answer = MakeSmpResponse(mad, response);
      fmt::print("sminfo {} hops {} pointer {} from {}\n", smp->path ? "directed" : "lid",
                 smp->path ? smp->path->hops() : 0, smp->hop_pointer, mad.from.lid);
      ++gets;
    } else {
      return;
    }
    if (const absl::Status status = probe.Send(answer); !status.ok()) {
      fmt::print(stderr, "{}\n", Message(status));
      std::exit(1);
    }
    std::fflush(stdout);
  });
  if (const absl::Status status = transport.SetIsSm(true); !status.ok()) {
    fmt::print(stderr, "{}\n", Message(status));
    return 1;
  }
  fmt::print("serving\n");
  std::fflush(stdout);
  const Clock::time_point end = Clock::now() + std::chrono::seconds(20);
  while (traps < traps_wanted || gets < gets_wanted) {
    std::vector<Completion> done;
    if (Clock::now() >= end) return 1;
    probe.Step(end, done);
  }
  return 0;
}

int Rate(Probe& probe, uint64_t count, const wire::DirectedPath& path) {
  constexpr DeviceId kDevices = 1024;
  uint64_t submitted = 0, ended = 0, answered = 0;
  const Clock::time_point start = Clock::now();
  std::vector<Completion> done;
  while (ended < count) {
    while (submitted < count && probe.engine().size() < 4 * kDevices) {
      probe.engine().Submit(
          NodeInfoGet(path, static_cast<DeviceId>(submitted % kDevices), submitted));
      ++submitted;
    }
    done.clear();
    probe.Step(Clock::now() + std::chrono::seconds(1), done);
    for (const Completion& completion : done) {
      ++ended;
      if (completion.outcome == Completion::Outcome::kResponse) ++answered;
    }
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  const EngineStatistics& statistics = probe.engine().statistics();
  fmt::print("answered {} of {} in {:.3f} s: {:.0f} MAD/s, window {}, rtt {} us\n", answered, count,
             seconds, static_cast<double>(answered) / seconds, statistics.window,
             std::chrono::duration_cast<std::chrono::microseconds>(statistics.rtt_average).count());
  return answered == count ? 0 : 1;
}

OutgoingMad Gmp(Agent agent, Lid to, std::chrono::milliseconds timeout) {
  OutgoingMad mad;
  mad.agent = agent;
  mad.to.lid = to;
  mad.to.qpn = 1;
  mad.to.qkey = 0x80010000;
  mad.timeout = timeout;
  mad.payload.resize(wire::kMadBytes);
  return mad;
}

std::span<uint8_t, wire::kMadBytes> BytesOf(OutgoingMad& mad) {
  return std::span<uint8_t, wire::kMadBytes>(mad.payload.data(), wire::kMadBytes);
}

// Counts by agent and outcome.
class Tally {
 public:
  void Send(Probe& probe, const OutgoingMad& mad) {
    absl::Status status = probe.Send(mad);
    while (absl::IsUnavailable(status) && probe.Offers(mad.agent) && waiting_ > 0) {
      had_to_wait_ = true;
      std::vector<Completion> done;
      probe.Step(Clock::now() + std::chrono::seconds(1), done);
      status = probe.Send(mad);
    }
    if (status.ok()) {
      ++waiting_;
      return;
    }
    fmt::print("{}: {}\n", absl::StatusCodeToString(status.code()), Message(status));
    ++counts_[{mad.agent, "refused"}];
  }
  void Take(const IncomingMad& mad) {
    --waiting_;
    static constexpr const char* kOutcomes[] = {"answered", "timed out", "failed"};
    ++counts_[{mad.agent,
               IsForTelemetry(mad) ? kOutcomes[static_cast<size_t>(mad.kind)] : "strange"}];
  }
  int waiting() const { return waiting_; }
  bool had_to_wait() const { return had_to_wait_; }
  void Print() const {
    for (const auto& [what, count] : counts_) {
      const char* agent = what.first == Agent::kPerf     ? "perf"
                          : what.first == Agent::kVendor ? "vendor"
                                                         : "other";
      fmt::print("{} {} {}\n", agent, what.second, count);
    }
  }

 private:
  std::map<std::pair<Agent, std::string>, int> counts_;
  int waiting_ = 0;
  bool had_to_wait_ = false;
};

int Counters(Probe& probe, Lid lid, uint8_t port, uint32_t count) {
  Tally tally;
  std::optional<wire::PortCounters> counters;
  probe.OnOther([&](const IncomingMad& mad) {
    tally.Take(mad);
    const auto perf = wire::PerfMad::Decode(
        std::span<const uint8_t, wire::kMadBytes>(mad.payload.data(), wire::kMadBytes));
    if (mad.kind == IncomingMad::Kind::kReceived && perf && perf->status == wire::kStatusOk &&
        perf->attribute == wire::PerfAttribute::kPortCounters)
      counters = wire::PortCounters::Decode(perf->data);
  });
  uint32_t id = kTelemetryTransactionBit;
  wire::PerfMad perf;
  wire::PortCounters select;
  select.port_select = port;
  select.Encode(perf.data);
  for (uint32_t n = 0; n <= count; ++n) {
    perf.attribute =
        n < count ? wire::PerfAttribute::kPortCounters : wire::PerfAttribute::kPortSamplesControl;
    perf.transaction_id = ++id;
    OutgoingMad mad = Gmp(Agent::kPerf, lid, std::chrono::milliseconds(n < count ? 5000 : 300));
    perf.Encode(BytesOf(mad));
    tally.Send(probe, mad);
  }
  wire::VendorMad vendor;
  vendor.attribute = wire::VendorAttribute::kGeneralInfo;
  vendor.transaction_id = ++id;
  OutgoingMad mad = Gmp(Agent::kVendor, lid, std::chrono::milliseconds(300));
  vendor.Encode(BytesOf(mad));
  tally.Send(probe, mad);
  const Clock::time_point end = Clock::now() + std::chrono::seconds(10);
  while (tally.waiting() > 0 && Clock::now() < end) {
    std::vector<Completion> done;
    probe.Step(end, done);
  }
  tally.Print();
  if (tally.had_to_wait()) fmt::print("had to wait for room\n");
  if (counters) fmt::print("symbol errors {}\n", counters->symbol_error);
  return tally.waiting() == 0 ? 0 : 1;
}

int Usage() {
  fmt::print(stderr,
             "usage: umad_probe PORT discover | serve TRAPS GETS | rate WINDOW COUNT [HOP...] |\n"
             "       counters LID PORTNUM COUNT\n");
  return 2;
}

int Main(const std::vector<std::string>& arguments) {
  if (arguments.size() < 2) return Usage();
  const absl::StatusOr<UmadChoice> choice = UmadChoice::Parse(arguments[0]);
  absl::StatusOr<std::unique_ptr<UmadTransport>> transport =
      choice.ok() ? UmadTransport::Open(*choice) : choice.status();
  if (!transport.ok()) {
    fmt::print(stderr, "{}\n", Message(transport.status()));
    return 2;
  }
  const std::string& command = arguments[1];
  EngineOptions options;
  if (command == "rate" && arguments.size() >= 4) {
    options.window_max = options.window_initial =
        static_cast<uint32_t>(std::strtoul(arguments[2].c_str(), nullptr, 10));
    options.window_floor = std::min(options.window_floor, options.window_max);
    options.subtree_limit = options.window_max;
  }
  Probe probe(**transport, options);
  if (const absl::Status status = probe.Start(); !status.ok()) {
    fmt::print(stderr, "{}\n", Message(status));
    return 2;
  }
  const PortNum port = (*transport)->local_port().port;
  int result = 2;
  if (command == "discover") {
    result = Discover(probe, port);
  } else if (command == "serve" && arguments.size() >= 4) {
    result =
        Serve(**transport, probe, std::atoi(arguments[2].c_str()), std::atoi(arguments[3].c_str()));
  } else if (command == "rate" && arguments.size() >= 4) {
    wire::DirectedPath path;
    for (size_t hop = 4; hop < arguments.size() && path.CanExtend(); ++hop) {
      path = path.Then(PortNum(static_cast<uint8_t>(std::atoi(arguments[hop].c_str()))));
    }
    result = Rate(probe, std::strtoull(arguments[3].c_str(), nullptr, 10), path);
  } else if (command == "counters" && arguments.size() >= 5) {
    result = Counters(probe, Lid(static_cast<uint16_t>(std::atoi(arguments[2].c_str()))),
                      static_cast<uint8_t>(std::atoi(arguments[3].c_str())),
                      static_cast<uint32_t>(std::atoi(arguments[4].c_str())));
  } else {
    result = Usage();
  }
  (*transport)->Stop();
  return result;
}

}  // namespace
}  // namespace fabricd::mad

int main(int argc, char** argv) {
  return fabricd::mad::Main(std::vector<std::string>(argv + 1, argv + argc));
}
