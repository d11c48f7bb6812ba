// SPDX-License-Identifier: Apache-2.0
// PreMasterCheck: the requests of a discovering SM before it becomes master. Discovery may have
// passed a port before the SM there set IsSM, may have lost an SMInfo, or may have read an SM that
// has become master since. So it asks again: all known SMs, nodes whose SMInfo was lost, and all
// SMs that sent a request during discovery.
//
// Two SMs that can reach each other cannot both pass. If both discover at the same time, one reads
// the other's SMInfo first. If it reads MASTER, it stands by. If it reads DISCOVERING, the other
// received that request before it became master, so its own pre-master check asks back. (IBA vol 1
// §14.4.1 leaves the race open.)
#pragma once

#include <vector>

#include "mad/transaction_engine.h"
#include "sweep/device/device_table.h"
#include "sweep/interface/view.h"

namespace fabricd::sweep {

class PreMasterCheck {
 public:
  struct Question {
    PortRef port;             // None: the node at the end of `path`.
    wire::DirectedPath path;  // Only if there is no port.
    // An SM was there. False if only its PortInfo or SMInfo was lost.
    bool was_there = true;
  };

  // All requests carry `context`.
  PreMasterCheck(std::vector<RemoteSm> known, std::vector<Question> questions,
                 const DeviceTable& devices, mad::TransactionEngine& engine,
                 mad::RequestContext context);

  // Asks one question at a time: a path may lead to a node that another question names.
  void Start() { AskNext(); }
  void OnCompletion(const mad::Completion& completion);
  bool done() const { return next_ > questions_.size(); }

  // A known SM, or one that sent a request, did not respond.
  bool lost() const { return lost_; }
  // All known SMs with their last responses. An SM that was only reached by a path has no port.
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
  size_t next_ = 0;  // Index after the pending question; one more once all are done.
};

}  // namespace fabricd::sweep
