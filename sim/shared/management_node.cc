// SPDX-License-Identifier: Apache-2.0
#include "sim/shared/management_node.h"

#include <algorithm>
#include <deque>
#include <utility>
#include <variant>
#include <vector>

#include "common/check.h"
#include "common/status.h"
#include "shell/action_writer.h"
#include "shell/effect_runner.h"
#include "shell/stale_reading.h"
#include "shell/stop_notice.h"
#include "shell/store_records.h"
#include "shell/table_record.h"
#include "sim/faults/draw.h"
#include "sim/shared/ledger_store.h"
#include "sim/store/local_disk.h"
#include "store/etcd/waiting_store.h"

namespace fabricd::sim {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

// CoreHost looks so often whether it is to end.
constexpr milliseconds kLongestSleep{200};
// Sending takes so long. In between a process may be stopped.
constexpr microseconds kSend{2};
constexpr milliseconds kPlanTime{2};
// The core needs more than a store.
constexpr size_t kStack = size_t{1} << 20;

}  // namespace

// From one start within the process to the next: one store, one core. Its two threads own it.
class ManagementNode::Life final : public shell::Network,
                                   public shell::Executor,
                                   public shell::Listener {
 public:
  Life(ManagementNode& node, std::unique_ptr<SharedStore> store, uint64_t process,
       shell::Succession succession)
      : node_(node),
        world_(node.world_),
        process_(process),
        shared_(std::move(store)),
        writes_(world_.store, *shared_, process),
        succession_(std::move(succession)),
        fence_(shell::WriteFence::WitnessesOf(*shared_, node_.Clock())),
        records_(writes_, [this] { return world_.now().time_since_epoch() / seconds(1); }),
        records_of_master_([this](auto write) {
          return Post(shell::Queue::kStore, [this, write] { write(writes_); });
        }) {}

  // ---- the core's thread
  // Until the fabricd has to start again, or the process is killed.
  void Manage();
  const shell::Succession& successor() const { return succession_.successor(); }

  // ---- the store's thread
  void Store();

  // ---- the run
  void Push(sweep::Event event) {
    inbox_.push_back(std::move(event));
    core_thread_->Wake();
  }
  void Push(mad::Incoming what) {
    std::visit([this](auto& each) { Push(sweep::Event(std::move(each))); }, what);
  }
  void StepDown() { steps_down_ = true; }
  void Kill() {
    if (store_thread_ != nullptr) store_thread_->Kill();
  }
  void Pause(Instant until) {
    if (store_thread_ != nullptr) store_thread_->Pause(until);
  }
  uint64_t process() const { return process_; }
  const sweep::Core* core() const { return core_.get(); }
  const SharedStore& shared() const { return *shared_; }

  // ---- ports of the core's shell
  absl::Status Send(mad::OutgoingMad&& mad) override;
  absl::Status SetIsSm(bool is_sm) override;
  bool Post(shell::Queue queue, Job job) override;
  void OnLog(sweep::LogRecord record) override {
    if (node_.on_log && !core_thread_->is_killed()) node_.on_log(record);
  }
  void OnPublished(std::shared_ptr<const sweep::FabricView> view, std::vector<fabric::FabricEvent>,
                   Instant) override {
    if (!view || core_thread_->is_killed()) return;
    node_.view_ = std::move(view);
    records_of_master_.tables.OnView(node_.view_, shared_->epoch() != 0);
    if (node_.on_view) node_.on_view(*node_.view_);
  }
  void OnFinished(sweep::FinishedCommand finished) override {
    if (node_.on_finished && !core_thread_->is_killed()) node_.on_finished(finished);
  }
  void OnAnswer(sweep::Answer answer) override { Push(sweep::Event(std::move(answer))); }

 private:
  void MakeCore();
  bool HasNamedPort() const;
  void CheckReading();
  void Turn();
  void EndStore();

  ManagementNode& node_;
  SharedWorld& world_;
  const uint64_t process_;
  const std::unique_ptr<SharedStore> shared_;
  LedgerStore writes_;
  shell::SuccessionWatch succession_;
  shell::WriteFence fence_;
  std::optional<shell::WriteFence::Time> pause_;
  bool steps_down_ = false, took_writes_ = true;
  shell::StoreRecords records_;
  struct RecordsOfMaster {
    explicit RecordsOfMaster(const shell::TableRecord::Post& post) : tables(post), actions(post) {}
    shell::TableRecord tables;
    shell::ActionWriter actions;
  } records_of_master_;
  struct RecordsOfOthers {
    shell::StopNotices stops;
    uint64_t refreshes = 0;
    std::shared_ptr<const sweep::ReaderTables::Rows> reading;  // As compared with the others' last.
    shell::StaleReading stale_reading;
  } records_of_others_;
  std::unique_ptr<sweep::Core> core_;
  std::optional<shell::EffectRunner> runner_;
  VirtualThreads::Thread* core_thread_ = nullptr;
  VirtualThreads::Thread* store_thread_ = nullptr;
  std::vector<sweep::Event> inbox_;
  std::deque<Job> jobs_;  // Of the store's thread.
  bool is_stopping_ = false;
  // Jobs of computing look at it.
  std::shared_ptr<bool> is_over_ = std::make_shared<bool>(false);
};

// ---- the core's thread

void ManagementNode::Life::MakeCore() {
  const SimDevice& device = *world_.fabric().device(node_.host_.node);
  shell::CoreInputs inputs;
  inputs.options = node_.options_;
  inputs.options.sm.mode = shared_->other_owner() ? SmMode::kStandby : SmMode::kManage;
  inputs.options.sm.shares_state = true;
  succession_.Begin(inputs.options.sm, *shared_, world_.now());
  inputs.options.smp.first_transaction_id = static_cast<uint32_t>(node_.rng_.Next());
  inputs.local.device = "sim";
  inputs.local.port = node_.host_.port;
  inputs.local.node_guid = device.node_info().node_guid;
  inputs.local.port_guid = node_.port_guid();
  inputs.lids = *shared_->LoadLids();
  inputs.holds = *shared_->LoadHolds();
  const StoredRows rows = *shared_->LoadRows();
  const shell::RecordedTables recorded = *shell::LoadTables(rows);
  const shell::Succession& succession = succession_.succession();
  if (succession.MayTrust(*shared_))
    inputs.vouched = shell::Vouched(succession.tables, recorded, succession.last_master);
  inputs.partitions = *policy::LoadPartitions(rows);
  inputs.takeover = *sweep::LoadTakeover(rows);
  inputs.actions = *policy::LoadActions(rows);
  records_of_master_.actions.Begin(inputs.actions);
  core_ = inputs.MakeCore();
  runner_.emplace(*core_, shell::Ports{*this, *this, records_, *this});
}

void ManagementNode::Life::Manage() {
  core_thread_ = &world_.threads().current();
  node_.view_ = sweep::EmptyView();
  MakeCore();
  store_thread_ = &world_.threads().Start([life = node_.life_]() mutable {
    const std::shared_ptr<Life> own = std::move(life);
    own->Store();
  });
  world_.fabric().Attach(node_.host_);
  world_.Listen(node_.host_, [this](mad::Incoming what) { Push(std::move(what)); });
  if (node_.on_start) node_.on_start();
  fence_.BeginTurn();
  runner_->Step(sweep::StartEvent{node_.wall_epoch_}, world_.now());
  runner_->CarryOut(world_.now());
  while (!core_thread_->is_killed()) {
    const std::string why = succession_.WhyAgain(*shared_, *node_.view_, pause_, steps_down_);
    if (!why.empty()) {
      node_.Tell("starts again: " + why);
      break;
    }
    shared_->SetStatement({succession_.Role(node_.view_->sm, world_.now()),
                           shell::PortLine(node_.port_guid()) + succession_.Notice(*shared_)});
    if (!node_.has_named_port_) node_.has_named_port_ = HasNamedPort();
    if (auto ports = succession_.sharing_ports().Look(*shared_, world_.now())) {
      Post(shell::Queue::kStore,
           [this, kept = *ports] { (void)shell::SharingPortsWatch::Keep(writes_, kept); });
      Push(sweep::SharingPorts{*std::move(ports)});
    }
    // The first turn tells nothing new.
    const bool takes_writes = shared_->writable().ok();
    if (takes_writes && !took_writes_) Push(sweep::StoreTakesWrites());
    took_writes_ = takes_writes;
    records_of_master_.tables.OnTurn(node_.view_, shared_->epoch() != 0, core_->statistics().window,
                                     world_.now());
    records_of_master_.actions.OnTurn(*node_.view_, takes_writes, world_.now());
    CheckReading();
    if (node_.view_->sm.Manages() && records_of_others_.stops.HasNew(*shared_, world_.now()))
      Push(sweep::SweepCommand{0, /*heavy=*/true});
    Turn();
  }
  *is_over_ = true;
  if (core_thread_->is_killed()) return;
  records_of_master_.tables.OnEnd(shared_->epoch() != 0);
  EndStore();
  if (core_thread_->is_killed()) return;
  node_.LeavePort();
}

// As StateFollower.
void ManagementNode::Life::CheckReading() {
  RecordsOfOthers& others = records_of_others_;
  const sweep::ReaderTables& known = node_.view_->reader_tables;
  if (others.refreshes == shared_->refreshes() && others.reading == known.read) return;
  others.refreshes = shared_->refreshes();
  others.reading = known.read;
  Post(shell::Queue::kStore, [this, known, master = node_.view_->sm.last_master] {
    const auto record = shell::LoadTables(*shared_->LoadRows());
    if (records_of_others_.stale_reading.Look(known, *record, master, world_.now()))
      Push(sweep::SweepCommand{0, /*heavy=*/true});
  });
}

bool ManagementNode::Life::HasNamedPort() const {
  const auto nodes = shared_->nodes();
  return std::any_of(nodes.begin(), nodes.end(), [this](const store::etcd::Node& each) {
    return each.instance == shared_->instance();
  });
}

// As CoreHost::Turn().
void ManagementNode::Life::Turn() {
  const Instant latest = world_.now() + kLongestSleep;
  core_thread_->WaitUntil(std::min(latest, core_->NextDeadline()),
                          [this] { return !inbox_.empty(); });
  std::vector<sweep::Event> events;
  events.swap(inbox_);
  if (core_thread_->is_killed()) return;
  pause_ = fence_.BeginTurn();
  if (pause_ || core_thread_->is_killed()) return;
  const Instant now = world_.now();
  for (sweep::Event& event : events) runner_->Step(std::move(event), now);
  if (now >= core_->NextDeadline()) runner_->Step(sweep::TimerEvent{}, now);
  runner_->CarryOut(now);
  if (!core_thread_->is_killed()) pause_ = fence_.Pause();
}

// What is queued is done.
void ManagementNode::Life::EndStore() {
  is_stopping_ = true;
  store_thread_->Wake();
  core_thread_->WaitUntil(kNever, [this] { return store_thread_ == nullptr; });
}

absl::Status ManagementNode::Life::Send(mad::OutgoingMad&& mad) {
  if (core_thread_->is_killed()) return absl::OkStatus();
  if (!fence_.MaySend(mad)) return Unavailable("this process was stopped");
  if (node_.on_set && shell::IsSmpSet(mad)) node_.on_set();
  core_thread_->Sleep(kSend);
  if (core_thread_->is_killed()) return absl::OkStatus();
  const absl::Status status = world_.fabric().Send(world_.now(), node_.host_, std::move(mad));
  FABRICD_CHECK(status.ok(), "{}", Message(status));
  world_.Schedule();
  return status;
}

absl::Status ManagementNode::Life::SetIsSm(bool is_sm) {
  if (core_thread_->is_killed()) return absl::OkStatus();
  world_.fabric().SetIsSm(world_.now(), node_.host_, is_sm);
  world_.Schedule();
  return absl::OkStatus();
}

bool ManagementNode::Life::Post(shell::Queue queue, Job job) {
  if (queue != shell::Queue::kStore) {
    world_.threads().In(kPlanTime, [over = is_over_, job = std::move(job)] {
      if (!*over) job();
    });
    return true;
  }
  if (is_stopping_ || jobs_.size() >= shell::CapacityOf(queue)) return false;
  jobs_.push_back(std::move(job));
  store_thread_->Wake();
  return true;
}

// ---- the store's thread

// In fabricd the store looks after its lease on a thread of its own, and takes turns with the
// writes.
void ManagementNode::Life::Store() {
  VirtualThreads::Thread& thread = world_.threads().current();
  const store::etcd::EtcdStoreOptions defaults;
  Instant turn = world_.now() + defaults.retry;
  while (!thread.is_killed()) {
    thread.WaitUntil(turn, [this] { return is_stopping_ || !jobs_.empty(); });
    if (thread.is_killed()) break;
    if (!jobs_.empty()) {
      const Job job = std::move(jobs_.front());
      jobs_.pop_front();
      job();
      turn = std::min(turn, world_.now() + defaults.copy_after);
      continue;
    }
    if (is_stopping_) break;
    shared_->Turn();
    turn = world_.now() + defaults.retry;
  }
  store_thread_ = nullptr;
  core_thread_->Wake();
}

// ---- the machine

ManagementNode::ManagementNode(SharedWorld& world, size_t number, PortRef host,
                               sweep::CoreOptions options, uint64_t seed)
    : world_(world), number_(number), host_(host), options_(std::move(options)), rng_(seed) {
  (void)disk.PutMeta("instance", fmt::format("instance{}", number));
}

ManagementNode::~ManagementNode() = default;

void ManagementNode::Tell(const std::string& what) const {
  if (world_.tells()) world_.Tell(fmt::format("node {} process {}: {}", number_, process(), what));
}

store::etcd::BootClock ManagementNode::Clock() const {
  return [this] { return world_.now().time_since_epoch(); };
}

void ManagementNode::Start() {
  if (runs()) return;
  thread_ = &world_.threads().Start([this] { Live(); }, kStack);
}

void ManagementNode::Kill() {
  if (!runs()) return;
  Tell("is killed");
  thread_->Kill();
  if (life_) life_->Kill();
  LeavePort();
}

void ManagementNode::LeavePort() {
  world_.Listen(host_, nullptr);
  world_.fabric().Detach(world_.now(), host_);
  world_.Schedule();
}

void ManagementNode::Pause(Instant until) {
  if (!runs() || is_paused()) return;
  Tell(fmt::format("is stopped for {} ms", (until - world_.now()) / milliseconds(1)));
  thread_->Pause(until);
  if (life_) life_->Pause(until);
}

void ManagementNode::SetWallClock(policy::WallMs epoch) {
  wall_epoch_ = epoch;
  Post(sweep::WallClockSet{epoch});
}

void ManagementNode::Live() {
  VirtualThreads::Thread& thread = *thread_;
  shell::Succession succession;
  while (!thread.is_killed()) {
    const uint64_t process = ++world_.store.processes;
    std::unique_ptr<SharedStore> store = Open(succession, process);
    if (store == nullptr) {
      thread.Sleep(seconds(1));  // As fabricd: it tries on.
      succession = succession.AfterFailure();
      continue;
    }
    life_ = std::make_shared<Life>(*this, std::move(store), process, std::move(succession));
    life_->Manage();
    succession = life_->successor();
    life_.reset();
  }
}

std::unique_ptr<ManagementNode::SharedStore> ManagementNode::Open(
    const shell::Succession& succession, uint64_t process) {
  store::etcd::EtcdStoreOptions options;
  options.name = fmt::format("node{} process {}", number_, process);
  options.lease = world_.store.lease;
  options.may_take = [this] { return view_->sm.state == wire::SmState::kMaster; };
  options.clock = Clock();
  options.has_thread = false;
  succession.AddTo(options);
  store::etcd::StoreParts parts;
  parts.client = [this, process] { return world_.store.etcd.MakeClient(path, process); };
  parts.local = [this] { return std::make_unique<LocalDisk>(world_.threads(), disk); };
  auto opened = store::etcd::OpenOrWait(parts, options);
  if (thread_->is_killed()) return nullptr;
  if (!opened.ok()) {
    Tell(fmt::format("process {} does not start: {}", process, Message(opened.status())));
    return nullptr;
  }
  SharedStore& store = **opened;
  Tell(fmt::format("process {} {}", process,
                   store.other_owner()     ? "waits"
                   : store.writable().ok() ? "has the epoch"
                                           : "has no epoch: " + Message(store.writable())));
  if (!store.other_owner() && store.writable().ok())
    world_.store.ledger.Open(process, store::Flatten(*store::ReadContents(store)));
  return *std::move(opened);
}

// ---- its fabricd

void ManagementNode::Post(sweep::Event event) {
  if (runs() && life_ && life_->core() != nullptr) life_->Push(std::move(event));
}

void ManagementNode::StepDown() {
  if (life_) life_->StepDown();
}

uint64_t ManagementNode::process() const { return life_ ? life_->process() : 0; }

const sweep::Core* ManagementNode::core() const {
  return runs() && life_ ? life_->core() : nullptr;
}

Guid ManagementNode::port_guid() const {
  return world_.fabric().device(host_.node)->port(host_.port).guid;
}

bool ManagementNode::is_master() const {
  return core() != nullptr && core()->sm_state() == wire::SmState::kMaster;
}

bool ManagementNode::waits() const {
  return core() != nullptr && life_->shared().other_owner().has_value();
}

bool ManagementNode::may_write() const {
  return core() != nullptr && life_->shared().epoch() != 0 && life_->shared().writable().ok();
}

}  // namespace fabricd::sim
