// SPDX-License-Identifier: Apache-2.0
// ReadOnlyTransport: passes on the MADs of an SM that only reads, and ends the process before any
// other MAD is sent. The core of such an SM makes none: this is the last line of defence, between
// all senders (core, SA, telemetry) and the port. It is in the path whenever the mode is not
// manage. The simulator calls CheckReadOnly() on all that such a manager sends. Requests to which
// such an SM does not respond are not delivered, also where the port would deliver them.
//
// Any thread, as Transport.
#pragma once

#include <string>
#include <utility>

#include "common/sm_mode.h"
#include "mad/transport.h"
#include "mad/wire/mad_header.h"

namespace fabricd::mad {

// Why an SM in this mode must not send `mad`; empty: it may. In each mode it may send Gets of the
// classes for subnet management, performance management and the vendor's GMPs. In standby it also
// responds to requests for SMInfo, with the state NOT-ACTIVE.
std::string ReadOnlyFault(const OutgoingMad& mad, SmMode mode);
// Aborts with the fault. Does nothing in manage mode.
void CheckReadOnly(const OutgoingMad& mad, SmMode mode);

// Whether an SM in this mode is to receive requests and traps of this method by this agent. In
// observe mode it receives none, in standby those for SMInfo.
bool ReceivesRequests(SmMode mode, Agent agent, wire::Method method);

class ReadOnlyTransport final : public Transport {
 public:
  // REQUIRES: !MayManage(mode). `inner` must outlive this.
  ReadOnlyTransport(Transport& inner, SmMode mode);

  absl::Status Start(Sink sink) override;
  void Stop() override { inner_.Stop(); }
  absl::Status Send(const OutgoingMad& mad) override;
  absl::Status AgentStatus(Agent agent) const override { return inner_.AgentStatus(agent); }
  absl::Status PortStatus() const override { return inner_.PortStatus(); }
  // Aborts if IsSM is to be set in observe mode.
  absl::Status SetIsSm(bool is_sm) override;
  LocalPort local_port() const override { return inner_.local_port(); }

 private:
  Transport& inner_;
  const SmMode mode_;
};

}  // namespace fabricd::mad
