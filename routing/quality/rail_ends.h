// SPDX-License-Identifier: Apache-2.0
// RailEnds: the end ports of hosts by rail, and the flows that collective operations send between
// them, each rail within itself. Internal to routing/.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "routing/graph/graph.h"
#include "routing/quality/congestion.h"
#include "routing/quality/quality.h"

namespace fabricd::routing {

using HostSet = std::vector<uint32_t>;  // By rank; indices into RailedHosts::ports.

// The host ports of one connected component of the fabric.
class RailEnds {
 public:
  static constexpr uint32_t kNone = 0xFFFFFFFF;

  RailEnds(const SwitchGraph& graph, const RailedHosts& rails)
      : rails_(rails.rails), ends_(rails.ports.size() * rails.rails, kNone) {
    absl::flat_hash_map<PortRef, uint32_t> end_of;
    for (uint32_t e = 0; e < graph.ends.size(); ++e) end_of.emplace(graph.ends[e].owner, e);
    for (size_t host = 0; host < rails.ports.size(); ++host)
      for (uint32_t rail = 0; rail < rails_; ++rail)
        if (const auto end = end_of.find(rails.ports[host][rail]); end != end_of.end())
          ends_[host * rails_ + rail] = end->second;
  }

  uint32_t rails() const { return rails_; }
  // False: the host has no port there, or it is in another component.
  bool Has(uint32_t host, uint32_t rail) const { return At(host, rail) != kNone; }

  // From each host to the next in the set that has a port on the rail, from the last to the first.
  void AddRing(const HostSet& hosts, uint32_t rail, Flows& flows) const {
    Flows ring;
    for (uint32_t host : hosts)
      if (Has(host, rail)) ring.push_back({At(host, rail), 0});
    for (size_t i = 0; i < ring.size(); ++i) ring[i].to = ring[(i + 1) % ring.size()].from;
    if (ring.size() > 1) flows.insert(flows.end(), ring.begin(), ring.end());
  }
  // From each rank to rank xor `bit`, where there is one; `rail` none: on all rails.
  void AddDoubling(const HostSet& hosts, uint32_t bit, std::optional<uint32_t> rail,
                   Flows& flows) const {
    for (size_t rank = 0; rank < hosts.size(); ++rank)
      if ((rank ^ bit) < hosts.size()) AddFlows(hosts[rank], hosts[rank ^ bit], rail, flows);
  }
  // From each rank to the one `shift` places further, in a circle.
  void AddShift(const HostSet& hosts, uint32_t shift, std::optional<uint32_t> rail,
                Flows& flows) const {
    for (size_t rank = 0; rank < hosts.size(); ++rank)
      AddFlows(hosts[rank], hosts[(rank + shift) % hosts.size()], rail, flows);
  }

 private:
  uint32_t At(uint32_t host, uint32_t rail) const { return ends_[host * rails_ + rail]; }
  void AddFlows(uint32_t from, uint32_t to, std::optional<uint32_t> only, Flows& flows) const {
    for (uint32_t rail = only.value_or(0); rail < (only ? *only + 1 : rails_); ++rail)
      if (Has(from, rail) && Has(to, rail)) flows.push_back({At(from, rail), At(to, rail)});
  }

  const uint32_t rails_;
  std::vector<uint32_t> ends_;  // [host * rails + rail]
};

}  // namespace fabricd::routing
