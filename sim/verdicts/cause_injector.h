// SPDX-License-Identifier: Apache-2.0
// CauseInjector: makes the causes and the traffic of a scenario happen in a simulation, as one seed
// draws them. Each line of the scenario has a generator of its own: what is drawn for one does not
// depend on the others, but where two would share a random place.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <absl/status/status.h>

#include "sim/simulation/simulation.h"
#include "sim/verdicts/cause_places.h"
#include "sim/verdicts/scenario.h"

namespace fabricd::sim {

// A cause as a seed has drawn it.
struct Injected {
  CauseKind kind = CauseKind::kNoisyCable;
  std::string place;
  double severity = 0;  // 0: it has none.
  // The same in multiples of the documented limit from which on a verdict is due; 0: none ever is.
  double limits = 0;
  Instant start, end;
  // A verdict about one of these ends may be about the cause: both ends of its link, or of all
  // links of its nodes.
  std::vector<PortRef> ends;
  std::vector<std::string> link_ends;  // Their names, where it is one link.
  // What shows that it had an effect, and by how much that grew at its ends while it lasted: a slow
  // receiver to which nobody sends has none. nullopt: no counter does.
  std::optional<Counter> counter;
  uint64_t counted = 0;
  double wait = 0;  // Of a counter of waiting: the mean part of the time.
};

class CauseInjector {
 public:
  // All that it is given by reference outlives it, and it outlives the simulation's last step.
  // `manager`: the host port that stays as it is. The subnet is up.
  CauseInjector(Simulation& simulation, const Scenario& scenario, PortRef manager, uint64_t seed);
  CauseInjector(const CauseInjector&) = delete;
  CauseInjector& operator=(const CauseInjector&) = delete;

  // Called when fabricd is killed (true) and when it starts again. Before Plan.
  void SetRestarter(std::function<void(bool begins)> restart) { restart_ = std::move(restart); }
  // Draws everything, of a scenario that begins now. An error names a place that there is not.
  absl::Status Plan();
  // In the order of the scenario. What was counted is known when the run has ended.
  const std::vector<Injected>& injected() const { return injected_; }

 private:
  struct Planned {
    size_t number;  // Of the cause.
    const Cause& cause;
    CausePlace place;
    double severity;
    Instant start, end;
    Rng rng;
  };
  absl::Status PlanCause(size_t number);
  absl::Status PlanTraffic(size_t number);
  void Schedule(Planned planned);
  void CountEffect(const Planned& planned);
  void During(const Planned& planned, std::function<void(bool begins)> what);
  void ScheduleNoise(Planned& planned);
  void ScheduleLoad(Planned& planned);
  void ScheduleLink(Planned& planned);
  void ScheduleNodes(Planned& planned);
  void ScheduleFlaps(Planned& planned);
  void ScheduleDrops(Planned& planned);
  void ScheduleAgents(Planned& planned);
  double LimitsOf(const Planned& planned) const;
  std::vector<NodeIndex> HostsBehind(NodeIndex leaf) const;
  void SetNoise(PortRef receiver, size_t number, const LinkNoise& noise);
  std::vector<NodeIndex> DrawFamily(double share, Rng& rng) const;
  PortRef PeerOf(PortRef port) const { return fabric_.device(port.node)->port(port.port).cable; }
  Instant now() const { return simulation_.now(); }

  Simulation& simulation_;
  SimFabric& fabric_;
  const Scenario& scenario_;
  const PortRef manager_;
  const uint64_t seed_;
  const Instant begin_;
  CausePlaces places_;
  std::vector<Injected> injected_;
  std::function<void(bool begins)> restart_;
  std::map<PortRef, std::map<size_t, LinkNoise>> noise_;  // By receiver and number of the cause.
};

}  // namespace fabricd::sim
