// SPDX-License-Identifier: Apache-2.0
// What the collector costs in process, in virtual time: processor time for each port end and pass,
// the views that it publishes, memory, and the evidence and verdicts that are made of a view. A
// responder stands in for the fabric; its time is not counted. The limit of the same run is the
// codec alone: one request encoded and one response decoded for each port end.
//
//   telemetry_benchmark [TOPOLOGY [PASSES]]
//
// TOPOLOGY is a generator's spec (default fat-tree:radix=36,levels=3: 69,984 port ends), PASSES how
// many polling intervals are measured after the first (default 4). Exit status: 1 when a port was
// not read in each of them, 2 on bad usage.
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "common/status.h"
#include "fabric/snapshot_builder.h"
#include "mad/wire/class_port_info.h"
#include "mad/wire/perf.h"
#include "mad/wire/smp.h"
#include "mad/wire/vendor_mad.h"
#include "policy/verdict/assessor.h"
#include "routing/plan/engine.h"
#include "sim/generate/generate.h"
#include "telemetry/collector.h"
#include "telemetry/evidence/congestion.h"
#include "telemetry/evidence/evidence_maker.h"
#include "telemetry/requests.h"

namespace fabricd::telemetry {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

constexpr const char* kDefaultTopology = "fat-tree:radix=36,levels=3";
// From a request to its response.
constexpr Duration kRoundTrip = microseconds(200);
constexpr Duration kPublishInterval = seconds(1);  // As TelemetryThread does for its readers.
// One port in so many counts errors.
constexpr uint32_t kNoisyShare = 500;

double CpuSeconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double PeakMegabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1000;
}

// ---- the fabric

// All links ACTIVE, and a LID for each end port.
std::shared_ptr<const fabric::FabricSnapshot> BroughtUp(const fabric::FabricSnapshot& topology) {
  fabric::SnapshotBuilder builder(topology);
  uint16_t lid = 0;  // The fabrics have fewer than 48K end ports.
  topology.ForEachNode([&](const fabric::Node& node) {
    for (size_t i = 0; i < node.ports.size(); ++i) {
      wire::PortInfo info = node.ports[i].info;
      if (info.port_state >= wire::PortState::kInit) info.port_state = wire::PortState::kActive;
      const bool is_end_port = node.IsSwitch() == (i == 0);
      if (is_end_port) info.lid = Lid(++lid);
      builder.SetPortInfo({node.index, PortNum(static_cast<uint8_t>(i))}, info);
    }
  });
  return builder.Build();
}

size_t PortEnds(const fabric::FabricSnapshot& snapshot) {
  size_t ends = 0;
  snapshot.ForEachNode([&](const fabric::Node& node) {
    for (size_t i = 1; i < node.ports.size(); ++i) ends += node.ports[i].IsUp();
  });
  return ends;
}

// Responds as switches and adapters of the field do, with counters that grow with time.
class Responder {
 public:
  explicit Responder(const fabric::FabricSnapshot& snapshot) {
    snapshot.ForEachNode([&](const fabric::Node& node) {
      for (const fabric::Port& port : node.ports) {
        if (!port.info.lid) continue;
        if (is_switch_.size() <= port.info.lid.value())
          is_switch_.resize(port.info.lid.value() + 1u);
        is_switch_[port.info.lid.value()] = node.IsSwitch();
      }
    });
  }

  mad::IncomingMad Respond(mad::OutgoingMad request, Instant now) const {
    mad::IncomingMad response;
    response.agent = request.agent;
    response.payload = std::move(request.payload);
    const std::span<uint8_t, wire::kMadBytes> bytes(response.payload.data(), wire::kMadBytes);
    if (request.agent == mad::Agent::kPerf) {
      RespondPerf(request.to.lid, now, bytes);
    } else if (request.agent == mad::Agent::kVendor) {
      auto mad = *wire::VendorMad::Decode(bytes);
      if (mad.attribute == wire::VendorAttribute::kGeneralInfo) {
        wire::GmpGeneralInfo info;
        info.capabilities.Set(wire::GmpGeneralInfo::Capability::kAccessRegister);
        info.Encode(mad.data);
      }
      mad.method = wire::Method::kGetResp;
      mad.Encode(bytes);
    } else {
      auto smp = *wire::Smp::Decode(bytes);
      smp.method = wire::Method::kGetResp;
      smp.Encode(bytes);
    }
    return response;
  }

 private:
  void RespondPerf(Lid lid, Instant now, std::span<uint8_t, wire::kMadBytes> bytes) const {
    auto mad = *wire::PerfMad::Decode(bytes);
    mad.method = wire::Method::kGetResp;
    const uint8_t port = mad.data[1];
    const auto time = static_cast<uint64_t>(now.time_since_epoch() / std::chrono::milliseconds(1));
    const bool noisy = (lid.value() * 64u + port) % kNoisyShare == 0;
    switch (mad.attribute) {
      case wire::PerfAttribute::kClassPortInfo: {
        wire::ClassPortInfo info;
        info.capability_mask = wire::kPerfExtendedWidth | wire::kPerfXmitWait;
        if (is_switch_[lid.value()]) info.capability_mask2 = wire::kPerf2ExtendedErrors;
        info.response_time_value = 18;
        info.Encode(mad.data);
        break;
      }
      case wire::PerfAttribute::kPortSamplesControl: {
        wire::PortSamplesControl control;
        control.tick = 7;
        control.Encode(mad.data);
        break;
      }
      case wire::PerfAttribute::kPortCountersExtended: {
        wire::PortCountersExtended counters;
        counters.port_select = port;
        counters.xmit_data = counters.rcv_data = time * 1'000'000;
        counters.xmit_pkts = counters.rcv_pkts = time * 4'000;
        counters.unicast_xmit_pkts = counters.unicast_rcv_pkts = time * 4'000;
        counters.xmit_wait = time * 1'000'000;
        if (noisy) counters.symbol_error = time / 1000;
        counters.Encode(mad.data);
        break;
      }
      case wire::PerfAttribute::kPortCounters: {
        wire::PortCounters counters;
        counters.port_select = port;
        if (noisy) counters.rcv_errors = static_cast<uint16_t>(time / 10'000);
        counters.Encode(mad.data);
        break;
      }
      default: break;
    }
    mad.Encode(bytes);
  }

  std::vector<bool> is_switch_;  // By LID.
};

// ---- the run

struct Costs {
  double step = 0, publish = 0;  // Processor seconds.
  uint64_t views = 0;
};

// A collector in virtual time, its requests answered kRoundTrip later.
class Run {
 public:
  explicit Run(std::shared_ptr<const fabric::FabricSnapshot> snapshot)
      : responder_(*snapshot), collector_(Options(), now_, 1) {
    Step(FabricChanged{std::move(snapshot), State::kPolling});
    Carry();
  }

  void For(Duration time) {
    const Instant end = now_ + time;
    while (true) {
      Instant next = std::min(collector_.NextWake(now_), published_ + kPublishInterval);
      if (!arriving_.empty()) next = std::min(next, arriving_.front().at);
      if (next > end) break;
      now_ = std::max(now_, next);
      const double start = CpuSeconds();
      while (!arriving_.empty() && arriving_.front().at <= now_) {
        Step(arriving_.front().mad);
        arriving_.pop_front();
      }
      Step(Tick{});
      costs.step += CpuSeconds() - start;
      Carry();
      if (now_ >= published_ + kPublishInterval) Publish();
    }
    now_ = end;
  }

  Costs costs;
  std::shared_ptr<const TelemetryView> view;

 private:
  struct Arriving {
    Instant at;
    mad::IncomingMad mad;
  };

  void Step(const Event& event) { collector_.Step(event, now_, effects_); }
  void Carry() {
    for (mad::OutgoingMad& mad : effects_.send) {
      arriving_.push_back({now_ + kRoundTrip, responder_.Respond(std::move(mad), now_)});
    }
    effects_.Clear();
  }
  void Publish() {
    published_ = now_;
    const double start = CpuSeconds();
    view = collector_.MakeView(now_);  // The one before is released in this time too.
    costs.publish += CpuSeconds() - start;
    ++costs.views;
  }

  Instant now_{seconds(1000)};
  Instant published_ = now_;
  const Responder responder_;
  Collector collector_;
  Effects effects_;
  std::deque<Arriving> arriving_;
};

// The codec alone, in processor seconds: a request encoded and a response decoded for each of so
// many port ends.
double CodecSeconds(size_t ports) {
  wire::PerfMad response;
  response.attribute = wire::PerfAttribute::kPortCountersExtended;
  response.method = wire::Method::kGetResp;
  wire::MadBytes bytes;
  response.Encode(bytes);
  uint64_t sum = 0;
  const double start = CpuSeconds();
  for (size_t i = 0; i < ports; ++i) {
    GmpTarget target;
    target.lid = Lid(1);
    const mad::OutgoingMad request =
        MakeRequest(Ask::kExtended, PortNum(1), target, TransactionId(1), seconds(1));
    sum += request.payload[0];
    bytes[65] = static_cast<uint8_t>(i);
    sum += wire::PortCountersExtended::Decode(wire::PerfMad::Decode(bytes)->data).port_select;
  }
  const double took = CpuSeconds() - start;
  if (sum == 0) fmt::print("\n");  // Keeps the loop.
  return took;
}

void Line(const char* what, const std::string& value) {
  fmt::print("{:<52} {:>14}\n", what, value);
}

bool AllFresh(const TelemetryView& view, size_t ends) {
  size_t fresh = 0;
  for (const auto& record : view.ports) {
    fresh += record != nullptr && view.FreshnessOf(*record) == Freshness::kFresh;
  }
  Line("port ends that are fresh at the end", fmt::format("{} of {}", fresh, ends));
  return fresh == ends;
}

void PrintRun(const Run& run, size_t ends, int passes, uint64_t requests) {
  const double codec = CodecSeconds(ends);
  const double each = run.costs.step / (static_cast<double>(passes) * static_cast<double>(ends));
  const TelemetryView& view = *run.view;
  const double virtual_seconds = passes * static_cast<double>(view.interval) / 1000;
  Line("polling interval", fmt::format("{} s", view.interval / 1000));
  Line("requests for each port end and pass",
       fmt::format("{:.3f}", static_cast<double>(requests) / passes / static_cast<double>(ends)));
  Line("requests a second", fmt::format("{:.0f}", static_cast<double>(requests) / virtual_seconds));
  Line("collector, processor ns for each port end and pass", fmt::format("{:.0f}", 1e9 * each));
  Line("limit: its codec alone, ns", fmt::format("{:.0f}", 1e9 * codec / double(ends)));
  Line("collector / limit", fmt::format("{:.1f}", each * double(ends) / codec));
  Line("a pass, processor ms", fmt::format("{:.0f}", 1e3 * run.costs.step / passes));
  Line("a view, processor ms",
       fmt::format("{:.2f}", 1e3 * run.costs.publish / static_cast<double>(run.costs.views)));
  Line("of a processor, with a view each second",
       fmt::format("{:.2f} %", 100 * (run.costs.step + run.costs.publish) / virtual_seconds));
  const auto megabytes = [](size_t bytes) {
    return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
  };
  Line("values, totals, deltas", megabytes(view.record_bytes));
  Line("errors, with their times", megabytes(view.log_bytes));
  Line("history", megabytes(view.history_bytes));
  Line("all three", megabytes(view.record_bytes + view.log_bytes + view.history_bytes));
}

// Of the whole fabric once, its reading of the view alone as the limit.
void PrintEvidence(const TelemetryView& view, size_t ends) {
  uint64_t sum = 0;
  size_t links = 0;
  const auto time = [&](auto&& work) {
    double best = 1e9;
    for (int i = 0; i < 3; ++i) {
      const double start = CpuSeconds();
      work();
      best = std::min(best, CpuSeconds() - start);
    }
    return best;
  };
  const double visit = time([&] {
    links = 0;
    VisitEvidence(view, nullptr, [&](const policy::LinkEvidence& link) {
      ++links;
      sum += link.a.wait[0].has_value();
    });
  });
  const double all = time([&] { sum += MakeEvidence(view).size(); });
  const double limit = time([&] {
    for (const auto& record : view.ports) {
      if (record == nullptr) continue;
      const auto* words = reinterpret_cast<const uint64_t*>(record.get());
      for (size_t i = 0; i < sizeof(PortRecord) / sizeof(uint64_t); ++i) sum += words[i];
    }
  });
  if (sum == 0) fmt::print("\n");  // Keeps the loops.
  Line("evidence of all links, visited, processor ms", fmt::format("{:.0f}", 1e3 * visit));
  Line("evidence, ns for each port end", fmt::format("{:.0f}", 1e9 * visit / double(ends)));
  Line("limit: the records read once, ms", fmt::format("{:.1f}", 1e3 * limit));
  Line("evidence / limit", fmt::format("{:.1f}", visit / limit));
  Line("the same kept in a vector, ms", fmt::format("{:.0f}", 1e3 * all));
  Line("links with evidence", fmt::format("{}", links));
}

// Verdicts about all links, as the daemon makes them once a minute, evidence included.
void PrintVerdicts(const TelemetryView& view, size_t ends) {
  constexpr int kRounds = 3;
  policy::Assessor assessor({});
  const auto visit = [&](policy::Assessor::EachLink each) { VisitEvidence(view, nullptr, each); };
  const double before = PeakMegabytes();
  const double start = CpuSeconds();
  size_t raised = 0;
  for (int i = 0; i < kRounds; ++i) {
    const auto all = assessor.Assess(visit, Instant(std::chrono::hours(3) + i * seconds(60)));
    for (const policy::Assessment& each : all) raised += each.verdict.raised != 0;
  }
  const double took = (CpuSeconds() - start) / kRounds;
  Line("verdicts of all links, processor ms", fmt::format("{:.0f}", 1e3 * took));
  Line("verdicts, ns for each port end", fmt::format("{:.0f}", 1e9 * took / double(ends)));
  Line("verdicts, share of a core at 60 s", fmt::format("{:.2f} %", 100 * took / 60));
  Line("verdicts, growth of the peak", fmt::format("{:.1f} MB", PeakMegabytes() - before));
  Line("links with a row that is raised", fmt::format("{}", raised / kRounds));
}

// The search where every port waits: the most that there can be to follow.
void PrintCongestion(const TelemetryView& view) {
  fabric::LidTable lids;
  view.snapshot->ForEachNode([&](const fabric::Node& node) {
    for (size_t i = 0; i < node.ports.size(); ++i) {
      const Lid lid = node.ports[i].info.lid;
      if (lid) lids.Assign({node.index, PortNum(static_cast<uint8_t>(i))}, {lid, 0});
    }
  });
  const routing::RoutingOptions options;
  const auto plan = routing::MakeEngine("up_down")->Compute({*view.snapshot, lids, options});
  if (!plan.ok()) return;
  const double start = CpuSeconds();
  const Congestion found = FindCongestion(view, *view.snapshot, *plan);
  const double took = CpuSeconds() - start;
  size_t victims = 0;
  for (const CongestionRoot& root : found.roots) victims += root.victims.size();
  Line("congestion where all ports wait, processor ms", fmt::format("{:.0f}", 1e3 * took));
  Line("its roots, victims, ports without a root",
       fmt::format("{}, {}, {}", found.roots.size(), victims, found.without_root.size()));
}

int Main(const std::string& spec, int passes) {
  const auto topology = sim::Generate(spec);
  if (!topology.ok()) {
    fmt::print(stderr, "telemetry_benchmark: {}\n", Message(topology.status()));
    return 2;
  }
  const auto snapshot = BroughtUp(**topology);
  const size_t ends = PortEnds(*snapshot);
  fmt::print("{}: {} nodes, {} port ends\n", spec, snapshot->node_count(), ends);
  const double before = PeakMegabytes();
  Run run(snapshot);
  // The first passes ask what devices are, the next what their ports are: they are not counted.
  run.For(seconds(1));
  const auto interval = std::chrono::milliseconds(run.view->interval);
  run.For(5 * interval);
  run.costs = {};
  const uint64_t requests = run.view->stats.requests;
  run.For(passes * interval);
  PrintRun(run, ends, passes, run.view->stats.requests - requests);
  Line("peak memory of the process, fabric excluded",
       fmt::format("{:.1f} MB", PeakMegabytes() - before));
  PrintEvidence(*run.view, ends);
  PrintVerdicts(*run.view, ends);
  run.For(std::chrono::milliseconds(2 * WaitWindows::kLength));
  PrintCongestion(*run.view);
  return AllFresh(*run.view, ends) ? 0 : 1;
}

}  // namespace
}  // namespace fabricd::telemetry

int main(int argc, char** argv) {
  const std::string spec = argc > 1 ? argv[1] : fabricd::telemetry::kDefaultTopology;
  int passes = 4;
  if (argc > 2) {
    const char* end = argv[2] + std::strlen(argv[2]);
    const auto [parsed, error] = std::from_chars(argv[2], end, passes);
    if (error != std::errc() || parsed != end || passes < 1) argc = 4;
  }
  if (argc > 3) {
    fmt::print(stderr, "usage: telemetry_benchmark [TOPOLOGY [PASSES]]\n");
    return 2;
  }
  return fabricd::telemetry::Main(spec, passes);
}
