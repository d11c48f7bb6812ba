// SPDX-License-Identifier: Apache-2.0
#include "sim/simulation/manager.h"

#include <utility>

#include "common/check.h"
#include "common/status.h"
#include "mad/read_only_transport.h"
#include "shell/action_writer.h"
#include "shell/store_records.h"

namespace fabricd::sim {

// The ports of the core's shell: the simulated fabric, the manager's executor and store, and the
// manager itself, which keeps what it hears.
class ManagerShell final : public shell::Network, public shell::Executor, public shell::Listener {
 public:
  ManagerShell(Manager& manager, SimFabric& fabric, const Instant& now,
               std::function<void(Part)> entering)
      : manager_(manager), fabric_(fabric), now_(now), entering_(std::move(entering)) {}

  void Attach(shell::Tap* tap, policy::ActionRecord actions) {
    fabric_.Attach(manager_.host);
    actions_.Begin(std::move(actions));
    runner_.emplace(*manager_.core, shell::Ports{*this, *this, records_, *this}, tap);
    is_dying_ = false;
  }
  // The jobs are done or dropped before the runner goes.
  void Detach(bool write_survives) {
    is_dying_ = true;
    manager_.executor.Die(write_survives);
    runner_.reset();
    fabric_.Detach(now_, manager_.host);
  }
  mad::LocalPort local_port() const {
    const SimDevice& device = *fabric_.device(manager_.host.node);
    mad::LocalPort local;
    local.device = "sim";
    local.port = manager_.host.port;
    local.node_guid = device.node_info().node_guid;
    local.port_guid = device.port(manager_.host.port).guid;
    return local;
  }
  void Step(sweep::Event event) { runner_->Step(std::move(event), now_); }
  // False: it has died half way.
  bool CarryOut() {
    runner_->CarryOut(now_);
    Enter(Part::kCore);
    if (!is_dying_) actions_.OnTurn(*manager_.view, /*takes_writes=*/true, now_);
    return !is_dying_;
  }
  bool FinishDue() {
    const bool any = manager_.executor.RunDue([this](shell::Queue queue) {
      Enter(queue == shell::Queue::kStore ? Part::kCore : Part::kRouting);
    });
    Enter(Part::kCore);
    return any;
  }

  // A manager that has sent its last MAD does nothing any more.
  absl::Status Send(mad::OutgoingMad&& mad) override {
    if (is_dying_) return absl::OkStatus();
    Enter(Part::kFabric);
    mad::CheckReadOnly(mad, manager_.options.sm.mode);
    ++manager_.mads_sent;
    const absl::Status status = fabric_.Send(now_, manager_.host, std::move(mad));
    FABRICD_CHECK(status.ok(), "{}", Message(status));
    is_dying_ = manager_.kill_at && manager_.mads_sent >= *manager_.kill_at;
    return status;
  }
  absl::Status SetIsSm(bool is_sm) override {
    FABRICD_CHECK(!is_sm || IsSeenByOthers(manager_.options.sm.mode), "IsSM in observe mode");
    fabric_.SetIsSm(now_, manager_.host, is_sm);
    return absl::OkStatus();
  }

  bool Post(shell::Queue queue, Job job) override {
    return is_dying_ || manager_.executor.Post(queue, std::move(job));
  }

  void OnLog(sweep::LogRecord record) override {
    if (is_dying_) return;
    if (manager_.on_log) manager_.on_log(record);
    manager_.log.push_back(std::move(record));
  }
  void OnPublished(std::shared_ptr<const sweep::FabricView> view,
                   std::vector<fabric::FabricEvent> events, Instant) override {
    if (is_dying_) return;
    if (view) manager_.view = std::move(view);
    std::move(events.begin(), events.end(), std::back_inserter(manager_.events));
  }
  void OnFinished(sweep::FinishedCommand finished) override {
    if (is_dying_) return;
    if (manager_.on_finished) manager_.on_finished(finished);
    manager_.finished.push_back(std::move(finished));
  }
  void OnAnswer(sweep::Answer answer) override {
    if (is_dying_) return;
    Enter(Part::kCore);
    Step(std::move(answer));
  }

 private:
  void Enter(Part part) {
    if (part != std::exchange(part_, part)) entering_(part);
  }

  Manager& manager_;
  SimFabric& fabric_;
  const Instant& now_;
  const std::function<void(Part)> entering_;
  shell::StoreRecords records_{manager_.store, [] { return int64_t{0}; }};
  shell::ActionWriter actions_{[this](auto write) {
    return Post(shell::Queue::kStore, [this, write] { write(manager_.store); });
  }};
  std::optional<shell::EffectRunner> runner_;
  bool is_dying_ = false;
  Part part_ = Part::kCore;
};

Manager::Manager(SimFabric& fabric, const Instant& now, std::function<void(Part)> entering)
    : executor(now),
      shell_(std::make_unique<ManagerShell>(*this, fabric, now, std::move(entering))) {}
Manager::~Manager() = default;

void Manager::Start() {
  const shell::CoreInputs inputs{options,
                                 shell_->local_port(),
                                 *store.LoadLids(),
                                 *store.LoadHolds(),
                                 groups,
                                 *policy::LoadPartitions(*store.LoadRows()),
                                 aliases,
                                 *sweep::LoadTakeover(*store.LoadRows()),
                                 vouched,
                                 *policy::LoadActions(*store.LoadRows())};
  core = inputs.MakeCore();
  tap_ = make_tap ? make_tap() : nullptr;
  if (tap_) tap_->OnStart(inputs);
  shell_->Attach(tap_.get(), inputs.actions);
  shell_->Step(sweep::StartEvent{});
  CarryOut();
}

void Manager::Step(sweep::Event event) { shell_->Step(std::move(event)); }

bool Manager::FinishDue() { return shell_->FinishDue(); }

// What takes no time answers at once, which may make the core ask for more.
void Manager::CarryOut() {
  do {
    if (!shell_->CarryOut()) return Kill(mads_sent % 2 == 0);
  } while (FinishDue());
}

void Manager::Kill(bool write_survives) {
  kill_at.reset();
  if (!core) return;
  shell_->Detach(write_survives);
  tap_.reset();
  core.reset();
}

}  // namespace fabricd::sim
