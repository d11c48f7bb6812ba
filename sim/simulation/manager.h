// SPDX-License-Identifier: Apache-2.0
// Manager: one simulated fabricd: a Core, the shell that carries out its effects, and what its
// process and its disk hold.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "shell/effect_runner.h"
#include "sim/fabric/sim_fabric.h"
#include "sim/simulation/virtual_executor.h"
#include "store/memory_store.h"
#include "sweep/core.h"

namespace fabricd::sim {

// Whose work a run is doing at the moment.
enum class Part : uint8_t { kFabric, kCore, kRouting };

class ManagerShell;

struct Manager {
  // What it refers to outlives this.
  Manager(SimFabric& fabric, const Instant& now, std::function<void(Part)> entering);
  ~Manager();

  PortRef host;
  sweep::CoreOptions options;
  std::unique_ptr<sweep::Core> core;                      // Null: not running.
  store::MemoryStore store;                               // What is durable.
  std::shared_ptr<const fabric::MulticastGroups> groups;  // As stored; null: none.
  std::shared_ptr<const fabric::AliasGuids> aliases;      // The same.
  std::shared_ptr<const sweep::SwitchTables> vouched;     // shell::CoreInputs
  std::shared_ptr<const sweep::FabricView> view;          // The last one published.
  std::vector<sweep::LogRecord> log;                      // Of all its lives.
  std::vector<sweep::FinishedCommand> finished;
  std::vector<fabric::FabricEvent> events;  // Of all its lives.
  uint64_t mads_sent = 0;                   // In all its lives.
  std::optional<uint64_t> kill_at;          // It dies after sending this many.
  // Sees each MAD that arrives, and may change it; false: it is lost.
  std::function<bool(mad::IncomingMad&)> tamper;
  std::function<void(const sweep::LogRecord&)> on_log;
  std::function<void(const sweep::FinishedCommand&)> on_finished;
  // Made again for each life; null or empty: nobody looks.
  std::function<std::unique_ptr<shell::Tap>()> make_tap;
  VirtualExecutor executor;

  void Start();
  void Step(sweep::Event event);
  // Hands the core what its disk and its routing have finished; false: nothing was due.
  bool FinishDue();
  // Carries out what the core wants, and what follows at once.
  void CarryOut();
  // As kill -9. See Simulation::Kill().
  void Kill(bool write_survives);

 private:
  std::unique_ptr<shell::Tap> tap_;
  std::unique_ptr<ManagerShell> shell_;
};

}  // namespace fabricd::sim
