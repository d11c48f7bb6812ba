// SPDX-License-Identifier: Apache-2.0
// Places: where in a fabric something can happen, as the fabric was at first (a cable stays in the
// list while it is pulled), and on which host ports subnet managers sit.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/rng.h"
#include "sim/fabric/sim_fabric.h"

namespace fabricd::sim {

class Places {
 public:
  // Lists what `fabric`, which outlives this, has now.
  explicit Places(const SimFabric& fabric);

  const std::vector<NodeIndex>& nodes() const { return nodes_; }
  // One end of each.
  const std::vector<PortRef>& cables() const { return cables_; }
  // The adapters of each host, by the host's name in their descriptions.
  std::vector<std::vector<NodeIndex>> Hosts() const;
  // Those of `node` that are plugged now.
  std::vector<PortRef> CablesOf(NodeIndex node) const;
  // For the story: the node's description; "description/port".
  std::string NameOf(NodeIndex node) const;
  std::string NameOf(PortRef port) const;

  // Where someone sits, in the order in which they came.
  const std::vector<PortRef>& taken() const { return taken_; }
  void Take(PortRef host) { taken_.push_back(host); }
  // A port of a host on which nobody sits. REQUIRES: there is one.
  PortRef SomeFreeHost(Rng& rng) const;
  // The same, where somebody sits from now on.
  PortRef TakeSomeHost(Rng& rng);
  // Who sits on `from` sits on a free host from now on. REQUIRES: there is one.
  PortRef MoveToSomeHost(PortRef from, Rng& rng);

  // Who sat there has moved.
  bool IsDeserted(PortRef host) const {
    return std::find(deserted_.begin(), deserted_.end(), host) != deserted_.end();
  }

  // Whether all that sit somewhere reach each other now over cables that carry most of what they
  // are given. REQUIRES: someone does.
  bool AllTogether() const;
  // Cables that, pulled, cut `here` off from `there`: those around a part of about `size` nodes
  // that is grown from `here` and leaves out `there` and the switch next to it.
  std::vector<PortRef> CutBetween(PortRef here, PortRef there, size_t size) const;

 private:
  void List(NodeIndex node);

  const SimFabric& fabric_;
  std::vector<NodeIndex> nodes_;
  std::vector<PortRef> cables_;
  std::vector<PortRef> host_ports_;
  std::vector<PortRef> taken_;
  std::vector<PortRef> deserted_;  // One entry for each move.
};

}  // namespace fabricd::sim
