// SPDX-License-Identifier: Apache-2.0
// sim/simulation: a core and its shell in virtual time.
//
// Simulation: whole sweep::Cores on one SimFabric in virtual time, with the daemon's shell
// (shell/effect_runner.h) on disks and computing threads of virtual time. One thread, no clock; the
// same calls give the same run.
//
//   Simulation simulation(*topology);
//   size_t sm = simulation.Add(options);
//   simulation.Start(sm);
//   simulation.RunUntilUp(sm);
//   EXPECT_THAT(BrokenPairs(simulation.fabric()), IsEmpty());
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "sim/fabric/sim_fabric.h"
#include "sim/simulation/manager.h"
#include "sweep/core.h"

namespace fabricd::sim {

// What sits on a host port and is no Core: a foreign subnet manager, a client.
class Actor {
 public:
  virtual ~Actor() = default;
  virtual PortRef host() const = 0;
  virtual void OnDelivery(Instant now, const Delivery& delivery) = 0;
  virtual Instant NextDeadline() const = 0;
  virtual void OnTimer(Instant now) = 0;
};

class Simulation {
 public:
  explicit Simulation(const fabric::FabricSnapshot& topology, SimOptions options = {});

  // A new manager on `host` (none: the default host port). Returns its number. Start() runs it.
  size_t Add(sweep::CoreOptions options, PortRef host = {});
  void Start(size_t manager);
  void Post(size_t manager, sweep::Event event);
  // As kill -9: nothing is said; what is durable stays. A write under way is durable or lost, by
  // `write_survives`.
  void Kill(size_t manager, bool write_survives = false);
  // Attaches it to its port; it lives as long as the simulation.
  void AddActor(std::unique_ptr<Actor> actor);
  void At(Instant when, std::function<void()> what) { agenda_.emplace(when, std::move(what)); }

  // Runs until nothing happens before `limit` has passed, or `until` holds after some step.
  template <typename Predicate>
  bool RunUntil(Predicate&& until, Duration limit = std::chrono::seconds(60)) {
    const Instant end = now_ + limit;
    while (!until()) {
      if (!StepOnce(end)) return until();
    }
    return true;
  }
  void RunFor(Duration time) {
    RunUntil([] { return false; }, time);
  }
  // Runs until this manager says that the subnet is up, with no sweep under way.
  bool RunUntilUp(size_t manager, Duration limit = std::chrono::seconds(60));

  // Told whenever another part takes over: a benchmark reads its clock there, this has none.
  void SetMeter(std::function<void(Part)> meter) { meter_ = std::move(meter); }

  Manager& manager(size_t number) { return *managers_[number]; }
  const Manager& manager(size_t number) const { return *managers_[number]; }
  size_t manager_count() const { return managers_.size(); }
  SimFabric& fabric() { return fabric_; }
  const SimFabric& fabric() const { return fabric_; }
  Instant now() const { return now_; }

 private:
  // False: nothing is left to happen before `end`, to which the time has been set.
  bool StepOnce(Instant end);
  Instant NextInstant() const;
  void Deliver();
  void Enter(Part part) const {
    if (meter_) meter_(part);
  }

  SimFabric fabric_;
  Instant now_{std::chrono::seconds(1)};
  std::vector<std::unique_ptr<Manager>> managers_;
  std::vector<std::unique_ptr<Actor>> actors_;
  std::multimap<Instant, std::function<void()>> agenda_;  // In order of insertion where equal.
  std::function<void(Part)> meter_;
};

}  // namespace fabricd::sim
