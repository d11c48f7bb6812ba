// SPDX-License-Identifier: Apache-2.0
#include "sim/verdicts/scenario_run.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "common/status.h"
#include "fabric/port_name.h"
#include "sim/faults/draw.h"
#include "sim/verdicts/polling_actor.h"

namespace fabricd::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kBringUpLimit = seconds(300);
constexpr std::string_view kCordon = "cordon";

SimOptions OptionsOf(uint64_t seed) {
  SimOptions options;
  options.seed = Rng(seed ^ 0x5CE7A210).Next();
  options.training_time = seconds(2);  // Of 100 Gb/s links and faster.
  return options;
}

// The spans of what stands from look to look. Span has `what`, `since` and `until`.
template <typename Span>
class Spans {
 public:
  using What = decltype(Span::what);

  // `begun` makes the span of what was not there before; `stays` gets what still is.
  template <typename Begun, typename Stays>
  void Note(std::vector<What> standing, Instant now, std::vector<Span>& spans, Begun&& begun,
            Stays&& stays) {
    std::sort(standing.begin(), standing.end());
    standing.erase(std::unique(standing.begin(), standing.end()), standing.end());
    for (auto each = open_.begin(); each != open_.end();) {
      if (std::binary_search(standing.begin(), standing.end(), each->first)) {
        ++each;
        continue;
      }
      spans[each->second].until = now;
      each = open_.erase(each);
    }
    for (const What& what : standing) {
      const auto [found, is_new] = open_.try_emplace(what, spans.size());
      if (is_new) {
        spans.push_back(begun(what));
      } else {
        stays(what, spans[found->second].what);
      }
    }
  }

 private:
  std::map<What, size_t> open_;
};

// What a VerdictSource concludes over time.
class Notebook {
 public:
  Notebook(const SimFabric& fabric, ScenarioResult& result) : fabric_(fabric), result_(result) {
    for (uint32_t i = 0; i < fabric.node_index_end(); ++i) {
      const SimDevice* device = fabric.device(NodeIndex(i));
      if (device != nullptr) by_guid_[device->guid()] = NodeIndex(i);
    }
  }

  void Note(Looked looked, Instant now) {
    const auto nothing = [](const auto&, const auto&) {};
    verdicts_.Note(
        std::move(looked.verdicts), now, result_.spans,
        [&](const Concluded& what) { return SpanOf(what, now); },
        [](const Concluded& seen, Concluded& kept) {
          if (kept.action == kCordon) return;  // That it happened is reported.
          kept.action = seen.action;
          kept.refused_by = seen.refused_by;
        });
    findings_.Note(
        std::move(looked.findings), now, result_.findings,
        [&](const CommonCauseFound& what) {
          return FindingSpan{what, now, std::nullopt};
        },
        [](const CommonCauseFound& seen, CommonCauseFound& kept) { kept.text = seen.text; });
    holds_.Note(
        std::move(looked.holds), now, result_.holds,
        [&](const HeldHost& what) {
          return HoldSpan{what, now, std::nullopt};
        },
        nothing);
  }

 private:
  VerdictSpan SpanOf(const Concluded& what, Instant now) const {
    const NodeIndex node = by_guid_.at(what.node);
    std::string name = fabric::PortName(fabric_.device(node)->description(), what.port);
    return {what, {node, what.port}, std::move(name), now, std::nullopt};
  }

  const SimFabric& fabric_;
  ScenarioResult& result_;
  std::map<Guid, NodeIndex> by_guid_;
  Spans<VerdictSpan> verdicts_;
  Spans<FindingSpan> findings_;
  Spans<HoldSpan> holds_;
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
  injector.SetRestarter([&](bool begins) {
    if (begins) return simulation.Kill(manager);
    simulation.Start(manager);
    polling.Restart(simulation.now());
    source.OnRestart(simulation.now());
  });
  FABRICD_RETURN_IF_ERROR(injector.Plan());

  ScenarioResult result;
  result.seed = seed;
  result.interval = options.interval;
  result.begin = simulation.now();
  result.end = result.begin + Seconds(scenario.length);
  result.hosts = simulation.fabric().Hosts().size();
  Notebook notebook(simulation.fabric(), result);
  while (simulation.now() < result.end) {
    simulation.RunFor(std::min(options.interval, result.end - simulation.now()));
    if (const sweep::FabricView* fabric = polling.fabric(); fabric && fabric->plan)
      source.OnTables(*fabric->snapshot, *fabric->plan);
    notebook.Note(source.Look(*polling.View(simulation.now()), simulation.now()), simulation.now());
  }
  result.causes = injector.injected();
  return result;
}

bool IsAbout(const VerdictSpan& span, const Injected& cause) {
  return span.since >= cause.start &&
         std::find(cause.ends.begin(), cause.ends.end(), span.port) != cause.ends.end();
}

}  // namespace fabricd::sim
