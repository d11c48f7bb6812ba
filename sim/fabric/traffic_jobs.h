// SPDX-License-Identifier: Apache-2.0
// TrafficJobs: the jobs that run on a simulated fabric. Their flows go by the devices' own
// forwarding tables; what each port transmits, receives and waits (sim/traffic/port_loads.h) is
// given to its counters. Nothing is sent as packets, and MADs do not meet it.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <absl/status/status.h>

#include "common/ids.h"
#include "common/time.h"
#include "sim/fabric/sim_nodes.h"
#include "sim/traffic/port_loads.h"
#include "sim/traffic/traffic_job.h"

namespace fabricd::sim {

class TrafficJobs {
 public:
  static constexpr size_t kMostFlows =
      262'144;  // Of all jobs: 512 hosts with one port, all to all.

  // `nodes` must outlive it.
  explicit TrafficJobs(SimNodes& nodes) : nodes_(nodes) {}

  bool empty() const { return jobs_.empty(); }
  // SimNodes::revision() as of the last Route.
  uint64_t routed_revision() const { return routed_revision_; }
  // As SimFabric has them. Both route.
  absl::Status Start(Instant now, TrafficJob job);
  absl::Status Stop(Instant now, const std::string& name);
  // By name.
  std::vector<TrafficReport> List() const;
  // Routes all flows again: by the tables and links as they are, from now on.
  void Route(Instant now);

 private:
  struct Flow {
    PortRef from, to;
  };
  struct Job {
    TrafficReport report;
    std::vector<Flow> flows;
  };
  // False: it has no path now.
  bool Trace(const Flow& flow, TrafficFlow& traced) const;
  void SetLoads(Instant now, const TrafficLoads& loads);

  SimNodes& nodes_;
  std::vector<Job> jobs_;     // By name.
  std::set<PortRef> loaded_;  // Ports whose load is not 0.
  uint64_t routed_revision_ = 0;
};

}  // namespace fabricd::sim
