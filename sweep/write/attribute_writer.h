// SPDX-License-Identifier: Apache-2.0
// sweep/write: one writer for each attribute that is programmed, and what writers share.
//
// AttributeWriter: brings one attribute of all devices to what is wanted. Each stage of a run lists
// what differs between wanted and last confirmed, so that a run over a fabric that is right sends
// nothing. A Set that was lost is a difference in the next run.
//
// To program another attribute: write its writer, give its requests a Work (work.h) and, where it
// needs one, a ProgramStage, and add it to WriterSet. Each writer has beside what it overrides
//   kWorks           an array of the pieces of work that are its own,
//   OnLateAnswer()   static, of the answer to one of its Sets that a run which is gone has made.
//                    True: the answer shows a change, so that the node has to be read again.
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

// What all writers of a run work on. All of it outlives them.
struct ProgramGround {
  const DesiredState& desired;
  const WorkScope& scope;
  const bool trees_only;  // Of multicast groups alone: nothing else is read.
  const PortConfig& config;
  fabric::SnapshotBuilder& builder;  // Takes every confirmed value.
  DeviceTable& devices;
  RequestSender& sender;
  RunRecord& record;
};

// The end of a Set of a run that is gone.
struct LateAnswer {
  const WorkItem& item;
  const mad::Completion& completion;
  fabric::SnapshotBuilder& builder;
  DeviceTable& devices;

  // The device is known and has answered with status 0.
  bool IsConfirmed() const { return IsOk(completion) && builder.node(item.node) != nullptr; }
};

class AttributeWriter {
 public:
  explicit AttributeWriter(const ProgramGround& ground) : ground_(ground) {}
  virtual ~AttributeWriter() = default;
  AttributeWriter(const AttributeWriter&) = delete;
  AttributeWriter& operator=(const AttributeWriter&) = delete;

  // Finds what is to be read or written in this stage: nothing in the stages of other attributes.
  virtual void List(ProgramStage stage, WorkQueue& queue) = 0;
  // Of a request that this writer made. Its device may be gone by now.
  virtual void OnAnswer(const WorkItem& item, const mad::Completion& completion) = 0;

 protected:
  bool IsGone(NodeIndex node) const { return ground_.builder.node(node) == nullptr; }
  // The request failed, or its device is gone; recorded.
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

// One whose requests may go in the order of the queue. Tables that must never hold a loop between
// two writes have an order of their own instead (LftWriter, MftWriter).
class QueuedWriter : public AttributeWriter {
 public:
  using AttributeWriter::AttributeWriter;

  // The request for an item that List() added to the queue; nullopt: there is nothing to send any
  // more. REQUIRES: the item's device is known.
  virtual std::optional<mad::SmpRequest> Next(const WorkItem& item) = 0;
  // Whether the item has to wait for the answer to an earlier Set.
  virtual bool IsBusy(const WorkItem& item) const {
    return ground_.devices.applied().IsBusy(item.ref(), AttributeOf(item.work));
  }
};

// A request of a writer with an order of its own.
struct OrderedRequest {
  WorkItem item;
  mad::SmpRequest smp;
};

}  // namespace fabricd::sweep
