// SPDX-License-Identifier: Apache-2.0
#include "sim/simulation/simulation.h"

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "common/status.h"
#include "sweep/plan/computing.h"

namespace fabricd::sim {

Simulation::Simulation(const fabric::FabricSnapshot& topology, SimOptions options)
    : fabric_(topology, std::move(options)) {}

size_t Simulation::Add(sweep::CoreOptions options, PortRef host) {
  auto manager = std::make_unique<Manager>();
  manager->host = host.IsNone() ? fabric_.DefaultHostPort() : host;
  manager->options = std::move(options);
  managers_.push_back(std::move(manager));
  return managers_.size() - 1;
}

void Simulation::Start(size_t number) {
  Manager& manager = *managers_[number];
  fabric_.Attach(manager.host);
  const SimDevice& device = *fabric_.device(manager.host.node);
  mad::LocalPort local;
  local.device = "sim";
  local.port = manager.host.port;
  local.node_guid = device.node_info().node_guid;
  local.port_guid = device.port(manager.host.port).guid;
  std::vector<fabric::LidRecord> records;
  for (const auto& [guid, record] : manager.durable) records.push_back(record);
  manager.core = std::make_unique<sweep::Core>(
      manager.options, local, records, *manager.holds.LoadHolds(), manager.groups,
      *policy::LoadPartitions(*manager.holds.LoadRows()), manager.aliases);
  manager.core->Step(sweep::StartEvent{}, now_);
  Carry(manager);
}

void Simulation::Post(size_t number, sweep::Event event) {
  managers_[number]->core->Step(std::move(event), now_);
  Carry(*managers_[number]);
}

void Simulation::Kill(size_t number, bool write_survives) {
  Kill(*managers_[number], write_survives);
}

void Simulation::Kill(Manager& manager, bool write_survives) {
  if (write_survives && !manager.writes.empty()) MakeDurable(manager, manager.writes.front());
  manager.writes.clear();
  manager.answers.clear();
  manager.kill_at.reset();
  manager.core.reset();
  fabric_.Detach(now_, manager.host);
}

void Simulation::AddActor(std::unique_ptr<Actor> actor) {
  fabric_.Attach(actor->host());
  actors_.push_back(std::move(actor));
}

void Simulation::MakeDurable(Manager& manager, const Manager::Write& write) {
  if (const auto* lids = std::get_if<sweep::PersistLids>(&write.what)) {
    for (const auto& record : lids->records) manager.durable[record.port_guid] = record;
    return;
  }
  const auto* holds = std::get_if<sweep::PersistHolds>(&write.what);
  const absl::Status status =
      holds != nullptr
          ? manager.holds.ChangeHolds(holds->put, holds->remove)
          : manager.holds.ChangeRows(std::get<sweep::PersistPartitions>(write.what).rows);
  FABRICD_CHECK(status.ok(), "{}", Message(status));
}

void Simulation::Carry(Manager& manager) {
  // What takes no time answers at once, which may make the core ask for more.
  while (manager.core) {
    if (!CarryEffects(manager, manager.core->TakeEffects(now_))) return;
    if (!FinishDue(manager)) return;
  }
}

bool Simulation::CarryEffects(Manager& manager, sweep::Effects effects) {
  for (auto& record : effects.log) {
    if (manager.on_log) manager.on_log(record);
    manager.log.push_back(std::move(record));
  }
  for (auto& finished : effects.finished) {
    if (manager.on_finished) manager.on_finished(finished);
    manager.finished.push_back(std::move(finished));
  }
  if (effects.set_is_sm) fabric_.SetIsSm(now_, manager.host, *effects.set_is_sm);
  if (effects.publish) manager.view = std::move(effects.publish);
  Enter(Part::kFabric);
  for (mad::OutgoingMad& mad : effects.send) {
    ++manager.mads_sent;
    const absl::Status status = fabric_.Send(now_, manager.host, std::move(mad));
    FABRICD_CHECK(status.ok(), "{}", Message(status));
    if (manager.kill_at && manager.mads_sent >= *manager.kill_at) {
      Kill(manager, manager.mads_sent % 2 == 0);
      return false;
    }
  }
  for (sweep::Question& question : effects.questions)
    std::visit([&](auto&& what) { CarryOut(manager, question.id, std::move(what)); },
               std::move(question.what));
  for (auto& event : effects.events) manager.events.push_back(std::move(event));
  Enter(Part::kCore);
  return true;
}

// Records become durable, and answers are handed out, once their time has come.
template <typename Task>
void Simulation::CarryOut(Manager& manager, sweep::QuestionId id, Task task) {
  if constexpr (std::is_same_v<typename Task::Answer, sweep::Persisted>) {
    manager.writes.push_back({now_ + manager.store_time, id, std::move(task)});
  } else {
    Enter(Part::kRouting);
    manager.answers.push_back({now_ + manager.plan_time, {id, sweep::CarryOut(task)}});
  }
}

// Hands the core what its disk and its routing have finished; false: nothing was due.
bool Simulation::FinishDue(Manager& manager) {
  bool any = false;
  while (!manager.writes.empty() && manager.writes.front().due <= now_) {
    const Manager::Write write = std::move(manager.writes.front());
    manager.writes.pop_front();
    const absl::Status status =
        manager.persist_fails ? absl::InternalError("disk full") : absl::OkStatus();
    if (status.ok()) MakeDurable(manager, write);
    manager.core->Step(sweep::Answer{write.id, sweep::Persisted{status}}, now_);
    any = true;
  }
  while (!manager.answers.empty() && manager.answers.front().due <= now_) {
    sweep::Answer answer = std::move(manager.answers.front().answer);
    manager.answers.pop_front();
    manager.core->Step(std::move(answer), now_);
    any = true;
  }
  return any;
}

Instant Simulation::NextInstant() const {
  Instant next = fabric_.next_event();
  for (const auto& manager : managers_) {
    if (!manager->core) continue;
    next = std::min(next, manager->core->NextDeadline());
    if (!manager->writes.empty()) next = std::min(next, manager->writes.front().due);
    if (!manager->answers.empty()) next = std::min(next, manager->answers.front().due);
  }
  for (const auto& actor : actors_) next = std::min(next, actor->NextDeadline());
  if (!agenda_.empty()) next = std::min(next, agenda_.begin()->first);
  return next;
}

void Simulation::Deliver() {
  Enter(Part::kFabric);
  std::vector<Delivery> arrived;
  fabric_.Advance(now_, arrived);
  Enter(Part::kCore);
  for (Delivery& delivery : arrived) {
    for (auto& actor : actors_)
      if (actor->host() == delivery.host) actor->OnDelivery(now_, delivery);
    for (auto& manager : managers_) {
      if (!manager->core || manager->host != delivery.host) continue;
      auto* mad = std::get_if<mad::IncomingMad>(&delivery.what);
      if (mad != nullptr && manager->tamper && !manager->tamper(*mad)) continue;
      std::visit([&](auto& what) { manager->core->Step(std::move(what), now_); }, delivery.what);
    }
  }
}

bool Simulation::StepOnce(Instant end) {
  const Instant next = NextInstant();
  if (next > end) {
    now_ = end;
    return false;
  }
  now_ = std::max(now_, next);
  while (!agenda_.empty() && agenda_.begin()->first <= now_) {
    const std::function<void()> what = std::move(agenda_.begin()->second);
    agenda_.erase(agenda_.begin());
    what();
  }
  Deliver();
  for (auto& actor : actors_)
    if (now_ >= actor->NextDeadline()) actor->OnTimer(now_);
  for (auto& manager : managers_) {
    if (!manager->core) continue;
    if (now_ >= manager->core->NextDeadline()) manager->core->Step(sweep::TimerEvent{}, now_);
    FinishDue(*manager);
    Carry(*manager);
  }
  return true;
}

bool Simulation::RunUntilUp(size_t number, Duration limit) {
  const Manager& manager = *managers_[number];
  return RunUntil(
      [&] {
        return manager.core && manager.core->subnet_up() &&
               manager.core->phase() == sweep::Phase::kIdle && !manager.core->surveys();
      },
      limit);
}

}  // namespace fabricd::sim
