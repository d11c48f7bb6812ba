// SPDX-License-Identifier: Apache-2.0
// ManagementNode: a machine with a whole fabricd that shares its durable state: a core on a thread
// of its own, with the write fence in front of its port; its store, on another thread; and what
// decides when it starts again within its process (shell/succession.h). It is killed, stopped and
// continued, started.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/rng.h"
#include "shell/succession.h"
#include "sim/shared/shared_world.h"
#include "sim/store/sim_etcd.h"
#include "sim/store/virtual_threads.h"
#include "store/memory_store.h"
#include "sweep/core.h"

namespace fabricd::sim {

class ManagementNode {
 public:
  // `world` outlives this.
  ManagementNode(SharedWorld& world, size_t number, PortRef host, sweep::CoreOptions options,
                 uint64_t seed);
  ~ManagementNode();

  // ---- the machine
  // Of the processes that start from now on.
  void EnableAudit() { options_.audit.enabled = true; }
  void Start();
  void Kill();
  // As SIGSTOP, and SIGCONT at `until`. Its clocks go on.
  void Pause(Instant until);
  // The wall-clock time at Instant zero.
  policy::WallMs wall_epoch() const { return wall_epoch_; }
  void SetWallClock(policy::WallMs epoch);
  bool runs() const { return thread_ != nullptr && !thread_->has_ended(); }
  bool is_paused() const { return runs() && thread_->is_paused(); }

  // ---- its fabricd
  // Dropped where none is up.
  void Post(sweep::Event event);
  // As `fabricctl sm step-down`, where another node waits.
  void StepDown();

  size_t number() const { return number_; }
  PortRef host() const { return host_; }
  Guid port_guid() const;
  // The number of what has the store open; 0: none is. Two are never equal.
  uint64_t process() const;
  // Null: no core runs.
  const sweep::Core* core() const;
  // Never null: as last published.
  const sweep::FabricView& view() const { return *view_; }
  bool is_master() const;
  // It only waits beside the owner of the epoch.
  bool waits() const;
  bool may_write() const;
  // Its port was in etcd, so that the others know whose SM is there.
  bool has_named_port() const { return has_named_port_; }

  EtcdPath path;
  store::MemoryStore disk;
  // A view was published.
  std::function<void(const sweep::FabricView& view)> on_view;
  std::function<void(const sweep::FinishedCommand& finished)> on_finished;
  // Another core runs from now on.
  std::function<void()> on_start;
  std::function<void(const sweep::LogRecord& record)> on_log;
  // A Set of an SMP has passed the fence, and is about to be sent.
  std::function<void()> on_set;

 private:
  class Life;
  using SharedStore = store::etcd::SharedStore;

  void Live();
  void LeavePort();
  std::unique_ptr<SharedStore> Open(const shell::Succession& succession, uint64_t process);
  store::etcd::BootClock Clock() const;
  void Tell(const std::string& what) const;

  SharedWorld& world_;
  const size_t number_;
  const PortRef host_;
  sweep::CoreOptions options_;
  Rng rng_;
  policy::WallMs wall_epoch_ = 0;
  bool has_named_port_ = false;               // In any of its processes.
  VirtualThreads::Thread* thread_ = nullptr;  // Of the core, in the present process.
  std::shared_ptr<Life> life_;                // Null: nothing is open.
  std::shared_ptr<const sweep::FabricView> view_ = sweep::EmptyView();
};

using ManagementNodes = std::vector<std::unique_ptr<ManagementNode>>;

}  // namespace fabricd::sim
