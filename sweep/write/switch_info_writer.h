// SPDX-License-Identifier: Apache-2.0
// SwitchInfoWriter: LinearFDBTop, LifeTimeValue, and PortStateChange cleared.
#pragma once

#include "sweep/write/attribute_writer.h"
#include "sweep/write/restart_watch.h"

namespace fabricd::sweep {

class SwitchInfoWriter final : public QueuedWriter {
 public:
  // Both must outlive this.
  SwitchInfoWriter(const ProgramGround& ground, RestartWatch& restarts)
      : QueuedWriter(ground), restarts_(restarts) {}

  void List(ProgramStage stage, WorkQueue& queue) override;
  std::optional<mad::SmpRequest> Next(const WorkItem& item) override;
  void OnAnswer(const WorkItem& item, const mad::Completion& completion) override;
  // Of a run that is gone. REQUIRES: the device is known and has answered with status 0.
  static void OnLateAnswer(const WorkItem& item, const mad::Completion& completion,
                           fabric::SnapshotBuilder& builder);

 private:
  void ReadUnseenPorts(NodeIndex node);

  RestartWatch& restarts_;
};

}  // namespace fabricd::sweep
