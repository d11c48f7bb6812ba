// SPDX-License-Identifier: Apache-2.0
// What the management path does to MADs, and who may watch it. Faults are drawn from the fabric's
// own generator, so one seed gives one run.
#pragma once

#include <cstdint>

#include "common/ids.h"
#include "common/time.h"
#include "fabric/snapshot.h"
#include "mad/transport.h"
#include "mad/wire/smp.h"

namespace fabricd::sim {

// Drawn once for every MAD that leaves a node, so a request and its answer are two MADs. MADs
// between a program and its own node take no part.
struct MadFaults {
  double loss = 0;       // Probability that the MAD never arrives.
  double trap_loss = 0;  // The same for traps, on top of it.
  double duplicate = 0;  // That a second copy arrives, up to `jitter` after the first.
  double reorder = 0;    // That it is held back by up to `hold`, so that later ones overtake it.
  // Time on the way: delay plus a uniform part of jitter, on top of SimOptions::link_latency.
  Duration delay{};
  Duration jitter{};
  Duration hold{};
};

struct Delivery;

// Sees what happens as it happens; must not call back into the fabric.
class SimObserver {
 public:
  virtual ~SimObserver() = default;
  // A program's MAD, with the TransactionID that the simulated kernel gave it.
  virtual void OnSend(Instant, PortRef /*host*/, const mad::OutgoingMad&) {}
  // A device has carried out a Get or Set. `request` as it arrived, `answer` as it leaves; `sender`
  // is the port from which the request came, `ingress` the port by which it reached the device.
  struct Served {
    Instant at;
    PortRef sender;
    PortRef ingress;
    const wire::Smp& request;
    const wire::Smp& answer;
    bool changed;  // Some register has another value now, or a client was told to reregister.
  };
  virtual void OnServed(const Served&) {}
  // Something else than a Set has changed the tables of this node or the state of one of its links.
  virtual void OnNodeChanged(Instant, NodeIndex) {}
  // Something is handed to a program: a MAD, a time-out, a local event.
  virtual void OnDelivery(const Delivery&) {}
};

}  // namespace fabricd::sim
