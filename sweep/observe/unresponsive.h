// SPDX-License-Identifier: Apache-2.0
// Nodes that do not respond, although a neighbour's port to them is ACTIVE. Their SMA may be busy,
// restarting or hung while the hardware forwards. So their last known state and their routes stay
// for a grace period (SweepOptions::unresponsive_grace), and after it if the options say so. A node
// that has restarted, or lost its link, shows that at its neighbours' ports and is lost at once.
#pragma once

#include <vector>

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include "sweep/observe/ground.h"

namespace fabricd::sweep {

// Whether a node that does not respond since then may still stay.
bool IsInGrace(const SweepOptions& options, Instant since, Instant now);
// Whether the node may stay if it does not respond now.
bool MayStayUnresponsive(const Ground& ground, NodeIndex node, Instant now);
// It does not respond, and stays. Returns true if it responded before.
bool MarkUnresponsive(const Ground& ground, NodeIndex node, Instant now);
// It responds. Returns true if it did not before.
bool MarkResponsive(const Ground& ground, NodeIndex node);

// Replaces the problems about such nodes.
void ReportUnresponsive(const Ground& ground);

// UnansweredLinks: the links of one discovery whose probes got no response.
class UnansweredLinks {
 public:
  explicit UnansweredLinks(const Ground& ground) : ground_(ground) {}

  // Whether the state of `from` must be read again: it leads to a known node, and was ACTIVE.
  // `with_switches`: links to switches too.
  bool NeedsCheck(PortRef from, bool with_switches, Instant now) const;
  // The port has been read: it still is ACTIVE; or it could not be read.
  void Add(PortRef from) { active_.insert(from); }
  // The port is an end of such a link.
  bool Has(PortRef port) const;
  // Marks the nodes beyond these links, and those that only they lead to, as unresponsive, but for
  // nodes that were seen. Returns them. Call once, after the last response.
  absl::flat_hash_set<NodeIndex> MarkNodes(const absl::flat_hash_map<NodeIndex, uint16_t>& seen,
                                           Instant now);

 private:
  const Ground& ground_;
  absl::flat_hash_set<PortRef> active_;
};

}  // namespace fabricd::sweep
