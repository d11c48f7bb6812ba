// SPDX-License-Identifier: Apache-2.0
// SwitchInfoWriter: sets LinearFDBTop and LifeTimeValue, and clears PortStateChange. Surveys clear
// it outside of runs, before they read the ports: a later change sets it again.
#pragma once

#include "sweep/write/attribute_writer.h"
#include "sweep/write/restart_watch.h"

namespace fabricd::sweep {

class SwitchInfoWriter final : public QueuedWriter {
 public:
  static constexpr std::array kWorks{Work::kSetSwitchInfo};

  // Both must outlive this.
  SwitchInfoWriter(const ProgramGround& ground, RestartWatch& restarts)
      : QueuedWriter(ground), restarts_(restarts) {}

  void List(ProgramStage stage, WorkQueue& queue) override;
  std::optional<mad::SmpRequest> Next(const WorkItem& item) override;
  void OnAnswer(const WorkItem& item, const mad::Completion& completion) override;
  [[nodiscard]] static bool OnLateAnswer(const LateAnswer& late);

  // False: a Set of this switch's SwitchInfo is in flight.
  static bool MayClearStateChange(const DeviceTable& devices, NodeIndex node);
  // A Set of the observed values, which clears PortStateChange and changes nothing else.
  // REQUIRES: MayClearStateChange().
  static mad::SmpRequest ClearStateChange(DeviceTable& devices, NodeIndex node,
                                          const wire::SwitchInfo& shown);
  // REQUIRES: the context names the switch.
  static void OnStateChangeCleared(const mad::Completion& completion,
                                   fabric::SnapshotBuilder& builder, DeviceTable& devices);

 private:
  void ReadUnseenPorts(NodeIndex node);

  RestartWatch& restarts_;
};

}  // namespace fabricd::sweep
