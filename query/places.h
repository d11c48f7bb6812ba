// SPDX-License-Identifier: Apache-2.0
// Places: what a node is to the fabric, by where it hangs. Immutable once built.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fabric/hosts.h"
#include "routing/plan/tree_layout.h"

namespace fabricd::query {

class Places {
 public:
  // `layout` may be null; where it has a rank for a switch, that is the switch's tier.
  Places(const fabric::FabricSnapshot& snapshot, const fabric::HostTable& hosts,
         const routing::TreeLayout* layout);

  // Whether what was made of `before` is as if made of `now`, by the same hosts and layout: nothing
  // that differs is where places are read from. Costs what differs.
  static bool StayPut(const fabric::FabricSnapshot& before, const fabric::FabricSnapshot& now,
                      const routing::TreeLayout* layout);

  // As Node.role, Node.tier and Node.rail (fabric.proto); a rail of -1: none.
  const char* role(const fabric::Node& node) const;
  uint32_t tier(NodeIndex node) const { return tiers_[node.value()]; }
  int rail(NodeIndex node) const { return rails_[node.value()]; }

 private:
  void FindTiers(const fabric::FabricSnapshot& snapshot, const routing::TreeLayout* layout);
  void FindRails(const fabric::FabricSnapshot& snapshot, const fabric::HostTable& hosts);

  std::vector<uint32_t> tiers_;   // [NodeIndex] 0: not a switch, or one without hosts.
  std::vector<int> rails_;        // [NodeIndex]
  std::vector<uint8_t> is_host_;  // [NodeIndex]
};

}  // namespace fabricd::query
