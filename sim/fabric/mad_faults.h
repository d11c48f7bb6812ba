// SPDX-License-Identifier: Apache-2.0
// What the management path does to MADs, and who may watch it. Faults are drawn from the fabric's
// own generators, so one seed gives one run. What happens to GMPs of classes 0x04 and 0x0A is drawn
// from a second one: a run without them has the same faults elsewhere.
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
  // Further ones, of GMPs of classes 0x04 and 0x0A only, responses too.
  double gmp_loss = 0;
  double gmp_duplicate = 0;  // The second copy arrives up to `gmp_jitter` after the first.
  Duration gmp_delay{};
  Duration gmp_jitter{};
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
  // A device has answered a GMP of class 0x04 or 0x0A; `end_port` is where it did.
  struct GmpServed {
    Instant at;
    PortRef end_port;
    const wire::MadBytes& request;
    const wire::MadBytes& answer;
  };
  virtual void OnGmpServed(const GmpServed&) {}
  // Something else than a Set has changed the tables of this node or the state of one of its links.
  virtual void OnNodeChanged(Instant, NodeIndex) {}
  // Something is handed to a program: a MAD, a time-out, a local event.
  virtual void OnDelivery(const Delivery&) {}
};

}  // namespace fabricd::sim
