// SPDX-License-Identifier: Apache-2.0
#include "query/policy_index.h"

#include <algorithm>

#include "common/sort_unique.h"

namespace fabricd::query {
namespace {

template <typename Map, typename Key>
void Append(const Map& map, const Key& key, std::vector<uint32_t>& places) {
  const auto found = map.find(key);
  if (found != map.end()) places.insert(places.end(), found->second.begin(), found->second.end());
}

}  // namespace

PolicyIndex::PolicyIndex(std::shared_ptr<const policy::PolicyView> view,
                         const fabric::HostPatterns& patterns)
    : view_(std::move(view)) {
  for (const policy::GoneNode& node : view_->gone) {
    const fabric::HostPatterns::Reading read = patterns.Read(node.description);
    if (!node.is_switch && !read.host.empty()) gone_[read.host].push_back({read.device, &node});
  }
  for (auto& [host, nics] : gone_)
    std::stable_sort(nics.begin(), nics.end(), [](const GoneNic& a, const GoneNic& b) {
      return fabric::CompareNatural(a.device, b.device) < 0;
    });
  for (uint32_t i = 0; i < view_->holds.size(); ++i) {
    const policy::Hold& hold = view_->holds[i].hold;
    for (const Guid node : hold.target.nodes) holds_by_node_[node].push_back(i);
    for (const policy::HeldPort& port : hold.target.ports)
      holds_by_port_[{port.node, port.port}].push_back(i);
    AddNames(i, hold.target);
    // A target that is down has vanished; this is where it can still be seen.
    if (hold.kind != policy::HoldKind::kDisable) continue;
    for (const policy::HeldPort& port : hold.target.facing)
      holds_by_port_[{port.node, port.port}].push_back(i);
  }
  for (uint32_t i = 0; i < view_->damped.size(); ++i) {
    damped_[view_->damped[i].a] = i;
    damped_[view_->damped[i].b] = i;
  }
  for (uint32_t i = 0; i < view_->conditions.size(); ++i)
    conditions_[{view_->conditions[i].node, view_->conditions[i].port}].push_back(i);
}

// A host, or a part of it, by the names that the target had when the hold was made.
void PolicyIndex::AddNames(uint32_t place, const policy::HoldTarget& target) {
  std::vector<std::string> names = target.behind;
  if (target.kind == policy::TargetKind::kHost)
    holds_by_host_[target.name].push_back(place);
  else
    names.push_back(target.name);
  for (const std::string& name : names) {
    const size_t slash = name.find('/');
    if (slash == std::string::npos) continue;
    // A port of an HCA, "node12/mlx5_3/1", is the NIC too.
    holds_by_nic_[name.substr(0, name.find('/', slash + 1))].push_back(place);
    holds_by_host_[name.substr(0, slash)].push_back(place);
  }
}

const std::vector<PolicyIndex::GoneNic>& PolicyIndex::GoneOf(const std::string& host) const {
  static const std::vector<GoneNic> kNone;
  const auto found = gone_.find(host);
  return found == gone_.end() ? kNone : found->second;
}

PolicyIndex::Holds PolicyIndex::ReachingGone(const policy::GoneNode& node) const {
  Places places;
  Append(holds_by_node_, node.node, places);
  for (const policy::HeldPort& port : node.facing) {
    Append(holds_by_node_, port.node, places);
    Append(holds_by_port_, std::pair(port.node, port.port), places);
  }
  return Collect(std::move(places));
}

PolicyIndex::Holds PolicyIndex::ReachingNic(const std::string& nic) const {
  Places places;
  Append(holds_by_nic_, nic, places);
  return Collect(std::move(places));
}

PolicyIndex::Holds PolicyIndex::ReachingHost(const std::string& host) const {
  Places places;
  Append(holds_by_host_, host, places);
  return Collect(std::move(places));
}

const policy::HoldStatus* PolicyIndex::Hold(uint64_t id) const {
  const auto& holds = view_->holds;
  const auto found = std::lower_bound(
      holds.begin(), holds.end(), id,
      [](const policy::HoldStatus& status, uint64_t wanted) { return status.hold.id < wanted; });
  return found != holds.end() && found->hold.id == id ? &*found : nullptr;
}

PolicyIndex::Holds PolicyIndex::Collect(Places places) const {
  SortUnique(places);
  Holds holds;
  for (const uint32_t place : places) holds.push_back(&view_->holds[place]);
  return holds;
}

PolicyIndex::Holds PolicyIndex::OnNode(Guid node) const {
  Places places;
  Append(holds_by_node_, node, places);
  return Collect(std::move(places));
}

PolicyIndex::Holds PolicyIndex::OnPort(Guid node, PortNum port) const {
  Places places;
  Append(holds_by_port_, std::pair(node, port), places);
  return Collect(std::move(places));
}

PolicyIndex::Holds PolicyIndex::Reaching(const fabric::FabricSnapshot& snapshot,
                                         PortRef port) const {
  if (view_->holds.empty()) return {};
  Places places;
  const auto add = [&](PortRef end) {
    const Guid node = snapshot.node(end.node)->guid();
    Append(holds_by_node_, node, places);
    Append(holds_by_port_, std::pair(node, end.port), places);
  };
  add(port);
  const PortRef peer = snapshot.port(port)->peer;
  if (!peer.IsNone()) add(peer);
  return Collect(std::move(places));
}

const policy::DampedLink* PolicyIndex::Damped(PortRef end) const {
  const auto found = damped_.find(end);
  return found == damped_.end() ? nullptr : &view_->damped[found->second];
}

std::vector<const policy::Condition*> PolicyIndex::Conditions(Guid node, PortNum port) const {
  Places places;
  Append(conditions_, std::pair(node, port), places);
  if (port) Append(conditions_, std::pair(node, PortNum(0)), places);
  std::vector<const policy::Condition*> found;
  for (const uint32_t place : places) found.push_back(&view_->conditions[place]);
  return found;
}

}  // namespace fabricd::query
