// SPDX-License-Identifier: Apache-2.0
// Members: the end ports of a run that join multicast groups and leave them, as Subnet
// Administration would tell every manager of it. It judges the devices' multicast tables: after
// each Set of one that no packet travels in a circle, and at rest that each group's members reach
// each other and nobody else.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <absl/container/flat_hash_set.h>

#include "common/rng.h"
#include "fabric/multicast_groups.h"
#include "sim/fabric/mad_faults.h"
#include "sim/faults/fault_spec.h"
#include "sim/simulation/simulation.h"

namespace fabricd::sim {

class Members : public SimObserver {
 public:
  // All that it is given by reference outlives it, and it outlives the simulation's last step.
  // Draws from a generator of its own: runs without groups stay the runs they were.
  Members(Simulation& simulation, const Faults& faults, uint64_t seed,
          std::function<void(const std::string& text)> note);

  // REQUIRES: all managers have been added, none started. `Faults::groups` groups get their first
  // members within the first half of the phase, and `Faults::joins` times some change.
  void Plan();
  // Nobody joins or leaves any more.
  void Stop() { stopped_ = true; }

  void OnServed(const Served& served) override;

  // "multicast loop: what"
  const std::vector<std::string>& loops() const { return loops_; }
  // What is wrong at rest, as the devices have it. Members in `unwanted` are not asked for; nor,
  // where there are holds, are those of which `master` says that no link leads to them.
  std::vector<std::string> Findings(const Manager& master,
                                    const absl::flat_hash_set<PortRef>& unwanted) const;

 private:
  void Change(size_t groups, size_t changes);
  void ChangeGroup(fabric::MulticastGroup& group, size_t changes);
  void Tell();

  Simulation& simulation_;
  const Faults& faults_;
  Rng rng_;
  const std::function<void(const std::string& text)> note_;
  std::vector<Guid> ports_;
  fabric::MulticastGroups groups_;
  std::vector<std::string> loops_;
  bool stopped_ = false;
};

}  // namespace fabricd::sim
