// SPDX-License-Identifier: Apache-2.0
// Trace: the MADs of one host port as lines of text, in the form that the wire tools record from
// real programs, so that the same decoder and rules judge both.
#pragma once

#include <functional>
#include <string>

#include "sim/fabric/mad_faults.h"
#include "sim/fabric/sim_fabric.h"

namespace fabricd::sim {

class Trace : public SimObserver {
 public:
  // Each line goes to `write` at once, newline included.
  using Write = std::function<void(const std::string& line)>;
  Trace(PortRef host, Write write);

  void OnSend(Instant now, PortRef host, const mad::OutgoingMad& mad) override;
  void OnDelivery(const Delivery& delivery) override;
  // The program goes on from another port.
  void Follow(PortRef host) { host_ = host; }
  // "# mark …": something that happened and is no MAD.
  void Mark(const std::string& text);

 private:
  PortRef host_;
  Write write_;
};

}  // namespace fabricd::sim
