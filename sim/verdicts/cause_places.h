// SPDX-License-Identifier: Apache-2.0
// CausePlaces: where the causes of one run are. What is drawn is drawn once: no two random places
// of a run share a link, a host or a switch, and none takes the manager's host or its leaf.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <absl/status/statusor.h>

#include "common/ids.h"
#include "common/rng.h"
#include "sim/fabric/sim_fabric.h"
#include "sim/verdicts/scenario.h"

namespace fabricd::sim {

// Of a link one end: a host's where there is one. Of a host its adapters, of a switch itself.
struct CausePlace {
  std::string name;
  PortRef port;                  // None: it is no link.
  std::vector<NodeIndex> nodes;  // Empty: it is no node.
  size_t rail = 0;               // Of a link of a host, and of a rail; from 0.
};

class CausePlaces {
 public:
  // As `fabric`, which outlives it, is now.
  CausePlaces(const SimFabric& fabric, PortRef manager);

  // kNotFound: there is none, or all of its kind have a cause already.
  absl::StatusOr<CausePlace> Find(const Cause& cause, Rng& rng);
  // Hosts without a cause so far, `count` of them at most, but not `but`.
  std::vector<std::string> SomeHosts(size_t count, const std::string& but, Rng& rng) const;
  std::string HostOf(NodeIndex node) const;
  std::string NameOf(PortRef port) const;
  // Both ends of all links of these nodes.
  std::vector<PortRef> EndsAt(const std::vector<NodeIndex>& nodes) const;
  size_t rails() const { return rails_; }

 private:
  absl::StatusOr<CausePlace> FindNamed(const Cause& cause) const;
  bool IsLinkOf(PortRef port, PlaceKind kind) const;
  absl::StatusOr<CausePlace> DrawLink(const Cause& cause, Rng& rng);
  absl::StatusOr<CausePlace> DrawHost(Rng& rng);
  absl::StatusOr<CausePlace> DrawSwitch(PlaceKind kind, Rng& rng);
  CausePlace AtPort(PortRef port) const;
  bool IsFree(NodeIndex node) const { return !taken_.contains(node); }

  const SimFabric& fabric_;
  std::map<std::string, std::vector<NodeIndex>> hosts_;
  std::map<NodeIndex, std::string> host_of_;
  std::map<PortRef, size_t> rail_of_;  // Ports of hosts.
  std::vector<PortRef> links_;         // One end of each: that of a host, else the lower.
  std::vector<NodeIndex> switches_;
  std::set<PortRef> taken_links_;
  std::set<NodeIndex> taken_;
  size_t rails_ = 0;
};

}  // namespace fabricd::sim
