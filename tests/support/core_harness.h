// SPDX-License-Identifier: Apache-2.0
// CoreHarness: whole sweep::Cores on one SimFabric in virtual time. Routing and storage are done
// inline; what a Core asked to be durable is kept here and survives Restart(), as SQLite would keep
// it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "routing/engine.h"
#include "sim/sim_fabric.h"
#include "sweep/core.h"

namespace fabricd::test {

class CoreHarness {
 public:
  struct Sm {
    PortRef host;
    sweep::CoreOptions options;
    std::unique_ptr<sweep::Core> core;  // Null: killed.
    std::vector<sweep::LidRecord> durable;
    std::shared_ptr<const sweep::FabricView> view;
    std::vector<std::string> log;
    std::vector<sweep::FinishedCommand> finished;
    uint64_t mads_sent = 0;
    // Sees each MAD that arrives, and may change it; false: it is lost.
    std::function<bool(mad::IncomingMad&)> tamper;
    bool persist_fails = false;
  };

  explicit CoreHarness(const fabric::FabricSnapshot& topology, sim::SimOptions options = {});

  // A new SM on `host` (none: the default host port). Returns its number. Start() sets it going.
  size_t Add(sweep::CoreOptions options, PortRef host = {});
  void Start(size_t sm);
  void Post(size_t sm, sweep::Event event);
  void Kill(size_t sm);  // As kill -9: nothing is said; the durable records stay.

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
  // Runs until SM number `sm` says that the subnet is up (and has no sweep under way).
  bool RunUntilUp(size_t sm, Duration limit = std::chrono::seconds(60));

  Sm& sm(size_t number) { return *sms_[number]; }
  sim::SimFabric& fabric() { return fabric_; }
  Instant now() const { return now_; }

  // ---- checkers: what the devices hold, never what the Core says
  // Names of ports with a link whose state is not ACTIVE.
  std::vector<std::string> PortsNotActive() const;
  // (source, destination) pairs of end ports with LIDs, of one connected subnet, that data does not
  // reach.
  std::vector<std::string> BrokenPairs(size_t limit = 10) const;
  // LIDs held by two ports, or end ports of linked nodes without one.
  std::vector<std::string> LidFaults() const;

 private:
  bool StepOnce(Instant end);
  void Carry(Sm& sm);
  void CarryEffects(Sm& sm, sweep::Effects effects);

  sim::SimFabric fabric_;
  Instant now_{std::chrono::seconds(1)};
  std::vector<std::unique_ptr<Sm>> sms_;
};

}  // namespace fabricd::test
