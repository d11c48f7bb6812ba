// SPDX-License-Identifier: Apache-2.0
// sweep/write: one writer for each programmed attribute, and their common parts.
//
// AttributeWriter: brings one attribute of all devices to its desired value. Each stage of a run
// lists the differences between the desired and the confirmed values. So a run over a correct
// fabric sends nothing, and a lost Set is a difference in the next run.
//
// To program another attribute: write its writer, give its requests a Work (work.h) and, where
// needed, a ProgramStage, and add it to WriterSet. Besides its overrides, each writer has
//   kWorks           an array of the kinds of Work that it owns,
//   OnLateAnswer()   static: takes the response to a Set of an earlier run. Returns true if the
//                    response shows a change, so that the node must be read again.
#pragma once

#include <array>
#include <optional>

#include "fabric/snapshot_builder.h"
#include "mad/transaction_engine.h"
#include "sweep/device/completion.h"
#include "sweep/device/device_table.h"
#include "sweep/device/port_config.h"
#include "sweep/write/program_input.h"
#include "sweep/write/request_sender.h"
#include "sweep/write/run_record.h"
#include "sweep/write/work.h"
#include "sweep/write/work_queue.h"
#include "sweep/write/work_scope.h"

namespace fabricd::sweep {

// The data that all writers of a run share. All members outlive them.
struct ProgramGround {
  const DesiredState& desired;
  const WorkScope& scope;
  const bool trees_only;  // Only multicast trees are programmed: nothing else is read.
  const PortConfig& config;
  fabric::SnapshotBuilder& builder;  // Receives every confirmed value.
  DeviceTable& devices;
  RequestSender& sender;
  RunRecord& record;
};

// The end of a Set of an earlier run.
struct LateAnswer {
  const WorkItem& item;
  const mad::Completion& completion;
  fabric::SnapshotBuilder& builder;
  DeviceTable& devices;

  // The device is known and responded with status 0.
  bool IsConfirmed() const { return IsOk(completion) && builder.node(item.node) != nullptr; }
};

class AttributeWriter {
 public:
  explicit AttributeWriter(const ProgramGround& ground) : ground_(ground) {}
  virtual ~AttributeWriter() = default;
  AttributeWriter(const AttributeWriter&) = delete;
  AttributeWriter& operator=(const AttributeWriter&) = delete;

  // Lists what must be read or written in this stage. Lists nothing in stages of other attributes.
  virtual void List(ProgramStage stage, WorkQueue& queue) = 0;
  // The response to a request of this writer. Its device may have been removed.
  virtual void OnAnswer(const WorkItem& item, const mad::Completion& completion) = 0;

 protected:
  bool IsGone(NodeIndex node) const { return ground_.builder.node(node) == nullptr; }
  // True if the request failed or the device was removed. Records the failure.
  bool HasFailed(const WorkItem& item, const mad::Completion& completion) {
    if (IsGone(item.node))
      ground_.record.CountFailures(1);
    else if (!IsOk(completion))
      ground_.record.NoteFailure(item, completion);
    else
      return false;
    return true;
  }
  const fabric::Node& NodeOf(const WorkItem& item) const {
    return *ground_.builder.node(item.node);
  }

  const ProgramGround& ground_;
};

// A writer whose requests may be sent in queue order. Tables that must not hold a loop between two
// writes have their own order instead (LftWriter, MftWriter).
class QueuedWriter : public AttributeWriter {
 public:
  using AttributeWriter::AttributeWriter;

  // The request for an item that List() added to the queue. nullopt: nothing needs to be sent any
  // more. REQUIRES: the item's device is known.
  virtual std::optional<mad::SmpRequest> Next(const WorkItem& item) = 0;
  // Whether the item must wait for the response to an earlier Set.
  virtual bool IsBusy(const WorkItem& item) const {
    return ground_.devices.applied().IsBusy(item.ref(), AttributeOf(item.work));
  }
};

// A request of a writer that has its own order.
struct OrderedRequest {
  WorkItem item;
  mad::SmpRequest smp;
};

}  // namespace fabricd::sweep
