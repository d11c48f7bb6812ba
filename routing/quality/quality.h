// SPDX-License-Identifier: Apache-2.0
// routing/quality: how well a plan spreads traffic, from its tables alone.
//
// Quality of a plan, from its tables alone, whatever the engine: how many flows share a link when
// the host ports of one connected component of the fabric send in the patterns that clusters are
// judged by. Pure, parallel, and the same for any number of threads.
//
// Words. A link is one direction of one cable between two switches; links of a host are not
// counted, because every pattern here uses each of them once. A flow is one host port sending to
// one other by its base LID. The congestion of a link is the number of flows over it, that of a
// flow the highest congestion on its way, at least 1. All links are taken to be as fast as a
// host's, so a flow gets 1 / congestion of what its port could send. Positions are those of
// positions.h: a flow from or to a hole is left out. Random choices come from a seed.
//
//   all-to-all          every host port to every other. The load of a link is its number of ordered
//                       pairs (the edge forwarding index); the mean is over all links.
//   shift k             from each position p to (p + k) mod positions, 0 < k < positions.
//   random permutation  from each host port to one drawn for it, each drawn once.
//   bisection           the host ports are drawn into two halves and paired (one is left out if
//                       their number is odd); the two of each pair send to each other. Effective
//                       bisection bandwidth: the mean over flows, and over bisections, of
//                       1 / congestion (Hoefler, Schneider, Lumsdaine, CLUSTER'08).
//   ring                of an ordered set of hosts, on each rail: from each to the next in the set
//                       that has a port on the rail, from the last to the first.
//   recursive doubling  of an ordered set of n hosts: for each power of two below n, from the one
//                       of rank r to that of rank r xor 2^k, where there is one.
//   all-to-all shifts   of an ordered set of n hosts: for each 0 < k < n, from rank r to
//                       (r + k) mod n.
// The last three are measured with all rails at once, each rail within itself; a host without a
// port on a rail keeps its rank there and takes no part. The sets, ranks in topological order:
//
//   all         every host
//   contiguous  neighbours, from any host on, as many as fill one or more of the largest unit
//   any length  neighbours, from any host on, two or more
//   units       all hosts of half of the units, drawn
//   slots       of each unit the same places: a power of two of them from a multiple of it on
//   random      half of the hosts, drawn
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/ids.h"
#include "fabric/rails.h"
#include "fabric/snapshot.h"
#include "routing/plan/parallel.h"
#include "routing/plan/plan.h"
#include "routing/quality/congestion.h"
#include "routing/quality/path_walker.h"

namespace fabricd::routing {

struct LoadCount {
  uint32_t load;   // Ordered pairs over a link.
  uint32_t links;  // That carry this load.
  friend bool operator==(const LoadCount&, const LoadCount&) = default;
};
struct AllToAll {
  uint32_t max = 0;
  double mean = 0;
  // No tables can have a lower `max` (load_bound.h); with the plan's order, if it has one.
  double lower_bound = 0;
  double bandwidth = 1;                 // (host ports - 1) / max(max, host ports - 1)
  std::vector<LoadCount> distribution;  // By load.
  std::vector<uint32_t> load;           // [link]
};

// Ways from switches with hosts to host ports, against the fewest links the fabric has between the
// two switches.
struct Hops {
  uint32_t max = 0;  // Links between switches.
  double mean = 0;
  uint32_t most_extra = 0;  // Links more than the fewest.
  double mean_stretch = 1;  // Links over the fewest, of ways between different switches.
  bool all = true;          // False: ways to a sample of the host ports.
};

struct RailPatterns {
  std::string sets;  // "all", "contiguous", …
  uint32_t samples = 0;
  Congestion ring, recursive_doubling, all_to_all;
};

struct Quality {
  uint32_t hosts = 0;      // Host ports of this component.
  uint32_t positions = 0;  // Holes included.
  uint32_t links = 0;
  uint64_t unrouted = 0;  // Ordered pairs of host ports whose packets the tables lead astray.
  AllToAll all_to_all;
  Hops hops;
  Congestion shift, random_permutation;
  double effective_bisection = 1;
  uint32_t bisections = 0;
  std::vector<RailPatterns> rails;  // Empty: no rails were given.
};

// Hosts with their ports by rail, in topological order.
struct RailedHosts {
  uint32_t rails = 0;
  std::vector<std::vector<PortRef>> ports;  // [host][rail] None(): missing.
  std::vector<uint32_t> unit;               // [host] Scalable unit, ascending.
};

// `rails` in topological order: units by their first leaf, the hosts of a unit by the port that
// they have on most of its leaves.
RailedHosts OrderHosts(const fabric::FabricSnapshot& snapshot, const fabric::Rails& rails,
                       const SwitchGraph& graph);

struct QualityOptions {
  uint64_t seed = 1;
  // A family of patterns with more flows than this is sampled, but never below `least_patterns`.
  uint64_t most_flows = 20'000'000;
  uint32_t least_patterns = 100;
  uint32_t permutations = 100;
  uint32_t bisections = 100;
  uint32_t rail_samples = 10;  // Of each kind of host set.
};

// Of one connected component of the fabric. `rails` may be null.
Quality MeasureQuality(const SwitchGraph& graph, const RoutingPlan& plan, const RailedHosts* rails,
                       const QualityOptions& options, Parallel& parallel);

}  // namespace fabricd::routing
