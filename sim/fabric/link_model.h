// SPDX-License-Identifier: Apache-2.0
// LinkModel: the links of a simulated fabric and the power of its nodes. It drives the port state
// machine (IBA vol 1 §7.2.7): physical and logical states, training, and what a cable that is
// plugged or pulled, a Set, or a restart does to them. It reports each change: by trap, by local
// event, and to the observer. It owns the loss rates of cables; the cables themselves and the
// serials of trainings are kept with the ports (SimPort).
#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include "common/ids.h"
#include "common/time.h"
#include "sim/fabric/event_queue.h"
#include "sim/fabric/host_ports.h"
#include "sim/fabric/mad_faults.h"
#include "sim/fabric/sim_nodes.h"
#include "sim/fabric/trap_sender.h"

namespace fabricd::sim {

// How a node goes off: its peers are notified that its links end, or they are not.
enum class Ending : uint8_t { kPowerLoss, kShutdown };

class LinkModel {
 public:
  struct Options {
    Duration training_time;  // From both ends Polling to LinkUp.
    Duration reboot_time;
  };
  // The references must outlive it. The links of plugged cables are found trained.
  LinkModel(Options options, SimNodes& nodes, EventQueue& queue, TrapSender& traps,
            HostPorts& hosts);
  void set_observer(SimObserver* observer) { observer_ = observer; }

  // ---- for packets
  // The probability that a MAD which leaves by this port is lost on its cable.
  double loss(PortRef port) const {
    if (loss_.empty()) return 0;
    const auto found = loss_.find(port);
    return found == loss_.end() ? 0 : found->second;
  }
  // A data packet has come in by this ARMED port: it becomes ACTIVE (§7.2.7, ActiveTrigger).
  void Activate(PortRef port);
  // A Set asks for this physical state. It takes effect in an event of its own, so that the
  // response leaves before the link that carries it goes down.
  void RequestPhysicalState(PortRef port, wire::PortPhysicalState state);

  // Events of the kinds kLinkRequest, kTrain and kRebooted.
  void Run(const Event& event);

  // ---- for faults. REQUIRES of each port: SimNodes::CheckSocket, of each node: it exists.
  // Both ends of the cable; 0 ends it.
  void SetLoss(PortRef port, double loss);
  // kFailedPrecondition: no plugged cable.
  absl::Status Unlink(PortRef port);
  // Where the cable that was pulled here leads. kFailedPrecondition: none was, or it is plugged.
  absl::StatusOr<PortRef> PulledPeer(PortRef port) const;
  // kFailedPrecondition: it has a plugged cable.
  absl::Status CheckFree(PortRef port) const;
  // REQUIRES: CheckFree of both, and that they differ.
  void Connect(PortRef a, PortRef b);
  // The link of this port drops by itself; both ends note `reason`, an opcode of PDDR page 6, and
  // train again. kFailedPrecondition: it is not up.
  absl::Status LoseSignal(PortRef port, uint8_t reason);
  // kFailedPrecondition: it is off, or reboots, already.
  absl::Status PowerOff(NodeIndex node, Ending ending);
  // kFailedPrecondition: it is on, or reboots, already.
  absl::Status PowerOn(NodeIndex node);
  // A node that is off goes on after reboot_time by itself.
  void BootLater(NodeIndex node);

 private:
  void SetPhysicalState(PortRef port, wire::PortPhysicalState state);
  enum class DropReason : uint8_t { kSet, kCablePulled, kPowerOff, kShutdown, kSignalLost };
  // `opcode`: of kSignalLost.
  void DropLink(PortRef port, DropReason reason, uint8_t opcode = 0);
  void CountDrop(PortRef end, bool own, DropReason reason, uint8_t opcode);
  void ReportStateChange(PortRef port);
  void ReportChange(NodeIndex node) {
    nodes_.NoteChange();
    if (observer_ != nullptr) observer_->OnNodeChanged(queue_.now(), node);
  }
  void TryTrain(PortRef port, Duration training_time);
  void FinishTraining(PortRef port);
  void FinishBoot(NodeIndex node);

  const Options options_;
  SimNodes& nodes_;
  EventQueue& queue_;
  TrapSender& traps_;
  HostPorts& hosts_;
  SimObserver* observer_ = nullptr;
  absl::flat_hash_map<PortRef, double> loss_;  // By both ends of each cable.
};

}  // namespace fabricd::sim
