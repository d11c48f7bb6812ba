// SPDX-License-Identifier: Apache-2.0
// Faults of links and switches that a manager reroutes for: single ones, several at once, one on
// top of another's reroute, regular ones, and traps that tell of them or of nothing.
#include <algorithm>

#include <fmt/format.h>

#include "mad/wire/notice.h"
#include "sim/faults/draw.h"
#include "sim/faults/fault_injector.h"

namespace fabricd::sim {

using std::chrono::seconds;

// Table writes after which the next cable is pulled at the latest: as many as a small reroute has.
constexpr uint64_t kMostSets = 20;

std::vector<NodeIndex> FaultInjector::Switches() const {
  std::vector<NodeIndex> switches;
  for (NodeIndex node : places_.nodes())
    if (simulation_.fabric().device(node)->IsSwitch()) switches.push_back(node);
  return switches;
}

// Those with an end port at either end, or those with none.
std::vector<PortRef> FaultInjector::Cables(bool of_end_ports) const {
  const SimFabric& fabric = simulation_.fabric();
  std::vector<PortRef> cables;
  for (PortRef cable : places_.cables()) {
    const PortRef peer = fabric.device(cable.node)->port(cable.port).cable;
    const bool between_switches =
        fabric.device(cable.node)->IsSwitch() && fabric.device(peer.node)->IsSwitch();
    if (between_switches != of_end_ports) cables.push_back(cable);
  }
  return cables;
}

// ---- cables that stay pulled

void FaultInjector::PlanCuts() {
  const int count = Count(faults_.cuts);
  const std::vector<PortRef> cables = Cables(false);
  if (count == 0 || cables.empty()) return;
  const Instant first = SomeTime();
  for (int i = 0; i < count; ++i) {
    const PortRef cable = OneOf(cables, rng_);
    const Duration later =
        i == 0 ? Duration::zero() : UpTo(Seconds(faults_.cut_gap_ms / 1e3), rng_);
    simulation_.At(first + later, [this, cable] { Unplug(cable); });
  }
  if (Count(faults_.push_cuts) == 0) return;
  simulation_.At(first, [this] {
    push_cuts_left_ = Count(faults_.push_cuts);
    sets_to_go_ = 1 + rng_.Below(kMostSets);
  });
}

void FaultInjector::OnServed(const Served& served) {
  if (push_cuts_left_ == 0 || stopped_ || !served.changed ||
      served.request.attribute != wire::AttributeId::kLinearForwardingTable || --sets_to_go_ > 0)
    return;
  --push_cuts_left_;
  sets_to_go_ = 1 + rng_.Below(kMostSets);
  const PortRef cable = OneOf(Cables(false), rng_);
  simulation_.At(served.at, [this, cable] { Unplug(cable); });
}

// ---- switches

void FaultInjector::PlanDeath() {
  const NodeIndex node = OneOf(Switches(), rng_);
  simulation_.At(SomeTime(), [this, node] { PowerOff(node); });
}

void FaultInjector::PlanSwitchReboot() {
  const NodeIndex node = OneOf(Switches(), rng_);
  simulation_.At(SomeTime(), [this, node] {
    if (!stopped_ && simulation_.fabric().Reboot(simulation_.now(), node).ok())
      note_(fmt::format("{} reboots", places_.NameOf(node)));
  });
}

void FaultInjector::PlanHostReboot() {
  const std::vector<std::vector<NodeIndex>> hosts = places_.Hosts();
  if (hosts.empty()) return;
  const std::vector<NodeIndex> host = OneOf(hosts, rng_);
  simulation_.At(SomeTime(), [this, host] {
    for (NodeIndex node : host) {
      if (!stopped_ && simulation_.fabric().Reboot(simulation_.now(), node).ok())
        note_(fmt::format("{} reboots with its host", places_.NameOf(node)));
    }
  });
}

// ---- flaps

void FaultInjector::PlanNicFlap() {
  const std::vector<PortRef> cables = Cables(true);
  if (!cables.empty()) FlapOnce(OneOf(cables, rng_));
}

void FaultInjector::PlanTrain() {
  const std::vector<PortRef> cables = Cables(false);
  if (cables.empty()) return;
  const PortRef cable = OneOf(cables, rng_);
  const Instant from =
      simulation_.now() + Seconds(faults_.from_s) + UpTo(Seconds(faults_.train_period_s), rng_);
  simulation_.At(from, [this, cable] { RunTrain(cable, false); });
}

void FaultInjector::RunTrain(PortRef cable, bool up) {
  if (stopped_) return;
  up ? Plug(cable) : Unplug(cable);
  const double part = up ? 1 - faults_.train_down : faults_.train_down;
  const Duration wait =
      std::max<Duration>(std::chrono::milliseconds(1), Seconds(faults_.train_period_s * part));
  simulation_.At(simulation_.now() + wait, [this, cable, up] { RunTrain(cable, !up); });
}

// ---- traps without end

void FaultInjector::PlanStorm() {
  const std::vector<PortRef> cables = Cables(false);
  if (cables.empty() || faults_.storm_rate == 0) return;
  const PortRef port = OneOf(cables, rng_);
  auto number = static_cast<uint16_t>(faults_.storm_trap);
  const auto drawn = static_cast<uint16_t>(wire::kTrapLinkStateChange + rng_.Below(4));
  if (number < wire::kTrapLinkStateChange || number > wire::kTrapFlowControlWatchdog)
    number = drawn;
  const Instant from = SomeTime();
  simulation_.At(from, [this, port, number, from] {
    note_(fmt::format("storm of traps {} from {}", number, places_.NameOf(port)));
    RunStorm(port, number, from + Seconds(faults_.storm_s));
  });
}

void FaultInjector::RunStorm(PortRef port, uint16_t number, Instant end) {
  if (stopped_ || simulation_.now() >= end) return;
  // A switch that no manager has configured has nobody to tell.
  simulation_.fabric().SendStrayTrap(simulation_.now(), port, number).IgnoreError();
  simulation_.At(simulation_.now() + Seconds(1 / faults_.storm_rate),
                 [this, port, number, end] { RunStorm(port, number, end); });
}

}  // namespace fabricd::sim
