// SPDX-License-Identifier: Apache-2.0
// SmWatch: the SMInfo Gets that a master sends to other SMs between its sweeps. It polls
// discovering SMs until they leave that state: one that becomes STANDBY may be handed the subnet,
// and one that becomes master must be noticed. It also sends a Get back along the route of each
// request for its own SMInfo. The requester may be an SM that discovery has missed, because traps
// were lost or because two subnets, each with a master, were joined.
//
// Pure, and owned by Mastership. Requests from a host without an SM cost one Get per second.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "common/time.h"
#include "mad/transaction_engine.h"
#include "sweep/device/device_table.h"
#include "sweep/interface/view.h"

namespace fabricd::sweep {

class SmWatch {
 public:
  // All requests carry `context`, with the number of the question.
  SmWatch(const DeviceTable& devices, mad::TransactionEngine& engine, mad::RequestContext context);

  // A sweep starts: responses to earlier requests are ignored. Routes to requesters are kept.
  void OnSweepStart();
  // The SMs that the master knows now. Discovering ones are polled every half second.
  void Follow(const std::vector<RemoteSm>& others, Instant now);
  // This SM is no longer master.
  void Stop();
  // Another SM or a tool sent a request. `back` leads to it; `device` is its node as far as is
  // known. At most 16 wait. Later ones are dropped: an SM repeats its request.
  void OnAsked(const wire::DirectedPath& back, mad::DeviceId device);
  // Sends all requests that are due.
  void OnTimer(Instant now);
  Instant NextDeadline() const;
  // nullopt: no response, or not from an SM. A requester that was asked back has no `port`.
  std::optional<RemoteSm> OnCompletion(const mad::Completion& completion);

 private:
  void Ask(mad::SmpRequest request, PortRef port);

  const DeviceTable& devices_;
  mad::TransactionEngine& engine_;
  const mad::RequestContext context_;
  bool watching_ = false;
  std::vector<PortRef> discovering_;
  struct Requester {
    wire::DirectedPath back;
    mad::DeviceId device;
  };
  std::vector<Requester> requesters_;
  std::map<uint32_t, PortRef> asked_;  // By number of the question. None: asked back.
  uint32_t next_number_ = 0;
  Instant next_ = kNever;
  Instant next_back_ = Instant::min();  // Requesters are not asked back before this.
};

}  // namespace fabricd::sweep
