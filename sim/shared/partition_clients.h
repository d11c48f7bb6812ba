// SPDX-License-Identifier: Apache-2.0
// PartitionClients: operators who create and delete partitions through the master of the time, and
// the checker of acknowledged partitions: a P_Key belongs to one partition at a time, and each
// later master with the epoch knows the partition, until it is deleted.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "common/rng.h"
#include "sim/faults/places.h"
#include "sim/shared/management_node.h"
#include "sim/shared/pending_commands.h"
#include "sim/shared/shared_world.h"

namespace fabricd::sim {

class PartitionClients {
 public:
  // As HoldClients. `seed`: of their own draws.
  PartitionClients(SharedWorld& world, const Places& places, uint64_t seed,
                   std::function<ManagementNode*()> master,
                   std::function<void(const std::string&)> say)
      : world_(world),
        places_(places),
        rng_(seed),
        master_(std::move(master)),
        say_(std::move(say)) {}

  // Draws what they do within the next `phase`, which is longer than 2 s.
  void Plan(Duration phase);
  // A node has answered.
  void OnFinished(const sweep::FinishedCommand& finished);
  // `node` is master with the epoch, and shows `view`: it knows all acknowledged partitions.
  void CheckKnown(const ManagementNode& node, const sweep::FabricView& view);

  uint64_t acknowledged() const { return acknowledged_; }

 private:
  struct Asked {
    std::string name;     // Of the new partition.
    uint16_t number = 0;  // Of the one to be deleted; 0: none is.
  };
  void Create();
  void Delete();

  SharedWorld& world_;
  const Places& places_;
  Rng rng_;
  const std::function<ManagementNode*()> master_;
  const std::function<void(const std::string&)> say_;
  PendingCommands<Asked> commands_{world_, 1'000'000};
  std::map<uint16_t, std::string> stands_;  // Names by number, as acknowledged.
  std::set<uint16_t> deleting_;             // Numbers that may be free.
  uint64_t acknowledged_ = 0;
};

}  // namespace fabricd::sim
