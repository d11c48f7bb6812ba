// SPDX-License-Identifier: Apache-2.0
#include "sweep/program/reroute_record.h"

#include <bitset>
#include <map>
#include <utility>

namespace fabricd::sweep {
namespace {

std::optional<fabric::FabricEvent> InterruptionBy(const routing::PushPlan& push, Instant now) {
  if (push.hitless) return std::nullopt;
  fabric::FabricEvent event;
  event.type = "PathsInterrupted";
  event.severity = fabric::Severity::kWarning;
  event.subject = "subnet";
  event.message = fmt::format("{} paths to {} destinations are interrupted: {}",
                              push.paths_interrupted, push.destinations_interrupted, push.why_not);
  event.facts = {{"destinations", std::to_string(push.destinations_interrupted)},
                 {"paths", std::to_string(push.paths_interrupted)}};
  event.at = now;
  return event;
}

}  // namespace

void RerouteRecord::Begin(std::string cause, std::string subject, Instant since, Instant now,
                          const mad::EngineStatistics& statistics) {
  reroute_.emplace();
  reroute_->cause = std::move(cause);
  reroute_->begun = since;
  reroute_->surveyed = now - since;
  subject_ = std::move(subject);
  smps_before_ = statistics.total_sent();
}

void RerouteRecord::OnPlan(const std::string& engine, bool provisional, Instant now) {
  if (!reroute_) return;
  reroute_->engine = provisional ? "least change of " + engine : engine;
  reroute_->planned = now - reroute_->begun;
}

std::optional<fabric::FabricEvent> RerouteRecord::OnOrder(const routing::PushPlan& push,
                                                          Instant now) {
  if (reroute_) {
    std::map<uint16_t, uint64_t> lids;
    for (const routing::TableWrite& write : push.writes) lids[write.block] |= write.lids;
    for (const auto& [block, mask] : lids)
      reroute_->destinations_changed += static_cast<uint32_t>(std::bitset<64>(mask).count());
    reroute_->waves = push.waves;
  }
  return InterruptionBy(push, now);
}

std::optional<fabric::FabricEvent> RerouteRecord::Finish(const Programmer& programmer,
                                                         bool superseded, Instant now,
                                                         const mad::EngineStatistics& statistics) {
  if (!reroute_) return std::nullopt;
  reroute_->superseded = superseded;
  reroute_->blocks_written = static_cast<uint32_t>(programmer.blocks_written());
  reroute_->switches_written = static_cast<uint32_t>(programmer.switches_written());
  reroute_->writes_failed = static_cast<uint32_t>(programmer.failures());
  return MakeEvent(now, statistics);
}

fabric::FabricEvent RerouteRecord::MakeEvent(Instant now, const mad::EngineStatistics& statistics) {
  reroute_->applied = now - reroute_->begun;
  reroute_->smps_sent = statistics.total_sent() - smps_before_;
  const auto ms = [](Duration time) {
    return std::chrono::duration<double, std::milli>(time).count();
  };
  fabric::FabricEvent event;
  event.type = "RerouteCompleted";
  event.severity =
      reroute_->writes_failed > 0 ? fabric::Severity::kWarning : fabric::Severity::kInfo;
  event.subject = subject_;
  event.message = fmt::format(
      "{}: {}{} blocks on {} switches in {:.1f} ms (found after {:.1f}, planned after {:.1f}), "
      "{} SMPs, {}{}",
      reroute_->cause, reroute_->superseded ? "superseded, " : "", reroute_->blocks_written,
      reroute_->switches_written, ms(reroute_->applied), ms(reroute_->surveyed),
      ms(reroute_->planned), reroute_->smps_sent,
      reroute_->engine.empty() ? "no plan" : reroute_->engine,
      reroute_->writes_failed > 0 ? fmt::format(", {} writes failed", reroute_->writes_failed)
                                  : std::string());
  event.at = now;
  event.reroute = *std::exchange(reroute_, std::nullopt);
  return event;
}

}  // namespace fabricd::sweep
