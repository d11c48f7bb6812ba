// SPDX-License-Identifier: Apache-2.0
#include "sim/shared/manager_watch.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/checkers/end_ports.h"

namespace fabricd::sim {
namespace {

// Of a takeover, beyond the lease of a master that ended before it was seen.
constexpr std::chrono::seconds kTakeover{8};
// A master that is cut from etcd stays master, and may write again this long after the cut.
constexpr std::chrono::seconds kReattached{3};

}  // namespace

bool ManagerWatch::IsOnFabric(const ManagementNode& node) const {
  return !world_.fabric().LinkedPeer(node.host()).IsNone();
}

bool ManagerWatch::CouldManage(const ManagementNode& node) const {
  if (!node.runs() || node.is_paused() || !IsOnFabric(node) || world_.now() < node.path.cut_until ||
      !world_.store.etcd.is_prompt())
    return false;
  const auto beyond = PortsBeyond(world_.fabric(), node.host());
  return std::none_of(nodes_.begin(), nodes_.end(), [&](const auto& other) {
    return IsOnFabric(*other) && beyond.contains(other->host());
  });
}

bool ManagerWatch::Manages(const ManagementNode& node) const {
  const bool may_write = node.may_write() || world_.now() < node.path.cut_until + kReattached;
  return node.is_master() && may_write && !node.is_paused() && IsOnFabric(node);
}

void ManagerWatch::Look() {
  const auto any = [this](bool (ManagerWatch::*is)(const ManagementNode&) const) {
    return std::any_of(nodes_.begin(), nodes_.end(),
                       [&](const auto& node) { return (this->*is)(*node); });
  };
  if (any(&ManagerWatch::Manages) || !any(&ManagerWatch::CouldManage)) {
    since_ = kNever;
    return;
  }
  since_ = std::min(since_, world_.now());
  const Duration limit = world_.store.lease + kTakeover;
  if (world_.now() - since_ < limit) return;
  say_(fmt::format("none for {} s, though a node could be master",
                   std::chrono::duration<double>(limit).count()));
  since_ = kNever;
}

}  // namespace fabricd::sim
