// SPDX-License-Identifier: Apache-2.0
// PolicyIndex: which holds, damped links and conditions concern a port. Immutable, made once for
// each PolicyView.
#pragma once

#include <memory>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "fabric/snapshot.h"
#include "policy/policy_view.h"

namespace fabricd::rpc {

class PolicyIndex {
 public:
  explicit PolicyIndex(std::shared_ptr<const policy::PolicyView> view);

  using Holds = std::vector<const policy::HoldStatus*>;  // By id, each once.
  const policy::PolicyView& view() const { return *view_; }
  // nullptr: there is none of this id.
  const policy::HoldStatus* Hold(uint64_t id) const;
  // On the node itself, or on the host that it belongs to.
  Holds OnNode(Guid node) const;
  // On the port itself or on its link.
  Holds OnPort(Guid node, PortNum port) const;
  // On the port, its node, the port that it is linked to or that one's node.
  Holds Reaching(const fabric::FabricSnapshot& snapshot, PortRef port) const;
  // By either end; nullptr: the link has no penalty.
  const policy::DampedLink* Damped(PortRef end) const;
  // About the port or about its node as a whole.
  std::vector<const policy::Condition*> Conditions(Guid node, PortNum port) const;

 private:
  using Places = std::vector<uint32_t>;  // In view().holds or view().conditions.
  Holds Collect(Places places) const;

  std::shared_ptr<const policy::PolicyView> view_;
  absl::flat_hash_map<Guid, Places> holds_by_node_;
  absl::flat_hash_map<std::pair<Guid, PortNum>, Places> holds_by_port_, conditions_;
  absl::flat_hash_map<PortRef, uint32_t> damped_;
};

}  // namespace fabricd::rpc
