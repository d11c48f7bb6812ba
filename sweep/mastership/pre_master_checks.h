// SPDX-License-Identifier: Apache-2.0
// PreMasterChecks: the pre-master checks of successive discoveries: the SMs to ask, the number of
// repetitions, and the meaning of a missing response.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "fabric/snapshot.h"
#include "sweep/mastership/pre_master_check.h"
#include "sweep/observe/discovery.h"

namespace fabricd::sweep {

class PreMasterChecks {
 public:
  // Both must outlive this. The requests carry `context`.
  PreMasterChecks(const DeviceTable& devices, mad::TransactionEngine& engine,
                  mad::RequestContext context)
      : devices_(devices), engine_(engine), context_(context) {}

  // A sweep starts: responses to earlier requests are ignored.
  void OnSweepStart();
  // Another SM requested SMInfo while this one discovered; `back` leads to it. At most 16 are kept.
  // The next sweep finds the others.
  void NoteRequester(const wire::DirectedPath& back);
  // The SM that this one yielded to is no longer master. `path` leads to it, and `behind` is the
  // peer of its port. If that link is still up but the node behind it did not respond, the next
  // check asks it too.
  void NoteFormerMaster(const wire::DirectedPath& path, PortRef behind) {
    former_ = {path, behind};
  }

  // Asks the SMs in `known`, the SMs that sent requests, and nodes in `unread` that may have an SM.
  // False: there are none.
  bool Start(const std::vector<RemoteSm>& known, const std::vector<Unread>& unread, Guid own,
             const fabric::FabricSnapshot& snapshot);
  // Starts again because another SM sent a request during the check. False: no SM did, or the check
  // was repeated often enough in this sweep.
  bool StartAgain(const std::vector<RemoteSm>& known, Guid own,
                  const fabric::FabricSnapshot& snapshot);
  bool active() const { return check_ != nullptr; }
  // REQUIRES: active(). So do the following functions.
  void OnCompletion(const mad::Completion& completion) { check_->OnCompletion(completion); }
  bool done() const { return check_->done(); }
  struct Result {
    std::vector<RemoteSm> sms;  // With their last responses.
    bool lost = false;          // A known SM, or one that sent a request, did not respond.
  };
  Result Take();

  // A check has lost an SM: the sweep ends without a decision. False: too many sweeps in a row did
  // so, and this SM decides anyway.
  bool MayRepeatSweep();
  // This SM has become MASTER or STANDBY.
  void OnDecided() { lost_sweeps_ = 0; }
  void Stop() { check_.reset(); }

 private:
  struct Former {
    wire::DirectedPath path;
    PortRef behind;
  };
  bool IsFormerSilent(const fabric::FabricSnapshot& snapshot) const;

  const DeviceTable& devices_;
  mad::TransactionEngine& engine_;
  const mad::RequestContext context_;
  std::unique_ptr<PreMasterCheck> check_;
  std::vector<wire::DirectedPath> requesters_;
  std::optional<Former> former_;
  int repeats_ = 0;      // Of this sweep.
  int lost_sweeps_ = 0;  // In a row.
};

}  // namespace fabricd::sweep
