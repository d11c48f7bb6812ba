// SPDX-License-Identifier: Apache-2.0
// SmWatch: what a master asks other SMs between its sweeps, one SMInfo Get each. It asks those that
// were still discovering until they have settled, for one that stands by may be handed the subnet
// and one that has become master must not stay unnoticed. And it asks back along the route of each
// request for its own SMInfo: who asks may be an SM that no discovery has found, because traps were
// lost, or because two parts of a fabric, each with a master, have met.
//
// Pure, and owned by Mastership. A request of a host without an SM costs one Get per second.
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
  // The requests carry `context`; its number is that of the question.
  SmWatch(const DeviceTable& devices, mad::TransactionEngine& engine, mad::RequestContext context);

  // A sweep begins: what was asked is void. Routes by which others asked are kept.
  void OnSweepStart();
  // The master knows these from now on: those that are discovering are asked every half second.
  void Follow(const std::vector<RemoteSm>& others, Instant now);
  // It is master no longer.
  void Stop();
  // Another SM, or a tool, has asked; `back` leads to it, to this device as far as is known. At
  // most 16 wait; later ones are dropped: an SM asks again.
  void OnAsked(const wire::DirectedPath& back, mad::DeviceId device);
  // Asks whatever is due.
  void OnTimer(Instant now);
  Instant NextDeadline() const;
  // Nothing: no answer, or not the answer of an SM. `port` of one that was asked back is none.
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
  std::map<uint32_t, PortRef> asked_;  // By the number of the question; none: asked back.
  uint32_t next_number_ = 0;
  Instant next_ = kNever;
  Instant next_back_ = Instant::min();  // Nobody is asked back before.
};

}  // namespace fabricd::sweep
