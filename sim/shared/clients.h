// SPDX-License-Identifier: Apache-2.0
// Clients: all who ask something of the master of the time.
#pragma once

#include <functional>
#include <string>

#include "sim/shared/hold_clients.h"
#include "sim/shared/partition_clients.h"

namespace fabricd::sim {

class Clients {
 public:
  using Say = std::function<void(const char* checker, const std::string& what)>;
  // As HoldClients and PartitionClients.
  Clients(SharedWorld& world, const Places& places, Rng& rng, uint64_t seed,
          const std::function<ManagementNode*()>& master, const Say& say)
      : world_(world),
        holds_(world, places, rng, ~seed, master,
               [say](const std::string& what) { say("holds", what); }),
        partitions_(world, places, seed, master,
                    [say](const std::string& what) { say("P_Keys", what); }) {}

  // `tolerance`: WallClocks'.
  void Plan(Duration phase, Duration tolerance) {
    holds_.SetTolerance(tolerance);
    holds_.Plan(phase);
    partitions_.Plan(phase);
  }
  void OnFinished(const sweep::FinishedCommand& finished) {
    holds_.OnFinished(finished);
    partitions_.OnFinished(finished);
  }
  void OnView(const ManagementNode& node, const sweep::FabricView& view) {
    const bool owns = node.process() == world_.store.ledger.owner() && node.may_write();
    if (view.sm.state != wire::SmState::kMaster || !owns) return;
    holds_.CheckKnown(node, view);
    partitions_.CheckKnown(node, view);
  }
  // After the faults.
  void OnEnd(const ManagementNode& master) {
    OnView(master, master.view());
    holds_.CheckEnds(master.view());
  }
  uint64_t holds() const { return holds_.acknowledged(); }
  uint64_t partitions() const { return partitions_.acknowledged(); }

 private:
  const SharedWorld& world_;
  HoldClients holds_;
  PartitionClients partitions_;
};

}  // namespace fabricd::sim
