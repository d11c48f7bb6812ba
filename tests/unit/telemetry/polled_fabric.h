// SPDX-License-Identifier: Apache-2.0
// A collector that polls a simulated fabric in virtual time.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "fabric/snapshot_builder.h"
#include "telemetry/collector.h"
#include "tests/unit/sim/performance/gmp_client.h"

namespace fabricd::telemetry {

// The HCA and the switch port that faces it.
inline constexpr char kHca[] = "node0001 mlx5_0";
inline constexpr char kLeaf[] = "su1-rail0-leaf";

class PolledFabric : public sim::GmpFabric {
 public:
  explicit PolledFabric(Options options = {}, const std::string& quirks = "",
                        const std::string& kind = "superpod:sus=1,hosts=4,rails=2,radix=8")
      : GmpFabric(kind), collector(options, client.now, 1) {
    if (!quirks.empty()) fabric.SetPerformanceOfAll(*sim::ParsePerformanceOptions(quirks));
  }

  // What a discovery would find now.
  std::shared_ptr<const fabric::FabricSnapshot> Discover() {
    fabric::SnapshotBuilder builder(seen_ != nullptr ? *seen_ : *topology);
    topology->ForEachNode([&](const fabric::Node& node) {
      for (size_t i = 0; i < node.ports.size(); ++i) {
        const PortRef port{node.index, PortNum(static_cast<uint8_t>(i))};
        builder.SetPortInfo(port, fabric.device(node.index)->port(port.port).info);
      }
    });
    if (edit_discovery) edit_discovery(builder);
    seen_ = builder.Build();
    return seen_;
  }
  void Begin(State state = State::kPolling) { Tell(FabricChanged{Discover(), state}); }

  void Tell(const Event& event) {
    collector.Step(event, client.now, effects);
    Carry();
  }
  // Polls for that long.
  void Run(Duration time) {
    const Instant end = client.now + time;
    while (true) {
      std::vector<sim::Delivery> arrived;
      fabric.Advance(client.now, arrived);
      for (sim::Delivery& delivery : arrived) {
        if (auto* mad = std::get_if<mad::IncomingMad>(&delivery.what)) Deliver(*mad);
      }
      if (!arrived.empty()) continue;
      const Instant next = std::min(collector.NextWake(client.now), fabric.next_event());
      if (next > end) break;
      client.now = std::max(client.now, next);
      collector.Step(Tick{}, client.now, effects);
      Carry();
    }
    client.now = end;
  }
  std::shared_ptr<const TelemetryView> View() { return collector.MakeView(client.now); }
  uint64_t Total(PortRef port, Counter counter) {
    const auto view = View();
    const PortRecord* record = view->Find(port);
    return record != nullptr ? record->Total(counter) : ~uint64_t{0};
  }
  uint64_t Asked(Ask ask) { return View()->stats.requests_by_ask[static_cast<size_t>(ask)]; }

  // What else a discovery finds.
  std::function<void(fabric::SnapshotBuilder&)> edit_discovery;

  Collector collector;
  Effects effects;
  std::vector<EpochStarted> epochs;
  std::vector<uint64_t> passes_done, passes_refused;
  std::vector<HistoryAnswer> histories;
  // Of each request that left; and most in flight to one LID.
  std::function<void(const mad::OutgoingMad&)> on_send;
  std::map<Lid, int> in_flight;
  int most_to_one = 0;
  int most_smps = 0;

 private:
  void Deliver(const mad::IncomingMad& mad) {
    const Lid lid = lid_of_[wire::MadHeader::Decode(sim::BytesOf(mad)).tid()];
    --in_flight[lid];
    if (mad.agent == mad::Agent::kSmpLid) --smps_;
    collector.Step(mad, client.now, effects);
    Carry();
  }
  void Carry() {
    // Of a copy: a refusal makes more.
    Effects now = std::move(effects);
    effects = {};
    for (mad::OutgoingMad& mad : now.send) {
      if (on_send) on_send(mad);
      const TransactionId id = wire::MadHeader::Decode(std::span<const uint8_t, wire::kMadBytes>(
                                                           mad.payload.data(), wire::kMadBytes))
                                   .tid();
      lid_of_[id] = mad.to.lid;
      most_to_one = std::max(most_to_one, ++in_flight[mad.to.lid]);
      if (mad.agent == mad::Agent::kSmpLid) most_smps = std::max(most_smps, ++smps_);
      if (!fabric.Send(client.now, host, std::move(mad)).ok()) {
        collector.Step(SendFailed{id}, client.now, effects);
      }
    }
    epochs.insert(epochs.end(), now.epochs.begin(), now.epochs.end());
    passes_done.insert(passes_done.end(), now.passes_done.begin(), now.passes_done.end());
    passes_refused.insert(passes_refused.end(), now.passes_refused.begin(),
                          now.passes_refused.end());
    for (HistoryAnswer& answer : now.histories) histories.push_back(std::move(answer));
  }

  std::shared_ptr<const fabric::FabricSnapshot> seen_;
  std::map<TransactionId, Lid> lid_of_;
  int smps_ = 0;
};

}  // namespace fabricd::telemetry
