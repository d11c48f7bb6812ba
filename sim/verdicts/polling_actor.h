// SPDX-License-Identifier: Apache-2.0
// PollingActor: a telemetry::Collector beside a Core, on the same host port, in virtual time. It is
// the shell that daemon/telemetry is in reality: gives the collector the fabrics that the Core
// publishes and its load, and carries its requests.
#pragma once

#include <memory>

#include "sim/simulation/simulation.h"
#include "telemetry/collector.h"

namespace fabricd::sim {

class PollingActor : public Actor {
 public:
  // How often it looks what the Core has published.
  static constexpr Duration kCheck = std::chrono::seconds(1);

  // `simulation` outlives it; its manager of that number is added already. Responses to telemetry
  // no longer reach the Core.
  PollingActor(Simulation& simulation, size_t manager, const telemetry::Options& options,
               uint64_t seed);

  PortRef host() const override { return manager_.host; }
  void OnDelivery(Instant now, const Delivery& delivery) override;
  Instant NextDeadline() const override;
  void OnTimer(Instant now) override;

  // What the Core has published last; null: nothing yet.
  const sweep::FabricView* fabric() const { return seen_.get(); }
  std::shared_ptr<const telemetry::TelemetryView> View(Instant now) {
    return collector_.MakeView(now);
  }

 private:
  void Check(Instant now);
  void Step(const telemetry::Event& event, Instant now);

  Simulation& simulation_;
  Manager& manager_;
  telemetry::Collector collector_;
  std::shared_ptr<const sweep::FabricView> seen_;
  telemetry::CoreLoad load_;
  Instant last_, next_check_;
};

}  // namespace fabricd::sim
