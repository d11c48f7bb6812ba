// SPDX-License-Identifier: Apache-2.0
#include "sim/simulation/simulation.h"

#include <algorithm>
#include <utility>

namespace fabricd::sim {

Simulation::Simulation(const fabric::FabricSnapshot& topology, SimOptions options)
    : fabric_(topology, std::move(options)) {}

size_t Simulation::Add(sweep::CoreOptions options, PortRef host) {
  auto manager = std::make_unique<Manager>(fabric_, now_, [this](Part part) { Enter(part); });
  manager->host = host.IsNone() ? fabric_.DefaultHostPort() : host;
  manager->options = std::move(options);
  managers_.push_back(std::move(manager));
  return managers_.size() - 1;
}

void Simulation::Start(size_t number) { managers_[number]->Start(); }

void Simulation::Post(size_t number, sweep::Event event) {
  managers_[number]->Step(std::move(event));
  managers_[number]->CarryOut();
}

void Simulation::Kill(size_t number, bool write_survives) {
  managers_[number]->Kill(write_survives);
}

void Simulation::AddActor(std::unique_ptr<Actor> actor) {
  fabric_.Attach(actor->host());
  actors_.push_back(std::move(actor));
}

Instant Simulation::NextInstant() const {
  Instant next = fabric_.next_event();
  for (const auto& manager : managers_) {
    if (!manager->core) continue;
    next = std::min(next, manager->core->NextDeadline());
    next = std::min(next, manager->executor.NextDue());
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
      std::visit([&](auto& what) { manager->Step(std::move(what)); }, delivery.what);
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
    if (now_ >= manager->core->NextDeadline()) manager->Step(sweep::TimerEvent{});
    manager->FinishDue();
    manager->CarryOut();
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
