// SPDX-License-Identifier: Apache-2.0
#include "sim/verdicts/scenario_run.h"

#include <algorithm>
#include <map>
#include <utility>

#include "common/status.h"
#include "sim/faults/draw.h"
#include "sim/verdicts/polling_actor.h"

namespace fabricd::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kBringUpLimit = seconds(300);

SimOptions OptionsOf(uint64_t seed) {
  SimOptions options;
  options.seed = Rng(seed ^ 0x5CE7A210).Next();
  options.training_time = seconds(2);  // Of 100 Gb/s links and faster.
  return options;
}

// The spans of what stands from look to look.
class Spans {
 public:
  Spans(const SimFabric& fabric, std::vector<VerdictSpan>& spans) : fabric_(fabric), spans_(spans) {
    for (uint32_t i = 0; i < fabric.node_index_end(); ++i) {
      const SimDevice* device = fabric.device(NodeIndex(i));
      if (device != nullptr) by_guid_[device->guid()] = NodeIndex(i);
    }
  }

  void Note(std::vector<Concluded> standing, Instant now) {
    std::sort(standing.begin(), standing.end());
    standing.erase(std::unique(standing.begin(), standing.end()), standing.end());
    for (auto each = open_.begin(); each != open_.end();) {
      if (std::binary_search(standing.begin(), standing.end(), each->first)) {
        ++each;
        continue;
      }
      spans_[each->second].until = now;
      each = open_.erase(each);
    }
    for (const Concluded& what : standing) {
      if (!open_.try_emplace(what, spans_.size()).second) continue;
      const NodeIndex node = by_guid_.at(what.node);
      std::string name = fmt::format("{}/{}", fabric_.device(node)->description(), what.port);
      spans_.push_back({what, {node, what.port}, std::move(name), now, std::nullopt});
    }
  }

 private:
  const SimFabric& fabric_;
  std::vector<VerdictSpan>& spans_;
  std::map<Guid, NodeIndex> by_guid_;
  std::map<Concluded, size_t> open_;
};

}  // namespace

absl::StatusOr<ScenarioResult> RunScenario(const fabric::FabricSnapshot& topology,
                                           const Scenario& scenario, uint64_t seed,
                                           VerdictSource& source) {
  Simulation simulation(topology, OptionsOf(seed));
  const PortRef host = simulation.fabric().DefaultHostPort();
  if (host.IsNone()) return FailedPrecondition("the fabric has no host");
  const size_t manager = simulation.Add({});
  telemetry::Options options;
  options.interval = Seconds(scenario.interval);
  auto actor = std::make_unique<PollingActor>(simulation, manager, options, seed);
  PollingActor& polling = *actor;
  simulation.AddActor(std::move(actor));
  simulation.Start(manager);
  if (!simulation.RunUntilUp(manager, kBringUpLimit)) {
    return FailedPrecondition("the subnet was not up within 300 s");
  }
  CauseInjector injector(simulation, scenario, host, seed);
  FABRICD_RETURN_IF_ERROR(injector.Plan());

  ScenarioResult result;
  result.seed = seed;
  result.interval = options.interval;
  result.begin = simulation.now();
  result.end = result.begin + Seconds(scenario.length);
  Spans spans(simulation.fabric(), result.spans);
  while (simulation.now() < result.end) {
    simulation.RunFor(std::min(options.interval, result.end - simulation.now()));
    if (const sweep::FabricView* fabric = polling.fabric(); fabric && fabric->plan)
      source.OnTables(*fabric->snapshot, *fabric->plan);
    spans.Note(source.Look(*polling.View(simulation.now()), simulation.now()), simulation.now());
  }
  result.causes = injector.injected();
  return result;
}

bool IsAbout(const VerdictSpan& span, const Injected& cause) {
  return span.since >= cause.start &&
         std::find(cause.ends.begin(), cause.ends.end(), span.port) != cause.ends.end();
}

}  // namespace fabricd::sim
