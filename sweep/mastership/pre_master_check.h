// SPDX-License-Identifier: Apache-2.0
// PreMasterCheck: what a discovering SM asks before it becomes master. Its discovery may have
// passed a port before the SM there set IsSM, lost an SMInfo, or read one that has become master
// since. So it asks again those it knows, those whose SMInfo did not come, and whoever has asked it
// meanwhile.
//
// Two SMs that can reach each other cannot both pass: of two that discover at the same time, one
// reads the other's SMInfo first. If it reads MASTER it stands by. If it reads DISCOVERING, the
// other was asked before it became master, so its own last look asks back. (IBA vol 1 §14.4.1
// leaves the race open.)
#pragma once

#include <vector>

#include "mad/transaction_engine.h"
#include "sweep/device/device_table.h"
#include "sweep/interface/view.h"

namespace fabricd::sweep {

class PreMasterCheck {
 public:
  struct Question {
    PortRef port;             // None: whoever answers by `path`.
    wire::DirectedPath path;  // Of one without a port only.
    // There was an SM; not so where only its PortInfo or SMInfo did not come.
    bool was_there = true;
  };

  // The requests carry `context`.
  PreMasterCheck(std::vector<RemoteSm> known, std::vector<Question> questions,
                 const DeviceTable& devices, mad::TransactionEngine& engine,
                 mad::RequestContext context);

  // One question at a time: a path may lead to a node that another question names.
  void Start() { AskNext(); }
  void OnCompletion(const mad::Completion& completion);
  bool done() const { return next_ > questions_.size(); }

  // Some SM that was known, or that has asked, has not answered.
  bool lost() const { return lost_; }
  // All that are known now, as they answered last; the port of one that answered by a path only is
  // none.
  const std::vector<RemoteSm>& sms() const { return sms_; }

 private:
  void AskNext();
  void Note(const wire::SmInfo& info, PortRef port);

  std::vector<RemoteSm> sms_;
  const std::vector<Question> questions_;
  const DeviceTable& devices_;
  mad::TransactionEngine& engine_;
  const mad::RequestContext context_;
  bool lost_ = false;
  size_t next_ = 0;  // The question after the one that is out; one more when all are answered.
};

}  // namespace fabricd::sweep
