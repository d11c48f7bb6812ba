// SPDX-License-Identifier: Apache-2.0
// Control: what an operator may do to a simulated fabric (gRPC fabric.sim.v1, `fabricctl sim …`).
// SimTransport implements it. Every method may be called from any thread and returns when what was
// asked for has been applied (the subnet manager then hears of it as it would on hardware: by traps
// and local events).
//
// A node is named by its NodeDescription ("node0001 mlx5_0"), when exactly one node has it, or by
// its GUID: "0x0002c90300001234", "S-0002c90300001234", "H-…". kNotFound: no such node or port;
// kInvalidArgument: the description is ambiguous (the message lists the GUIDs).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <absl/status/status.h>

#include "common/ids.h"
#include "sim/performance/bit_error_rates.h"
#include "sim/performance/counters.h"
#include "sim/performance/performance_options.h"
#include "sim/traffic/traffic_job.h"

namespace fabricd::sim {

struct SimEndpoint {
  std::string node;  // NodeDescription
  Guid guid;
  PortNum port;
};

// One cable, plugged or pulled: both ends remember their sockets, so that a pulled one can be put
// back.
struct SimCable {
  SimEndpoint a, b;  // a has the lower (GUID, port).
  bool plugged = false;
  bool up = false;  // Both ends are physically LinkUp.
};

struct SimNode {
  std::string description;
  Guid guid;
  bool is_switch = false;
  int ports = 0;
  bool running = true;  // False while it is off or reboots.
};

// What a port is to count, in this order.
struct PortErrors {
  bool clear = false;                                // All its registers first, as by another tool.
  std::vector<std::pair<Counter, uint64_t>> counts;  // So many more.
  std::optional<BitErrorRates> rates;                // From now on; all 0 ends it.
  std::optional<int> module_celsius;                 // From now on.
};

class Control {
 public:
  virtual ~Control() = default;
  // Pulls the cable of this port. kFailedPrecondition: there is none, or it is pulled already.
  [[nodiscard]] virtual absl::Status Unlink(const std::string& node, PortNum port) = 0;
  // Puts back the cable that was pulled here. kFailedPrecondition: none was, or it is plugged.
  [[nodiscard]] virtual absl::Status Link(const std::string& node, PortNum port) = 0;
  // Joins two free sockets with a new cable. kFailedPrecondition: a socket has a plugged cable.
  [[nodiscard]] virtual absl::Status Connect(const std::string& node_a, PortNum port_a,
                                             const std::string& node_b, PortNum port_b) = 0;
  // Restarts a device: its links drop, all that a subnet manager wrote is lost, links come back
  // after the simulated boot time.
  [[nodiscard]] virtual absl::Status Reboot(const std::string& node) = 0;
  // kInvalidArgument: a rate is not in [0, 1].
  [[nodiscard]] virtual absl::Status SetErrors(const std::string& node, PortNum port,
                                               const PortErrors& errors) = 0;
  // How the performance and vendor agents of the node behave from now on; of all nodes where it is
  // empty.
  [[nodiscard]] virtual absl::Status SetPerformance(const std::string& node,
                                                    const PerformanceOptions& options) = 0;
  // The clock of the whole process (ProcessClock) runs so many times as fast as real time.
  // kInvalidArgument: not in [1, kFastestClock].
  static constexpr double kFastestClock = 1000;
  [[nodiscard]] virtual absl::Status SetClockRate(double rate) = 0;
  // As SimFabric has them.
  [[nodiscard]] virtual absl::Status StartTraffic(const TrafficJob& job) = 0;
  [[nodiscard]] virtual absl::Status StopTraffic(const std::string& name) = 0;
  virtual std::vector<TrafficReport> ListTraffic() = 0;
  // Ordered by (GUID, port) of end a.
  virtual std::vector<SimCable> ListCables() = 0;
  // Ordered by GUID.
  virtual std::vector<SimNode> ListNodes() = 0;
};

}  // namespace fabricd::sim
