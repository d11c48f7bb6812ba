// SPDX-License-Identifier: Apache-2.0
// LaneReader: reads all SLtoVLMappingTables and VLArbitrationTables of some nodes because an SA
// client requests them. Without such a request they are not read unless the plan uses them: a
// switch with 40 ports has 1,681 mappings, more than everything else that a sweep reads from it.
// Never writes.
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
  // References must outlive this. `run` distinguishes its completions from those of earlier
  // readers.
  LaneReader(std::shared_ptr<const fabric::FabricSnapshot> snapshot, std::vector<NodeIndex> nodes,
             DeviceTable& devices, mad::TransactionEngine& engine, uint16_t run);

  // Submits requests up to a limit of the engine's queue.
  void Feed();
  // False: the completion belongs to an earlier reader. Ignore it.
  bool IsMine(const mad::Completion& completion) const { return completion.context.run == run_; }
  // REQUIRES: IsMine().
  void OnCompletion(const mad::Completion& completion);
  // Every table was read or given up. Nodes whose tables all got a response are marked as read.
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
    size_t tables = 0;  // Without a response so far.
  };
  std::vector<Left> left_;  // Sorted by node.
};

}  // namespace fabricd::sweep
