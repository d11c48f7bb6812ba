// SPDX-License-Identifier: Apache-2.0
// HoldClients: operators who set and lift holds through the master of the time, and the checker of
// what was acknowledged: a hold that was acknowledged is known to whoever is master later with the
// epoch, until it is lifted.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "common/rng.h"
#include "policy/hold.h"
#include "sim/faults/places.h"
#include "sim/shared/management_node.h"
#include "sim/shared/pending_commands.h"
#include "sim/shared/shared_world.h"

namespace fabricd::sim {

class HoldClients {
 public:
  // All that it is given by reference outlives it. `seed`: of how long holds last. `master`: null:
  // there is none. `say`: what is wrong.
  HoldClients(SharedWorld& world, const Places& places, Rng& rng, uint64_t seed,
              std::function<ManagementNode*()> master, std::function<void(const std::string&)> say)
      : world_(world),
        places_(places),
        rng_(rng),
        times_(seed),
        master_(std::move(master)),
        say_(std::move(say)) {}

  // Draws what they do within the next `phase`, which is longer than 2 s.
  void Plan(Duration phase);
  // A node has answered.
  void OnFinished(const sweep::FinishedCommand& finished);
  // `node` is master with the epoch, and shows `view`: it knows all acknowledged holds.
  void CheckKnown(const ManagementNode& node, const sweep::FabricView& view);
  // `view`: of the master, after the faults. Holds whose time is over are gone.
  void CheckEnds(const sweep::FabricView& view);
  // By how much the end of a hold may be off (WallClocks::tolerance).
  void SetTolerance(Duration tolerance) { tolerance_ = tolerance; }

  uint64_t acknowledged() const { return acknowledged_; }

 private:
  struct Asked {
    policy::Hold hold;
    bool lift = false;
    std::optional<Duration> ttl = {};
    Instant at{};
  };
  struct Standing {
    policy::Hold hold;
    // When it ends by itself: between these. kNever: it does not.
    Instant earliest = kNever, latest = kNever;
  };
  void Ask();
  void Lift();

  SharedWorld& world_;
  const Places& places_;
  Rng& rng_;
  Rng times_;
  const std::function<ManagementNode*()> master_;
  const std::function<void(const std::string&)> say_;
  PendingCommands<Asked> commands_{world_, 1000};
  std::map<uint64_t, Standing> standing_;  // By id, as acknowledged.
  std::set<uint64_t> lifting_;             // Ids that may be gone.
  Duration tolerance_{};
  uint64_t acknowledged_ = 0;
};

}  // namespace fabricd::sim
