// SPDX-License-Identifier: Apache-2.0
// RequestSender: from the work of a run to requests of the engine, and from completions back to
// work. It knows what is outstanding, and which routes have stopped answering: what waits for one
// is left for the next run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <absl/container/flat_hash_set.h>

#include "fabric/snapshot_builder.h"
#include "mad/transaction_engine.h"
#include "sweep/device/device_table.h"
#include "sweep/write/work.h"

namespace fabricd::sweep {

class RequestSender {
 public:
  // All must outlive this. `run` tells its completions from those of the run before.
  RequestSender(const fabric::SnapshotBuilder& builder, DeviceTable& devices,
                mad::TransactionEngine& engine, uint8_t run)
      : builder_(builder), devices_(devices), engine_(engine), run_(run) {}

  // The engine holds as many requests ahead of its window as it should.
  bool IsFull() const;
  // A Set makes the attribute of that port busy until its answer.
  void Submit(mad::SmpRequest request, const WorkItem& item);
  // Of a request of this run.
  void OnCompletion(const mad::Completion& completion);
  // Takes a request back that was not sent. False: it was sent, or never submitted.
  bool Withdraw(const WorkItem& item);

  bool IsMine(const mad::Completion& completion) const { return completion.context.run == run_; }
  static WorkItem ItemOf(const mad::Completion& completion);
  // Whether anything may be sent for the item: its device is known and answers.
  bool MayReach(const WorkItem& item) const;
  // By which the item's device is reached: a switch by one route, a CA by one for each port.
  PortRef RouteOf(const WorkItem& item) const;
  size_t outstanding() const { return outstanding_; }

 private:
  mad::RequestContext ContextOf(const WorkItem& item) const;

  const fabric::SnapshotBuilder& builder_;
  DeviceTable& devices_;
  mad::TransactionEngine& engine_;
  const uint8_t run_;
  size_t outstanding_ = 0;
  // Their last request was given up. Until an answer comes.
  absl::flat_hash_set<PortRef> silent_;
};

}  // namespace fabricd::sweep
