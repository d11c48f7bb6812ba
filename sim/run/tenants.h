// SPDX-License-Identifier: Apache-2.0
// Tenants: whoever changes partitions in a run. They make partitions, add and remove members, take
// partitions away, through the master of the time, and remember what they were told.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/rng.h"
#include "policy/partition_state.h"
#include "sim/faults/fault_spec.h"
#include "sim/faults/places.h"
#include "sim/simulation/simulation.h"

namespace fabricd::sim {

class Tenants {
 public:
  // All that it is given by reference outlives it, and it outlives the simulation's last step.
  Tenants(Simulation& simulation, const Places& places, const Faults& faults, Rng& rng,
          std::function<void(const std::string&)> note)
      : simulation_(simulation),
        places_(places),
        faults_(faults),
        rng_(rng),
        note_(std::move(note)) {}
  Tenants(const Tenants&) = delete;
  Tenants& operator=(const Tenants&) = delete;

  // `Faults::tenants` requests within the next `Faults::phase_s`.
  void Plan();
  void Stop() { stopped_ = true; }
  // A manager has answered. Numbers of commands that are not theirs are left alone.
  void OnFinished(const sweep::FinishedCommand& finished);
  // What this manager's partitions have lost of what it had confirmed.
  std::vector<std::string> Findings(size_t number) const;

 private:
  static constexpr uint64_t kFirstCommand = 2'000'000;
  void Ask();
  policy::PartitionRequest Draw(const policy::Partitions& now);
  policy::Member DrawMember();

  Simulation& simulation_;
  const Places& places_;
  const Faults& faults_;
  Rng& rng_;
  const std::function<void(const std::string&)> note_;
  uint64_t next_command_ = kFirstCommand;
  std::map<uint64_t, size_t> asked_;  // By command: of which manager.
  // By manager: the last state that it confirmed.
  std::map<size_t, std::shared_ptr<const policy::PartitionState>> confirmed_;
  bool stopped_ = false;
};

}  // namespace fabricd::sim
