// SPDX-License-Identifier: Apache-2.0
// Cast: the subnet managers of a run. Fabricds that are killed at a MAD drawn by chance and start
// again, perhaps on another port, and subnet managers of another make that come and go.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "common/rng.h"
#include "sim/faults/fault_injector.h"
#include "sim/faults/fault_spec.h"
#include "sim/faults/places.h"
#include "sim/run/foreign_sm.h"
#include "sim/simulation/simulation.h"

namespace fabricd::sim {

// Whether several subnet managers share the fabric.
bool IsCrowd(const Faults& faults);

class Cast {
 public:
  struct Callbacks {
    // Told what happens, when it happens.
    std::function<void(const std::string& text)> note;
    // This manager is about to start, on its `host` and with an empty memory.
    std::function<void(size_t manager)> on_start;
    // A manager has finished somebody's command.
    std::function<void(const sweep::FinishedCommand& finished)> on_finished;
  };

  // All that it is given by reference outlives it, and it outlives the simulation's last step.
  // Foreign SMs are blind while `injector` partitions the fabric.
  Cast(Simulation& simulation, Places& places, const FaultInjector& injector, const Faults& faults,
       Rng& rng, Callbacks callbacks);
  Cast(const Cast&) = delete;
  Cast& operator=(const Cast&) = delete;

  // Gives everyone a place: managers, with options drawn on top of `core`, start within two
  // seconds, the first one at once; foreign SMs come and go within `Faults::phase_s`.
  void Add(const sweep::CoreOptions& core);
  // Draws when in `Faults::phase_s` somebody is doomed, on top of those doomed as they start.
  void PlanKills();
  // Nobody is killed any more; whoever is dead starts, and whoever sits on a port that a hold keeps
  // down starts on another.
  void StopKills();

  // Whether all managers know their part, and one master (not two, not a dead one) has brought the
  // subnet up. A foreign master is taken at its word.
  bool IsUp() const;
  // Numbers of the managers that only read.
  const std::vector<size_t>& observers() const { return observers_; }
  // SMs of either make that would answer SMInfo as master.
  size_t MasterCount() const;
  bool HasForeignMaster() const;
  // Fabricds that run and may become master; those that a link connects to nothing included.
  size_t RunningCount() const;
  void SendForeignSmsAway();
  // The fabricd that is master, null: none.
  const Manager* Master() const;

 private:
  // Returns its number. It starts within two seconds, the first one at once.
  size_t AddManager(sweep::CoreOptions core);
  void AddObserver(sweep::CoreOptions core);
  void AddForeignSm();
  void Start(size_t number);
  void Doom(size_t number);
  void Resurrect(size_t number);
  void LeaveDisabledPort(size_t number);
  std::vector<ForeignSm::Peer> PeersOf(PortRef own) const;
  Instant SomeTime();

  Simulation& simulation_;
  Places& places_;
  const FaultInjector& injector_;
  const Faults& faults_;
  Rng& rng_;
  const Callbacks callbacks_;
  std::vector<ForeignSm*> foreign_;  // The simulation owns them.
  std::vector<size_t> observers_;
  int kills_left_;
};

}  // namespace fabricd::sim
