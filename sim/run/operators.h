// SPDX-License-Identifier: Apache-2.0
// Operators: the people and schedulers of a run. They set holds on what they draw and lift them
// again, through the master of the time, and remember what they were told: a hold that was granted
// stands until they lift it, whatever dies meanwhile.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <absl/container/flat_hash_set.h>

#include "common/rng.h"
#include "policy/hold.h"
#include "sim/faults/fault_spec.h"
#include "sim/faults/places.h"
#include "sim/simulation/simulation.h"

namespace fabricd::sim {

class Operators {
 public:
  struct Callbacks {
    std::function<void(const std::string& text)> note;
    // Somebody is about to want no route to this end port.
    std::function<void(PortRef end_port)> on_unwanted;
  };

  // All that it is given by reference outlives it, and it outlives the simulation's last step.
  Operators(Simulation& simulation, const Places& places, const Faults& faults, Rng& rng,
            Callbacks callbacks)
      : simulation_(simulation),
        places_(places),
        faults_(faults),
        rng_(rng),
        callbacks_(std::move(callbacks)) {}
  Operators(const Operators&) = delete;
  Operators& operator=(const Operators&) = delete;

  // Sets `Faults::holds` holds within the next `Faults::phase_s`, and lifts about half of them.
  void Plan();
  // No more holds are set or lifted.
  void Stop() { stopped_ = true; }
  // A manager has answered. Numbers of commands that are not theirs are left alone.
  void OnFinished(const sweep::FinishedCommand& finished);

  // Ports over which holds in force allow no route: end ports, and those of links of switches. Port
  // 0 of a switch that `master` has closed: its table is left as it was (routing/plan/usable.h),
  // and is none at all after a restart, so neither it nor what is isolated on it sends anywhere.
  absl::flat_hash_set<PortRef> Unwanted(const Manager& master) const;
  // End ports that standing holds take out of all partitions.
  absl::flat_hash_set<PortRef> Unpartitioned(const Manager& master) const;
  // What the master's list of holds has too little or too much. Of commands whose answer died with
  // the manager either is right.
  std::vector<std::string> Findings(const Manager& master) const;

 private:
  static constexpr uint64_t kFirstCommand = 1'000'000;
  struct Asked {
    policy::Hold hold;  // As wanted; of a lift, only the id.
    bool lift = false;
  };

  void Set();
  void Lift();
  // Of commands whose answer died with a manager the master's list says what became of them: the
  // devices have to agree with it.
  std::vector<policy::Hold> InForce(const Manager& master) const;
  // Such a command of this kind, target and owner has not been answered.
  bool IsAsked(const policy::Hold& hold, bool lift) const;
  static bool IsShown(const Manager& master, uint64_t id);
  size_t MasterNumber() const;  // manager_count(): nobody is.
  policy::Hold Draw(const Manager& master);
  PortRef EndPortOf(const policy::Hold& hold) const;
  // The ends that it names, and those that it does not.
  void AddPorts(const policy::Hold& hold, absl::flat_hash_set<PortRef>& ports) const;

  Simulation& simulation_;
  const Places& places_;
  const Faults& faults_;
  Rng& rng_;
  const Callbacks callbacks_;
  uint64_t next_command_ = kFirstCommand;
  std::map<uint64_t, Asked> asked_;            // By command; not answered, perhaps never.
  std::map<uint64_t, policy::Hold> standing_;  // By id.
  bool stopped_ = false;
};

}  // namespace fabricd::sim
