// SPDX-License-Identifier: Apache-2.0
// TrafficJobs: the jobs that run on a simulated fabric. Their flows go by the devices' own
// forwarding tables; what each port transmits, receives and waits (sim/traffic/port_loads.h) is
// given to its counters. Nothing is sent as packets, and MADs do not meet it.
#pragma once

#include <cstdint>
#include <map>
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
  // What the receiver of an incast takes of its link's rate: packets of many senders in turn cost
  // it a little more than one stream.
  static constexpr double kIncastShare = 0.88;

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
  // This end port takes at most that part of what its link carries; 1 ends it.
  void SetReceiverShare(Instant now, PortRef port, double share);

  // A flow that comes in by a port, and the ports by which it comes in after that.
  struct Passing {
    double gigabits = 0;
    std::vector<PortRef> further;
  };
  // From now on Route keeps what passes this port.
  void Watch(Instant now, PortRef ingress);
  // As of the last Route. REQUIRES: Watch was called.
  const std::vector<Passing>& PassingAt(PortRef ingress) const { return watched_.at(ingress); }

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
  std::map<PortRef, double> ReceiverShares() const;
  void NotePassing(const std::vector<TrafficFlow>& traced, const TrafficLoads& loads);
  void SetLoads(Instant now, const TrafficLoads& loads);

  SimNodes& nodes_;
  std::vector<Job> jobs_;     // By name.
  std::set<PortRef> loaded_;  // Ports whose load is not 0.
  std::map<PortRef, double> receiver_shares_;
  std::map<PortRef, std::vector<Passing>> watched_;
  uint64_t routed_revision_ = 0;
};

}  // namespace fabricd::sim
