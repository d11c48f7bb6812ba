// SPDX-License-Identifier: Apache-2.0
#include "sim/faults/fault_injector.h"

#include <algorithm>

#include <fmt/format.h>

#include "mad/wire/mad_header.h"
#include "mad/wire/notice.h"
#include "sim/fabric/mad_faults.h"
#include "sim/faults/draw.h"

namespace fabricd::sim {

using std::chrono::milliseconds;
using std::chrono::seconds;

void FaultInjector::Start() {
  note_(fmt::format("faults: {}", Describe(faults_)));
  MadFaults mads;
  mads.loss = faults_.loss;
  mads.duplicate = faults_.duplicate;
  mads.reorder = faults_.reorder;
  mads.delay = Microseconds(faults_.delay_us);
  mads.jitter = Microseconds(faults_.jitter_us);
  mads.hold = Microseconds(faults_.hold_us);
  mads.trap_loss = faults_.trap_loss;
  mads.gmp_loss = faults_.gmp_loss;
  mads.gmp_duplicate = faults_.gmp_duplicate;
  mads.gmp_delay = Microseconds(faults_.gmp_delay_us);
  mads.gmp_jitter = Microseconds(faults_.gmp_jitter_us);
  simulation_.fabric().SetMadFaults(mads);
  for (int i = 0; i < Count(faults_.sick_links) && faults_.sick_loss > 0; ++i)
    simulation_.fabric().SetLinkLoss(OneOf(places_.cables(), rng_), faults_.sick_loss);
}

void FaultInjector::Plan() {
  Repeat(faults_.flaps, &FaultInjector::PlanFlap);
  Repeat(faults_.mutes, &FaultInjector::PlanMute);
  Repeat(faults_.reboots, &FaultInjector::PlanReboot);
  Repeat(faults_.departures, &FaultInjector::PlanDeparture);
  Repeat(faults_.outages, &FaultInjector::PlanOutage);
  Repeat(faults_.port_traps, &FaultInjector::PlanPortTrap);
  Repeat(faults_.odd_devices, &FaultInjector::MakeSomeDeviceOdd);
  PlanCuts();
  Repeat(faults_.deaths, &FaultInjector::PlanDeath);
  Repeat(faults_.switch_reboots, &FaultInjector::PlanSwitchReboot);
  Repeat(faults_.nic_flaps, &FaultInjector::PlanNicFlap);
  Repeat(faults_.trains, &FaultInjector::PlanTrain);
  Repeat(faults_.storms, &FaultInjector::PlanStorm);
  Repeat(faults_.foreign_writes, &FaultInjector::PlanForeignWrite);
  Repeat(faults_.counter_clears, &FaultInjector::PlanCounterClear);
  Repeat(faults_.host_reboots, &FaultInjector::PlanHostReboot);
  Repeat(faults_.silences, &FaultInjector::PlanSilence);
}

void FaultInjector::PlanPartitions() { Repeat(faults_.partitions, &FaultInjector::PlanPartition); }

void FaultInjector::Stop() {
  note_("the faults stop");
  stopped_ = true;
  MadFaults none;
  none.delay = Microseconds(faults_.delay_us);
  simulation_.fabric().SetMadFaults(none);
  for (PortRef cable : places_.cables()) {
    simulation_.fabric().SetLinkLoss(cable, 0);
    Plug(cable);
  }
  for (NodeIndex node : places_.nodes()) PowerOn(node);
  EndQuirks();
  partitioned_ = false;
}

void FaultInjector::Repeat(double times, void (FaultInjector::*plan)()) {
  for (int i = 0; i < Count(times); ++i) (this->*plan)();
}

Instant FaultInjector::SomeTime() {
  const double span = std::max(0.0, faults_.phase_s - faults_.from_s);
  return simulation_.now() + Seconds(faults_.from_s) + UpTo(Seconds(span), rng_);
}

// ---- cables

void FaultInjector::PlanFlap() { FlapOnce(OneOf(places_.cables(), rng_)); }

void FaultInjector::FlapOnce(PortRef cable) {
  const Instant from = SomeTime();
  simulation_.At(from, [this, cable] { Unplug(cable); });
  simulation_.At(from + UpTo(seconds(3), rng_), [this, cable] { Plug(cable); });
}

void FaultInjector::PlanMute() {
  const PortRef cable = OneOf(places_.cables(), rng_);
  const Instant from = SomeTime();
  simulation_.At(from, [this, cable] { SetSilent(cable, true); });
  simulation_.At(from + UpTo(seconds(10), rng_), [this, cable] { SetSilent(cable, false); });
}

void FaultInjector::Unplug(PortRef cable) {
  if (!stopped_ && simulation_.fabric().Unlink(simulation_.now(), cable).ok())
    note_(fmt::format("cable at {} pulled", places_.NameOf(cable)));
}

void FaultInjector::Plug(PortRef cable) {
  if (simulation_.fabric().Link(simulation_.now(), cable).ok())
    note_(fmt::format("cable at {} plugged", places_.NameOf(cable)));
}

void FaultInjector::SetSilent(PortRef cable, bool silent) {
  if (stopped_) return;
  simulation_.fabric().SetLinkLoss(cable, silent ? 1 : 0);
  note_(fmt::format("cable at {} {}", places_.NameOf(cable),
                    silent ? "falls silent" : "speaks again"));
}

// ---- nodes

void FaultInjector::PlanReboot() {
  const NodeIndex node = OneOf(places_.nodes(), rng_);
  simulation_.At(SomeTime(), [this, node] {
    if (!stopped_ && simulation_.fabric().Reboot(simulation_.now(), node).ok())
      note_(fmt::format("{} reboots", places_.NameOf(node)));
  });
}

// All cables of a node, pulled in one instant, back in another.
void FaultInjector::PlanDeparture() {
  const std::vector<PortRef> own = places_.CablesOf(OneOf(places_.nodes(), rng_));
  const Instant from = SomeTime();
  for (PortRef cable : own) simulation_.At(from, [this, cable] { Unplug(cable); });
  const Instant back = from + UpTo(seconds(10), rng_);
  for (PortRef cable : own) simulation_.At(back, [this, cable] { Plug(cable); });
}

void FaultInjector::PlanOutage() {
  const NodeIndex node = OneOf(places_.nodes(), rng_);
  const Instant from = SomeTime();
  simulation_.At(from, [this, node] { PowerOff(node); });
  simulation_.At(from + UpTo(seconds(10), rng_), [this, node] { PowerOn(node); });
}

void FaultInjector::PowerOff(NodeIndex node) {
  if (!stopped_ && simulation_.fabric().PowerOff(simulation_.now(), node).ok())
    note_(fmt::format("{} loses power", places_.NameOf(node)));
}

void FaultInjector::PowerOn(NodeIndex node) {
  if (simulation_.fabric().PowerOn(simulation_.now(), node).ok())
    note_(fmt::format("{} has power", places_.NameOf(node)));
}

void FaultInjector::PlanPortTrap() {
  simulation_.At(SomeTime(), [this] { TrapSomePort(); });
}

void FaultInjector::TrapSomePort() {
  if (stopped_) return;
  const PortRef port = OneOf(places_.cables(), rng_);
  const uint16_t number = static_cast<uint16_t>(wire::kTrapLocalLinkIntegrity + rng_.Below(3));
  // A port that no manager has configured has nobody to tell.
  if (simulation_.fabric().RaisePortTrap(simulation_.now(), port, number).ok())
    note_(fmt::format("trap {} at {}", number, places_.NameOf(port)));
}

// ---- odd firmware

void FaultInjector::SetFirmware(NodeIndex node, const Quirks& quirks) {
  firmware_[node] = quirks;
  simulation_.fabric().SetQuirks(node, quirks);
}

Quirks FaultInjector::FirmwareOf(NodeIndex node) const {
  const auto known = firmware_.find(node);
  return known == firmware_.end() ? Quirks() : known->second;
}

void FaultInjector::MakeSomeDeviceOdd() {
  const NodeIndex node = OneOf(places_.nodes(), rng_);
  const auto [odd, what] = DrawQuirk(FirmwareOf(node));
  note_(fmt::format("{} {}", places_.NameOf(node), what));
  simulation_.fabric().SetQuirks(node, odd);
  odd_[node] = odd;
}

// What firmware in the field has done, and in words.
std::pair<Quirks, const char*> FaultInjector::DrawQuirk(Quirks odd) {
  switch (rng_.Below(6)) {
    case 0: odd.answer_delay = UpTo(milliseconds(600), rng_); return {odd, "answers slowly"};
    case 1:
      // For less than a manager waits before it tries again: longer, nobody can tell what is so.
      odd.stale_reads = UpTo(milliseconds(900), rng_);
      return {odd, "shows old values"};
    case 2:
      odd.ignored = IgnoredPortInfoFields::OfIbsim();
      return {odd, "does not take some fields of PortInfo"};
    case 3:
      odd.busy_every = static_cast<uint32_t>(2 + rng_.Below(5));
      return {odd, "is often busy"};
    case 4:
      odd.refused_gets[wire::AttributeId::kNodeDescription] =
          wire::kStatusUnsupportedMethodAttribute;
      return {odd, "has no NodeDescription"};
    default: odd.takes_parts = true; return {odd, "takes parts of a PortInfo that it refuses"};
  }
}

void FaultInjector::EndQuirks() {
  for (const auto& [node, times] : unresponsive_)
    if (times > 0) simulation_.fabric().SetQuirks(node, FirmwareOf(node));
  for (const auto& [node, odd] : odd_) {
    Quirks stays = FirmwareOf(node);
    stays.ignored = odd.ignored;
    stays.takes_parts = odd.takes_parts;
    stays.refused_gets = odd.refused_gets;
    simulation_.fabric().SetQuirks(node, stays);
  }
}

// ---- agents that do not respond

void FaultInjector::PlanSilence() {
  const NodeIndex node = OneOf(places_.nodes(), rng_);
  const bool blocks_directed = rng_.Chance(0.5);
  const Instant from = SomeTime();
  const Duration most = std::max<Duration>(seconds(1), Seconds(faults_.silence_s));
  const Instant end = from + seconds(1) + UpTo(most - seconds(1), rng_);
  simulation_.At(from, [=, this] { SetSmaUnresponsive(node, true, blocks_directed); });
  simulation_.At(end, [=, this] { SetSmaUnresponsive(node, false, false); });
}

void FaultInjector::SetSmaUnresponsive(NodeIndex node, bool unresponsive, bool blocks_directed) {
  if (stopped_) return;
  const bool is_taken = std::any_of(places_.taken().begin(), places_.taken().end(),
                                    [node](PortRef taken) { return taken.node == node; });
  if (unresponsive && is_taken) return;  // A program asks its own port first of all.
  int& times = unresponsive_[node];
  if (!unresponsive && times == 0) return;
  times += unresponsive ? 1 : -1;
  const auto odd = odd_.find(node);
  Quirks quirks = odd == odd_.end() ? FirmwareOf(node) : odd->second;
  quirks.unresponsive = times > 0;
  quirks.blocks_directed = quirks.unresponsive && blocks_directed;
  simulation_.fabric().SetQuirks(node, quirks);
  note_(fmt::format("the SMA of {} {}{}", places_.NameOf(node),
                    quirks.unresponsive ? "does not respond" : "responds",
                    quirks.blocks_directed ? ", and forwards no SMPs" : ""));
}

// ---- partitions

void FaultInjector::PlanPartition() {
  const Instant from = SomeTime();
  const Duration length = seconds(2) + UpTo(seconds(40), rng_);
  const bool silently = rng_.Chance(0.6);
  simulation_.At(from, [this, silently, length] { Part(silently, length); });
}

// Up to half of the nodes, with one manager, are cut off from the rest, silently or by pulled
// cables.
void FaultInjector::Part(bool silently, Duration length) {
  if (partitioned_ || stopped_ || places_.taken().size() < 2) return;
  const std::vector<PortRef> cut = DrawCut();
  partitioned_ = true;
  note_(fmt::format("partition: {} cables {}", cut.size(), silently ? "silent" : "pulled"));
  for (PortRef cable : cut) silently ? SetSilent(cable, true) : Unplug(cable);
  simulation_.At(simulation_.now() + length, [this, cut, silently] { Join(cut, silently); });
}

void FaultInjector::Join(const std::vector<PortRef>& cut, bool silently) {
  if (!partitioned_) return;
  for (PortRef cable : cut) silently ? SetSilent(cable, false) : Plug(cable);
  partitioned_ = false;
  note_("the partition is over");
}

std::vector<PortRef> FaultInjector::DrawCut() {
  const std::vector<PortRef>& taken = places_.taken();
  const size_t here = rng_.Below(taken.size());
  const size_t there = (here + 1 + rng_.Below(taken.size() - 1)) % taken.size();
  const size_t size = 1 + rng_.Below(places_.nodes().size() / 2);
  return places_.CutBetween(taken[here], taken[there], size);
}

}  // namespace fabricd::sim
