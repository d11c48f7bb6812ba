// SPDX-License-Identifier: Apache-2.0
#include "sim/shared/manager_watch.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sim/checkers/end_ports.h"

namespace fabricd::sim {
namespace {

// Of a takeover, beyond the lease of a master that ended before it was seen.
constexpr std::chrono::seconds kTakeover{8};
// A call whose reply is lost takes its whole timeout, and an opening makes several calls. Meanwhile
// another node may take the epoch, and each then starts again.
constexpr std::chrono::seconds kLostReplies{30};
// A master that is cut from etcd stays master, and may write again this long after the cut.
constexpr std::chrono::seconds kReattached{3};

}  // namespace

bool ManagerWatch::IsOnFabric(const ManagementNode& node) const {
  return !world_.fabric().LinkedPeer(node.host()).IsNone();
}

bool ManagerWatch::ReachesNodes(PortRef from) const {
  const auto beyond = PortsBeyond(world_.fabric(), from);
  return std::none_of(nodes_.begin(), nodes_.end(), [&](const auto& node) {
    return IsOnFabric(*node) && beyond.contains(node->host());
  });
}

bool ManagerWatch::CouldManage(const ManagementNode& node) const {
  if (!node.runs() || node.is_paused() || !IsOnFabric(node) || world_.now() < node.path.cut_until ||
      !world_.store.etcd.is_prompt())
    return false;
  return ReachesNodes(node.host());
}

bool ManagerWatch::Manages(const ManagementNode& node) const {
  const bool may_write = node.may_write() || world_.now() < node.path.cut_until + kReattached;
  return node.is_master() && may_write && !node.is_paused() && IsOnFabric(node);
}

bool ManagerWatch::ForeignManages() const {
  return foreign_ != nullptr && foreign_->is_master() && !foreign_->hangs() &&
         ReachesNodes(foreign_->host());
}

Duration ManagerWatch::Limit() const {
  Duration limit = world_.store.lease + kTakeover;
  for (const auto& node : nodes_) {
    if (node->path.reply_lost > 0) limit = std::max<Duration>(limit, kLostReplies);
    // It was stopped in its first moments: to the others its SM is of another make, and busy.
    if (node->is_paused() && !node->has_named_port())
      limit = std::max<Duration>(limit, kTakeover + sweep::LastMaster::kPatience);
  }
  return limit;
}

void ManagerWatch::Look() {
  const auto any = [this](bool (ManagerWatch::*is)(const ManagementNode&) const) {
    return std::any_of(nodes_.begin(), nodes_.end(),
                       [&](const auto& node) { return (this->*is)(*node); });
  };
  if (world_.now() < yields_until_ || ForeignManages() || any(&ManagerWatch::Manages) ||
      !any(&ManagerWatch::CouldManage)) {
    since_ = kNever;
    return;
  }
  since_ = std::min(since_, world_.now());
  const Duration limit = Limit();
  if (limit < std::exchange(limit_, limit)) since_ = world_.now();
  if (world_.now() - since_ < limit) return;
  say_(fmt::format("none for {} s, though a node could be master",
                   std::chrono::duration<double>(limit).count()));
  since_ = kNever;
}

}  // namespace fabricd::sim
