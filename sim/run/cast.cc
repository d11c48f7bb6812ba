// SPDX-License-Identifier: Apache-2.0
#include "sim/run/cast.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "sim/faults/draw.h"

namespace fabricd::sim {

using std::chrono::milliseconds;
using std::chrono::seconds;
using wire::SmState;

bool IsCrowd(const Faults& faults) {
  return Count(faults.managers) + Count(faults.foreign_sms) > 1;
}

Cast::Cast(Simulation& simulation, Places& places, const FaultInjector& injector,
           const Faults& faults, Rng& rng, Callbacks callbacks)
    : simulation_(simulation),
      places_(places),
      injector_(injector),
      faults_(faults),
      rng_(rng),
      callbacks_(std::move(callbacks)),
      kills_left_(Count(faults.kills)) {}

void Cast::Add(const sweep::CoreOptions& core) {
  for (int i = 0; i < Count(faults_.managers); ++i) AddManager(core);
  for (int i = 0; i < Count(faults_.foreign_sms); ++i) AddForeignSm();
  for (int i = 0; i < Count(faults_.observers); ++i) AddObserver(core);
}

Instant Cast::SomeTime() { return simulation_.now() + UpTo(Seconds(faults_.phase_s), rng_); }

// ---- managers

size_t Cast::AddManager(sweep::CoreOptions core) {
  const bool crowd = IsCrowd(faults_);
  const bool first = simulation_.manager_count() == 0;
  core.sm.priority = static_cast<uint8_t>(rng_.Below(crowd ? 4 : 16));
  if (crowd) core.sm.polling_timeout = milliseconds(500 + rng_.Below(1500));
  if (first) places_.Take(simulation_.fabric().DefaultHostPort());
  const size_t number =
      simulation_.Add(std::move(core), first ? places_.taken().back() : places_.TakeSomeHost(rng_));
  Manager& manager = simulation_.manager(number);
  manager.executor.store_time = Microseconds(faults_.store_ms * 1000);
  manager.executor.plan_time = Microseconds(faults_.plan_ms * 1000);
  manager.on_log = [this, number](const sweep::LogRecord& record) {
    callbacks_.note(fmt::format("[{}] {}", number, record.text));
  };
  manager.on_finished = callbacks_.on_finished;
  const Duration wait = first ? Duration::zero() : UpTo(seconds(2), rng_);
  simulation_.At(simulation_.now() + wait, [this, number] { Start(number); });
  return number;
}

// Of the highest priority: no master gives it the subnet all the same.
void Cast::AddObserver(sweep::CoreOptions core) {
  const size_t number = AddManager(std::move(core));
  sweep::SmOptions& sm = simulation_.manager(number).options.sm;
  sm.mode = observers_.size() % 2 == 0 ? SmMode::kObserve : SmMode::kStandby;
  sm.priority = 15;
  observers_.push_back(number);
}

void Cast::Start(size_t number) {
  const Manager& manager = simulation_.manager(number);
  if (manager.core) return;
  callbacks_.on_start(number);
  callbacks_.note(fmt::format("manager {} starts on {}, priority {}", number,
                              places_.NameOf(manager.host), manager.options.sm.priority));
  simulation_.Start(number);
  if (rng_.Chance(0.7)) Doom(number);
}

void Cast::PlanKills() {
  for (int i = 0; i < Count(faults_.kills); ++i)
    simulation_.At(SomeTime(), [this] { Doom(rng_.Below(simulation_.manager_count())); });
}

// It dies at a MAD that lies within what a bring-up of this fabric takes.
void Cast::Doom(size_t number) {
  Manager& manager = simulation_.manager(number);
  if (kills_left_ == 0 || !manager.core || manager.kill_at) return;
  --kills_left_;
  manager.kill_at = manager.mads_sent + 1 + rng_.Below(40 * places_.nodes().size());
  const Instant back = simulation_.now() + UpTo(seconds(5), rng_);
  simulation_.At(back, [this, number] { Resurrect(number); });
}

void Cast::Resurrect(size_t number) {
  Manager& manager = simulation_.manager(number);
  // It has sent too little to die: it dies now.
  if (manager.core && manager.kill_at) simulation_.Kill(number, rng_.Chance(0.5));
  if (manager.core) return;
  callbacks_.note(fmt::format("manager {} was killed after {} MADs", number, manager.mads_sent));
  if (rng_.Chance(faults_.moves)) manager.host = places_.MoveToSomeHost(manager.host, rng_);
  Start(number);
}

void Cast::StopKills() {
  kills_left_ = 0;
  for (size_t i = 0; i < simulation_.manager_count(); ++i) {
    simulation_.manager(i).kill_at.reset();
    LeaveDisabledPort(i);
    Start(i);
  }
}

// Where a hold keeps the link down no SM can do anything but say so.
void Cast::LeaveDisabledPort(size_t number) {
  constexpr int kMostTries = 100;
  Manager& manager = simulation_.manager(number);
  const SimFabric& fabric = simulation_.fabric();
  const auto is_disabled = [&](PortRef host) {
    const PortRef facing = fabric.device(host.node)->port(host.port).cable;
    return fabric.device(facing.node)->port(facing.port).info.port_physical_state ==
           wire::PortPhysicalState::kDisabled;
  };
  for (int i = 0; i < kMostTries && is_disabled(manager.host); ++i) {
    if (manager.core) simulation_.Kill(number);
    callbacks_.note(fmt::format("manager {} leaves {}, whose link is disabled", number,
                                places_.NameOf(manager.host)));
    manager.host = places_.MoveToSomeHost(manager.host, rng_);
  }
}

// ---- foreign subnet managers

void Cast::AddForeignSm() {
  const PortRef host = places_.TakeSomeHost(rng_);
  const uint64_t seed = rng_.Next();
  const uint8_t priority = static_cast<uint8_t>(rng_.Below(4));
  auto owned = std::make_unique<ForeignSm>(simulation_.fabric(), host, priority, seed,
                                           [this, host] { return PeersOf(host); });
  ForeignSm* sm = owned.get();
  foreign_.push_back(sm);
  simulation_.AddActor(std::move(owned));
  simulation_.At(SomeTime(), [this, sm] {
    callbacks_.note(fmt::format("a foreign SM appears on {}", places_.NameOf(sm->host())));
    sm->Appear(simulation_.now());
  });
  if (!rng_.Chance(0.5)) return;
  simulation_.At(SomeTime(), [this, sm] {
    callbacks_.note(fmt::format("the foreign SM on {} goes", places_.NameOf(sm->host())));
    sm->Leave(simulation_.now());
  });
}

std::vector<ForeignSm::Peer> Cast::PeersOf(PortRef own) const {
  std::vector<ForeignSm::Peer> peers;
  if (injector_.partitioned()) return peers;
  for (size_t i = 0; i < simulation_.manager_count(); ++i) {
    const Manager& manager = simulation_.manager(i);
    if (!manager.core) continue;
    const Guid guid = simulation_.fabric().device(manager.host.node)->port(manager.host.port).guid;
    peers.push_back({manager.host, guid, manager.options.sm.priority, manager.core->sm_state()});
  }
  for (const ForeignSm* other : foreign_)
    if (other->host() != own) peers.push_back({other->host(), Guid(0), 0, other->state()});
  return peers;
}

// ---- what has become of them

bool Cast::IsUp() const {
  for (size_t i = 0; i < simulation_.manager_count(); ++i) {
    const auto& core = simulation_.manager(i).core;
    if (!core || core->sm_state() == SmState::kDiscovering) return false;
  }
  if (MasterCount() != 1) return false;
  const Manager* master = Master();
  return master == nullptr ||
         (master->core->subnet_up() && master->core->phase() == sweep::Phase::kIdle);
}

size_t Cast::MasterCount() const {
  size_t masters = 0;
  for (size_t i = 0; i < simulation_.manager_count(); ++i) {
    const auto& core = simulation_.manager(i).core;
    if (core && core->sm_state() == SmState::kMaster) ++masters;
  }
  for (const ForeignSm* foreign : foreign_)
    if (foreign->state() == SmState::kMaster) ++masters;
  return masters;
}

size_t Cast::RunningCount() const {
  size_t running = 0;
  for (size_t i = 0; i < simulation_.manager_count(); ++i)
    running +=
        simulation_.manager(i).core != nullptr && MayManage(simulation_.manager(i).options.sm.mode);
  return running;
}

void Cast::SendForeignSmsAway() {
  for (ForeignSm* foreign : foreign_) {
    if (foreign->state() == wire::SmState::kNotActive) continue;
    callbacks_.note(fmt::format("the foreign SM on {} goes", places_.NameOf(foreign->host())));
    foreign->Leave(simulation_.now());
  }
}

bool Cast::HasForeignMaster() const {
  return std::any_of(foreign_.begin(), foreign_.end(),
                     [](const ForeignSm* each) { return each->state() == SmState::kMaster; });
}

const Manager* Cast::Master() const {
  for (size_t i = 0; i < simulation_.manager_count(); ++i) {
    const Manager& manager = simulation_.manager(i);
    if (manager.core && manager.core->sm_state() == SmState::kMaster) return &manager;
  }
  return nullptr;
}

}  // namespace fabricd::sim
