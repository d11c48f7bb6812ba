// SPDX-License-Identifier: Apache-2.0
#include "sim/verdicts/polling_actor.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <variant>

#include "mad/transactions.h"
#include "mad/wire/mad_header.h"
#include "mad/wire/notice.h"
#include "mad/wire/smp.h"

namespace fabricd::sim {
namespace {

// More SMPs of the Core in flight make telemetry wait, as in daemon/.
constexpr size_t kManyInFlight = 32;

TransactionId IdOf(const std::vector<uint8_t>& payload) {
  return wire::MadHeader::Decode(
             std::span<const uint8_t, wire::kMadBytes>(payload.data(), wire::kMadBytes))
      .tid();
}

std::optional<telemetry::LinkTrap> TrapIn(const mad::IncomingMad& mad) {
  if (mad.kind != mad::IncomingMad::Kind::kReceived || mad.payload.size() < wire::kMadBytes) {
    return std::nullopt;
  }
  const auto smp =
      wire::Smp::Decode(std::span<const uint8_t>(mad.payload).first<wire::kMadBytes>());
  if (!smp || smp->method != wire::Method::kTrap || smp->attribute != wire::AttributeId::kNotice) {
    return std::nullopt;
  }
  return telemetry::LinkTrapOf(wire::Notice::Decode(smp->data));
}

}  // namespace

PollingActor::PollingActor(Simulation& simulation, size_t manager,
                           const telemetry::Options& options, uint64_t seed)
    : simulation_(simulation),
      manager_(simulation.manager(manager)),
      collector_(options, simulation.now(), seed),
      last_(simulation.now()),
      next_check_(simulation.now()) {
  manager_.tamper = [](mad::IncomingMad& mad) { return !mad::IsForTelemetry(mad); };
}

void PollingActor::OnDelivery(Instant now, const Delivery& delivery) {
  const auto* mad = std::get_if<mad::IncomingMad>(&delivery.what);
  if (mad == nullptr) return;
  if (mad::IsForTelemetry(*mad)) {
    Step(*mad, now);
  } else if (const auto trap = TrapIn(*mad)) {
    Step(*trap, now);
  }
}

Instant PollingActor::NextDeadline() const {
  return std::min(next_check_, collector_.NextWake(last_));
}

void PollingActor::OnTimer(Instant now) {
  if (now >= next_check_) {
    next_check_ = now + kCheck;
    Check(now);
  }
  Step(telemetry::Tick{}, now);
}

void PollingActor::Check(Instant now) {
  if (manager_.view != nullptr && manager_.view != seen_) {
    seen_ = manager_.view;
    const bool any = seen_->snapshot->node_count() > 0;
    Step(telemetry::FabricChanged{seen_->snapshot,
                                  any ? telemetry::State::kPolling : telemetry::State::kWaiting},
         now);
  }
  if (manager_.core == nullptr) return;
  const sweep::Phase phase = manager_.core->progress().phase;
  telemetry::CoreLoad load;
  load.smps = manager_.core->smps_in_flight() > 0;
  load.busy = manager_.core->smps_in_flight() > kManyInFlight;
  load.writing = phase == sweep::Phase::kAssigningLids || phase == sweep::Phase::kProgramming;
  if (load == load_) return;
  load_ = load;
  Step(load, now);
}

void PollingActor::Step(const telemetry::Event& event, Instant now) {
  last_ = now;
  telemetry::Effects effects;
  collector_.Step(event, now, effects);
  // A request that is refused may make the collector send others.
  while (!effects.send.empty()) {
    telemetry::Effects more;
    for (mad::OutgoingMad& mad : effects.send) {
      const TransactionId id = IdOf(mad.payload);
      if (!simulation_.fabric().Send(now, manager_.host, std::move(mad)).ok()) {
        collector_.Step(telemetry::SendFailed{id}, now, more);
      }
    }
    effects = std::move(more);
  }
}

}  // namespace fabricd::sim
