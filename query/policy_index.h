// SPDX-License-Identifier: Apache-2.0
// PolicyIndex: which holds, damped links and conditions concern a port. Immutable, made once for
// each PolicyView.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "fabric/hosts.h"
#include "fabric/snapshot.h"
#include "policy/policy_view.h"

namespace fabricd::query {

class PolicyIndex {
 public:
  PolicyIndex(std::shared_ptr<const policy::PolicyView> view, const fabric::HostPatterns& patterns);

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
  // A NIC of a host that was on the fabric since the start and is not now.
  struct GoneNic {
    std::string device;  // May be empty.
    const policy::GoneNode* node;
  };
  const std::vector<GoneNic>& GoneOf(const std::string& host) const;  // By device, then GUID.
  // On a node that is gone, or on the ports that it hung on last.
  Holds ReachingGone(const policy::GoneNode& node) const;
  // Made when this end port, "node12/mlx5_3", hung on the target, or one of the host "node12" did.
  Holds ReachingNic(const std::string& nic) const;
  Holds ReachingHost(const std::string& host) const;
  // By either end; nullptr: the link has no penalty.
  const policy::DampedLink* Damped(PortRef end) const;
  // About the port or about its node as a whole.
  std::vector<const policy::Condition*> Conditions(Guid node, PortNum port) const;

 private:
  using Places = std::vector<uint32_t>;  // In view().holds or view().conditions.
  void AddNames(uint32_t place, const policy::HoldTarget& target);
  Holds Collect(Places places) const;

  std::shared_ptr<const policy::PolicyView> view_;
  absl::flat_hash_map<Guid, Places> holds_by_node_;
  absl::flat_hash_map<std::pair<Guid, PortNum>, Places> holds_by_port_, conditions_;
  absl::flat_hash_map<PortRef, uint32_t> damped_;
  absl::flat_hash_map<std::string, Places> holds_by_nic_, holds_by_host_;
  absl::flat_hash_map<std::string, std::vector<GoneNic>> gone_;
};

}  // namespace fabricd::query
