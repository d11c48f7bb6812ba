// SPDX-License-Identifier: Apache-2.0
// ManagerWatch: the checker of takeovers. Where some node could be master, a node must be master
// within some seconds, with the right to write unless it is cut from etcd. A node could be master
// if it runs, reaches etcd, and reaches the fabric and all other nodes that do. A foreign SM may be
// master instead, also while it is busy.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/shared/foreign_node.h"
#include "sim/shared/management_node.h"

namespace fabricd::sim {

class ManagerWatch {
 public:
  // `foreign`: null, there is no SM of another make. `say`: what is wrong. All outlive this.
  ManagerWatch(const SharedWorld& world, const ManagementNodes& nodes,
               const std::unique_ptr<ForeignNode>& foreign,
               std::function<void(const std::string&)> say)
      : world_(world), nodes_(nodes), foreign_(foreign), say_(std::move(say)) {}

  // Call often.
  void Look();
  // A fault strikes a node or a switch, perhaps during a takeover: the time starts again.
  void OnFault() { since_ = kNever; }
  // A node lets another one go first.
  void OnYield(Duration time) {
    OnFault();
    yields_until_ = world_.now() + time;
  }

 private:
  bool IsOnFabric(const ManagementNode& node) const;
  // All those that are on the fabric.
  bool ReachesNodes(PortRef from) const;
  bool CouldManage(const ManagementNode& node) const;
  bool Manages(const ManagementNode& node) const;
  bool ForeignManages() const;
  Duration Limit() const;

  const SharedWorld& world_;
  const ManagementNodes& nodes_;
  const std::unique_ptr<ForeignNode>& foreign_;
  const std::function<void(const std::string&)> say_;
  // Since when no node manages though one could.
  Instant since_ = kNever;
  Duration limit_{};  // As last seen.
  Instant yields_until_ = Instant::min();
};

}  // namespace fabricd::sim
