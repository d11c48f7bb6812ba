// SPDX-License-Identifier: Apache-2.0
// RequestSender: turns work items into requests of the engine, and completions back into items. It
// counts outstanding requests and knows unresponsive routes: items for one are left for the next
// run.
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
  // All must outlive this. `run` distinguishes its completions from those of earlier runs.
  RequestSender(const fabric::SnapshotBuilder& builder, DeviceTable& devices,
                mad::TransactionEngine& engine, uint8_t run)
      : builder_(builder), devices_(devices), engine_(engine), run_(run) {}

  // The engine's queue holds enough requests.
  bool IsFull() const;
  // A Set marks the attribute of that port as busy until its response.
  void Submit(mad::SmpRequest request, const WorkItem& item);
  // REQUIRES: IsMine().
  void OnCompletion(const mad::Completion& completion);
  // Withdraws a request that was not sent yet. False: it was sent, or never submitted.
  bool Withdraw(const WorkItem& item);

  bool IsMine(const mad::Completion& completion) const { return completion.context.run == run_; }
  static WorkItem ItemOf(const mad::Completion& completion);
  // Whether a request may be sent for the item: its device is known and responsive.
  bool MayReach(const WorkItem& item) const;
  // The route to the item's device: one for a switch, one for each port of a CA.
  PortRef RouteOf(const WorkItem& item) const;
  size_t outstanding() const { return outstanding_; }

 private:
  mad::RequestContext ContextOf(const WorkItem& item) const;

  const fabric::SnapshotBuilder& builder_;
  DeviceTable& devices_;
  mad::TransactionEngine& engine_;
  const uint8_t run_;
  size_t outstanding_ = 0;
  // The last request over these routes was given up. Until the next response.
  absl::flat_hash_set<PortRef> silent_;
};

}  // namespace fabricd::sweep
