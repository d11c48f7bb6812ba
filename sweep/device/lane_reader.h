// SPDX-License-Identifier: Apache-2.0
// LaneReader: reads all SLtoVLMappingTables and VLArbitrationTables of some nodes, because somebody
// asks Subnet Administration for them. A plan that has no use for them has none read: a switch of
// 40 ports holds 1,681 mappings, more than all else that a sweep asks of it. It writes nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "fabric/snapshot.h"
#include "mad/transaction_engine.h"
#include "sweep/device/device_table.h"

namespace fabricd::sweep {

class LaneReader {
 public:
  // References must outlive this. `run` tells its completions from those of the one before.
  LaneReader(std::shared_ptr<const fabric::FabricSnapshot> snapshot, std::vector<NodeIndex> nodes,
             DeviceTable& devices, mad::TransactionEngine& engine, uint16_t run);

  // Hands as many requests to the engine as it should hold.
  void Feed();
  // False: of an earlier one; not to be counted here.
  bool IsMine(const mad::Completion& completion) const { return completion.context.run == run_; }
  // REQUIRES: IsMine().
  void OnCompletion(const mad::Completion& completion);
  // What was answered is known, and the nodes of which all was are marked as read.
  bool done() const { return next_ == tables_.size() && outstanding_ == 0; }
  const std::vector<NodeIndex>& nodes() const { return nodes_; }

 private:
  const std::shared_ptr<const fabric::FabricSnapshot> snapshot_;
  const std::vector<NodeIndex> nodes_;
  DeviceTable& devices_;
  mad::TransactionEngine& engine_;
  const uint16_t run_;
  std::vector<VlTable> tables_;  // By node.
  size_t next_ = 0, outstanding_ = 0;
  struct Left {
    NodeIndex node;
    size_t tables = 0;  // That have not been answered.
  };
  std::vector<Left> left_;  // Sorted by node.
};

}  // namespace fabricd::sweep
