// SPDX-License-Identifier: Apache-2.0
// Brings a whole fabric up in virtual time with one fabricd, judges the result by the devices, and
// says what each MAD cost. One thread; figures are counts and ratios of one run
// (docs/PERFORMANCE.md says how to read them).
//
//   bring_up_benchmark [TOPOLOGY [DELAY]]
//
// TOPOLOGY is a generator's spec (default fat-tree:radix=36,levels=3: 11,664 ports), DELAY what
// each MAD is under way, in microseconds (default 10). Exit status: 1 when a checker finds
// something, 2 on bad usage.
#include <sys/resource.h>
#include <time.h>

#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "common/status.h"
#include "sim/checkers/checkers.h"
#include "sim/checkers/key_checker.h"
#include "sim/generate/generate.h"
#include "sim/simulation/simulation.h"

namespace fabricd::sim {
namespace {

constexpr const char* kDefaultTopology = "fat-tree:radix=36,levels=3";
constexpr Duration kDefaultDelay = std::chrono::microseconds(10);
constexpr size_t kExchanges = 50000;

// ---- clocks

double CpuSeconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double WallSeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// VmHWM: the most memory that this process has held.
double PeakGibibytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / (1 << 20);
}

// Shares the processor time of a run out to its parts. They take turns once for a hundred MADs or
// so, so reading the clock costs nothing that shows.
class PartClock {
 public:
  void Enter(Part part) {
    const double now = CpuSeconds();
    cpu_[static_cast<size_t>(part_)] += now - since_;
    since_ = now;
    part_ = part;
  }
  void Start() {
    since_ = CpuSeconds();
    wall_ = WallSeconds();
  }
  void Stop() {
    Enter(Part::kCore);
    wall_ = WallSeconds() - wall_;
  }
  double wall() const { return wall_; }
  double cpu() const { return cpu_[0] + cpu_[1] + cpu_[2]; }
  double cpu(Part part) const { return cpu_[static_cast<size_t>(part)]; }

 private:
  std::array<double, 3> cpu_{};  // By Part.
  Part part_ = Part::kCore;
  double since_ = 0, wall_ = 0;
};

// ---- counts

// The fewest SMPs of a cold bring-up, as bench/versus_opensm has it: each fact read once, each link
// end set ARMED with its parameters and then ACTIVE, each table block written once.
uint64_t Minimum(const SimFabric& fabric, uint64_t lids) {
  uint64_t nodes = 0, switches = 0, ports = 0, link_ends = 0;
  for (uint32_t i = 0; i < fabric.node_index_end(); ++i) {
    const SimDevice* device = fabric.device(NodeIndex(i));
    if (device == nullptr) continue;
    ++nodes;
    if (device->IsSwitch()) ++switches, ports += device->last_port().value() + 1u;
    for (int num = 1; num <= device->last_port().value(); ++num) {
      if (fabric.LinkedPeer({NodeIndex(i), PortNum(static_cast<uint8_t>(num))}).IsNone()) continue;
      ++link_ends;
      if (!device->IsSwitch()) ++ports;
    }
  }
  const uint64_t gets = 1 + link_ends / 2 + nodes + ports + switches;
  const uint64_t sets = switches + switches + 2 * link_ends;
  return gets + sets + switches * (lids / 64 + 1);
}

// ---- the limit: what the fabric alone takes for a MAD of the commonest kind

// The way from `host` to each switch, in breadth-first order.
std::vector<std::pair<NodeIndex, wire::DirectedPath>> WaysToSwitches(const SimFabric& fabric,
                                                                     PortRef host) {
  std::vector<bool> seen(fabric.node_index_end(), false);
  std::vector<std::pair<NodeIndex, wire::DirectedPath>> ways;
  const auto visit = [&](PortRef out, const wire::DirectedPath& way) {
    const NodeIndex peer = fabric.LinkedPeer(out).node;
    if (peer.IsNone() || seen[peer.value()] || !fabric.device(peer)->IsSwitch()) return;
    seen[peer.value()] = true;
    ways.emplace_back(peer, way.Then(out.port));
  };
  visit(host, {});
  for (size_t next = 0; next < ways.size(); ++next) {
    const auto [node, way] = ways[next];
    for (int num = 1; num <= fabric.device(node)->last_port().value(); ++num)
      visit({node, PortNum(static_cast<uint8_t>(num))}, way);
  }
  return ways;
}

mad::OutgoingMad TableSet(const SimDevice& device, const wire::DirectedPath& way, uint32_t id) {
  wire::Smp smp;
  smp.method = wire::Method::kSet;
  smp.tid = TransactionId(id);
  smp.attribute = wire::AttributeId::kLinearForwardingTable;
  smp.modifier = id % (device.switch_info().linear_fdb_top / 64u + 1);
  smp.path = way;
  device.LftBlock(static_cast<uint16_t>(smp.modifier)).Encode(smp.data);
  mad::OutgoingMad mad;
  mad.timeout = std::chrono::milliseconds(200);
  mad.payload.resize(wire::kMadBytes);
  smp.Encode(std::span<uint8_t, wire::kMadBytes>(mad.payload.data(), wire::kMadBytes));
  return mad;
}

// Processor seconds for one LinearForwardingTable Set that is sent, carried, obeyed and answered,
// to the switches in turn, with what they hold.
double SecondsOfExchange(SimFabric& fabric, Instant now, PortRef host) {
  const auto ways = WaysToSwitches(fabric, host);
  if (ways.empty()) return 0;
  std::vector<mad::OutgoingMad> mads;
  for (uint32_t id = 1; id <= kExchanges; ++id) {
    const auto& [node, way] = ways[id % ways.size()];
    mads.push_back(TableSet(*fabric.device(node), way, id));
  }
  const double start = CpuSeconds();
  for (mad::OutgoingMad& mad : mads) fabric.Exchange(now, host, std::move(mad));
  return (CpuSeconds() - start) / kExchanges;
}

// ---- the run

int Judge(const Simulation& simulation, const sweep::FabricView& view) {
  const SimFabric& fabric = simulation.fabric();
  const std::pair<const char*, std::vector<std::string>> findings[] = {
      {"not ACTIVE", PortsNotActive(fabric)},
      {"LIDs", LidFaults(fabric)},
      {"tables", TablesUnlikePlan(fabric, *view.snapshot, *view.plan)},
      {"loops", Loops(fabric)},
      {"unreachable", BrokenPairs(fabric)},
      {"P_Keys", PKeyFaults(fabric)},
  };
  int found = 0;
  for (const auto& [checker, list] : findings)
    for (const std::string& finding : list) fmt::print("{}: {}\n", checker, finding), ++found;
  return found;
}

void Print(const Simulation& simulation, const SimStats& stats, uint64_t mads,
           const PartClock& clock, double exchange) {
  const Manager& manager = simulation.manager(0);
  const uint64_t minimum = Minimum(simulation.fabric(), manager.view->lids->top().value());
  const auto line = [](const char* what, const std::string& value) {
    fmt::print("{:<44} {:>12}\n", what, value);
  };
  line("MADs sent", fmt::format("{}", mads));
  line("Gets, at the devices", fmt::format("{}", stats.gets()));
  line("Sets, at the devices", fmt::format("{}", stats.sets()));
  line("computed minimum", fmt::format("{}", minimum));
  line("MADs / minimum", fmt::format("{:.3f}", double(mads) / double(minimum)));
  const double each = 1e9 / static_cast<double>(mads);
  const double fabric = clock.cpu(Part::kFabric), core = clock.cpu(Part::kCore);
  line("processor ns per MAD", fmt::format("{:.0f}", each * clock.cpu()));
  line("  simulated fabric", fmt::format("{:.0f}", each * fabric));
  line("  core", fmt::format("{:.0f}", each * core));
  line("  routing and its proof", fmt::format("{:.0f}", each * clock.cpu(Part::kRouting)));
  line("core / simulated fabric", fmt::format("{:.2f}", core / fabric));
  line("limit: one Exchange of an LFT Set, ns", fmt::format("{:.0f}", 1e9 * exchange));
  line("core per MAD / limit", fmt::format("{:.2f}", each * core / 1e9 / exchange));
  line("whole per MAD / limit", fmt::format("{:.2f}", each * clock.cpu() / 1e9 / exchange));
}

int Main(const std::string& topology_spec, Duration delay) {
  auto topology = Generate(topology_spec);
  if (!topology.ok()) {
    fmt::print(stderr, "bring_up_benchmark: {}\n", Message(topology.status()));
    return 2;
  }
  fmt::print("{}: {} end ports on {} switches\n", topology_spec,
             (*topology)->node_count() - (*topology)->switch_count(), (*topology)->switch_count());
  PartClock clock;
  Simulation simulation(**topology);
  topology->reset();
  MadFaults faults;  // None but that MADs take their time.
  faults.delay = delay;
  simulation.fabric().SetMadFaults(faults);
  simulation.SetMeter([&](Part part) { clock.Enter(part); });
  const Instant begin = simulation.now();
  const size_t sm = simulation.Add({});
  clock.Start();
  simulation.Start(sm);
  const bool up = simulation.RunUntilUp(sm, std::chrono::minutes(10));
  clock.Stop();
  simulation.SetMeter(nullptr);
  const Manager& manager = simulation.manager(sm);
  if (!up) {
    for (const auto& record : manager.log) fmt::print("{}\n", record.text);
    fmt::print("the subnet does not come up\n");
    return 1;
  }
  const double peak = PeakGibibytes();
  const Duration virtual_time = simulation.now() - begin;
  const double before_judging = CpuSeconds();
  const int findings = Judge(simulation, *manager.view);
  const double judging = CpuSeconds() - before_judging;
  const SimStats stats = simulation.fabric().stats();
  const uint64_t mads = manager.mads_sent;
  simulation.RunFor(std::chrono::seconds(2));  // Until the last time-out of the bring-up.
  const double exchange = SecondsOfExchange(simulation.fabric(), simulation.now(), manager.host);
  Print(simulation, stats, mads, clock, exchange);
  fmt::print(
      "real time {:.1f} s, processor {:.1f} s, of which routing {:.1f} s; checkers {:.1f} s; "
      "virtual time {:.3f} s; peak memory {:.2f} GiB; checkers' findings {}\n",
      clock.wall(), clock.cpu(), clock.cpu(Part::kRouting), judging,
      std::chrono::duration<double>(virtual_time).count(), peak, findings);
  return findings == 0 ? 0 : 1;
}

}  // namespace
}  // namespace fabricd::sim

int main(int argc, char** argv) {
  fabricd::Duration delay = fabricd::sim::kDefaultDelay;
  if (argc > 2) {
    unsigned microseconds = 0;
    const char* end = argv[2] + std::strlen(argv[2]);
    const auto [stop, error] = std::from_chars(argv[2], end, microseconds);
    if (argc > 3 || error != std::errc() || stop != end) {
      fmt::print(stderr, "usage: bring_up_benchmark [TOPOLOGY [DELAY in microseconds]]\n");
      return 2;
    }
    delay = std::chrono::microseconds(microseconds);
  }
  return fabricd::sim::Main(argc > 1 ? argv[1] : fabricd::sim::kDefaultTopology, delay);
}
