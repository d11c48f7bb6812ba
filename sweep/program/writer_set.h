// SPDX-License-Identifier: Apache-2.0
// WriterSet: the writers of a run, in the order in which they list their work, and the writer that
// each piece of work belongs to.
#pragma once

#include <tuple>

#include "sweep/write/adaptive_routing_reader.h"
#include "sweep/write/guid_writer.h"
#include "sweep/write/lft_writer.h"
#include "sweep/write/mft_writer.h"
#include "sweep/write/p_key_writer.h"
#include "sweep/write/port_info_writer.h"
#include "sweep/write/restart_watch.h"
#include "sweep/write/switch_info_writer.h"
#include "sweep/write/vl_writer.h"

namespace fabricd::sweep {

class WriterSet {
 public:
  // Both must outlive this. `queue` also receives the reads that responses make necessary.
  WriterSet(const ProgramGround& ground, WorkQueue& queue)
      : restarts_(ground),
        switch_info_(ground, restarts_),
        guids_(ground, queue),
        p_keys_(ground),
        mft_(ground, restarts_),
        port_info_(ground, p_keys_.keys(), mft_, restarts_),
        lft_(ground),
        vls_(ground),
        adaptive_(ground, queue) {}

  void List(ProgramStage stage, WorkQueue& queue);
  void OnAnswer(const WorkItem& item, const mad::Completion& completion);
  // The writer of a queued item. REQUIRES: the work of a QueuedWriter.
  QueuedWriter& QueuedOf(Work work);
  // The response to a request of an earlier run: updates what is known of the table. Returns true
  // if the response shows that the node has changed since and must be read again.
  [[nodiscard]] static bool OnLateAnswer(const WorkItem& item, const mad::Completion& completion,
                                         fabric::SnapshotBuilder& builder, DeviceTable& devices);

  LftWriter& lft() { return lft_; }
  const LftWriter& lft() const { return lft_; }
  MftWriter& mft() { return mft_; }
  const MftWriter& mft() const { return mft_; }

 private:
  // In the order in which they list. What forwards is read first; what a switch has lost is
  // forgotten before its other tables are listed.
  auto All() {
    return std::tie(lft_, switch_info_, p_keys_, guids_, port_info_, mft_, vls_, adaptive_);
  }

  RestartWatch restarts_;
  SwitchInfoWriter switch_info_;
  GuidWriter guids_;
  PKeyWriter p_keys_;
  MftWriter mft_;
  PortInfoWriter port_info_;
  LftWriter lft_;
  VlWriter vls_;
  AdaptiveRoutingReader adaptive_;
};

}  // namespace fabricd::sweep
