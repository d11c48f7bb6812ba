// SPDX-License-Identifier: Apache-2.0
// sim/faults: what goes wrong in a run, drawn from a seed.
//
// FaultInjector: what goes wrong with the fabric in a run, by the values that its seed has drawn:
// MADs lost, doubled and held back; cables that flap once or regularly, fall silent, lose much or
// stay pulled; nodes that reboot, leave, lose power or answer oddly; traps of ports, single and in
// storms; partitions; counters that another program clears. What befalls the managers themselves is
// the Cast's.
//
// As an observer it sees when tables are written, to pull cables just then.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/rng.h"
#include "sim/device/quirks.h"
#include "sim/faults/fault_spec.h"
#include "sim/faults/places.h"
#include "sim/simulation/simulation.h"

namespace fabricd::sim {

class FaultInjector : public SimObserver {
 public:
  // Told what happens, when it happens.
  using Note = std::function<void(const std::string& text)>;

  // All that it is given by reference outlives it, and it outlives the simulation's last step.
  FaultInjector(Simulation& simulation, const Places& places, const Faults& faults, Rng& rng,
                Note note)
      : simulation_(simulation),
        places_(places),
        faults_(faults),
        rng_(rng),
        note_(std::move(note)) {}
  FaultInjector(const FaultInjector&) = delete;
  FaultInjector& operator=(const FaultInjector&) = delete;

  // How this device behaves where no fault changes that. Call before Plan().
  void SetFirmware(NodeIndex node, const Quirks& quirks);
  // From now on MADs suffer, and some cables are sick.
  void Start();
  // Draws all but the partitions, which then happen within the next `Faults::phase_s`.
  void Plan();
  void OnServed(const Served& served) override;
  // Two that sit on the fabric then are cut off from each other.
  void PlanPartitions();
  // Ends everything: all cables and nodes are there and speak. What remains is firmware that never
  // takes or has some fields, and the time that MADs take.
  void Stop();

  // Whether some of the nodes are cut off from the others.
  bool partitioned() const { return partitioned_; }

 private:
  void Repeat(double times, void (FaultInjector::*plan)());
  void PlanFlap();
  void PlanMute();
  void PlanReboot();
  void PlanDeparture();
  void PlanOutage();
  void PlanPortTrap();
  void PlanPartition();
  // fault_injector_links.cc
  void PlanCuts();
  void PlanDeath();
  void PlanSwitchReboot();
  void PlanHostReboot();
  void PlanNicFlap();
  void PlanTrain();
  void RunTrain(PortRef cable, bool up);
  void PlanStorm();
  void RunStorm(PortRef port, uint16_t number, Instant end);
  // fault_injector_foreign.cc
  void PlanForeignWrite();
  void PlanCounterClear();
  void PlanSilence();
  void SetSmaUnresponsive(NodeIndex node, bool unresponsive, bool blocks_directed);
  void WriteSomeTable(uint64_t kind, uint64_t seed);
  std::vector<NodeIndex> Switches() const;
  std::vector<PortRef> Cables(bool of_end_ports) const;
  void FlapOnce(PortRef cable);
  void MakeSomeDeviceOdd();
  std::pair<Quirks, const char*> DrawQuirk(Quirks odd);
  void EndQuirks();

  void Unplug(PortRef cable);
  void Plug(PortRef cable);
  void SetSilent(PortRef cable, bool silent);
  void PowerOff(NodeIndex node);
  void PowerOn(NodeIndex node);
  void TrapSomePort();
  void Part(bool silently, Duration length);
  void Join(const std::vector<PortRef>& cut, bool silently);

  std::vector<PortRef> DrawCut();
  Instant SomeTime();

  Simulation& simulation_;
  const Places& places_;
  const Faults& faults_;
  Rng& rng_;
  const Note note_;
  Quirks FirmwareOf(NodeIndex node) const;
  std::map<NodeIndex, Quirks> firmware_;  // No entry: without quirks.
  std::map<NodeIndex, Quirks> odd_;
  std::map<NodeIndex, int> unresponsive_;  // How many silences of the node are under way.
  int push_cuts_left_ = 0;                 // They begin with the first of `Faults::cuts`.
  uint64_t sets_to_go_ = 0;                // Table writes until the next.
  uint32_t next_foreign_id_ = 0x70000000;
  bool stopped_ = false;
  bool partitioned_ = false;
};

}  // namespace fabricd::sim
