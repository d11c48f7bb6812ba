// SPDX-License-Identifier: Apache-2.0
// ManagerWatch: the checker of takeovers. Where some node could be master, a node must be master
// within some seconds, with the right to write unless it is cut from etcd. A node could be master
// if it runs, reaches etcd, and reaches the fabric and all other nodes that do.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/shared/management_node.h"

namespace fabricd::sim {

class ManagerWatch {
 public:
  using Nodes = std::vector<std::unique_ptr<ManagementNode>>;
  // `say`: what is wrong. All outlive this.
  ManagerWatch(const SharedWorld& world, const Nodes& nodes,
               std::function<void(const std::string&)> say)
      : world_(world), nodes_(nodes), say_(std::move(say)) {}

  // Call often.
  void Look();
  // A fault strikes a node or a switch, perhaps during a takeover: the time starts again.
  void OnFault() { since_ = kNever; }

 private:
  bool IsOnFabric(const ManagementNode& node) const;
  bool CouldManage(const ManagementNode& node) const;
  bool Manages(const ManagementNode& node) const;

  const SharedWorld& world_;
  const Nodes& nodes_;
  const std::function<void(const std::string&)> say_;
  // Since when no node manages though one could.
  Instant since_ = kNever;
};

}  // namespace fabricd::sim
