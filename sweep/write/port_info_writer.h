// SPDX-License-Identifier: Apache-2.0
// PortInfoWriter: LIDs, link parameters and partition enforcement; ports that holds disable or
// enable; and the transition of links from INIT over ARMED to ACTIVE.
#pragma once

#include "sweep/write/attribute_writer.h"
#include "sweep/write/mft_writer.h"
#include "sweep/write/port_keys.h"
#include "sweep/write/restart_watch.h"

namespace fabricd::sweep {

class PortInfoWriter final : public QueuedWriter {
 public:
  static constexpr std::array kWorks{Work::kConfigurePort, Work::kArm,    Work::kActivate,
                                     Work::kDisable,       Work::kEnable, Work::kReadPort};

  // All must outlive this. Links of a switch that may hold wrong multicast entries stay down.
  PortInfoWriter(const ProgramGround& ground, const PortKeys& keys, const MftWriter& mft,
                 RestartWatch& restarts)
      : QueuedWriter(ground), keys_(keys), mft_(mft), restarts_(restarts) {}

  void List(ProgramStage stage, WorkQueue& queue) override;
  std::optional<mad::SmpRequest> Next(const WorkItem& item) override;
  void OnAnswer(const WorkItem& item, const mad::Completion& completion) override;
  [[nodiscard]] static bool OnLateAnswer(const LateAnswer& late);

 private:
  void ListConfigured(WorkQueue& queue);
  void ListHeld(WorkQueue& queue);
  void ListStates(Work work, wire::PortState from, WorkQueue& queue);
  bool IsLinkReady(const fabric::Node& node, PortNum number) const;

  std::optional<mad::SmpRequest> Configure(const WorkItem& item);
  std::optional<mad::SmpRequest> ChangeState(const WorkItem& item, wire::PortState from,
                                             wire::PortState to) const;
  std::optional<mad::SmpRequest> ChangePhysicalState(const WorkItem& item,
                                                     wire::PortPhysicalState state) const;
  mad::SmpRequest SetOf(const WorkItem& item, PortWish wish) const;

  bool TakeFailure(const WorkItem& item, const mad::Completion& completion);
  void RevealMKey(const fabric::Node& node, PortRef port, wire::PortInfo& info) const;
  void CheckConfigured(const WorkItem& item, const wire::PortInfo& info);
  void NoteDifferentVls(PortRef ref, const fabric::Port& port);
  void NoteIgnored(PortRef port, const wire::PortInfo& wanted, const wire::PortInfo& kept);

  const PortKeys& keys_;
  const MftWriter& mft_;
  RestartWatch& restarts_;
};

}  // namespace fabricd::sweep
