// SPDX-License-Identifier: Apache-2.0
// Observers: a fabric has one observer; this one hands everything on to several, in the order in
// which they were added.
#pragma once

#include <vector>

#include "sim/fabric/mad_faults.h"

namespace fabricd::sim {

class Observers : public SimObserver {
 public:
  // `observer` outlives this.
  void Add(SimObserver* observer) { observers_.push_back(observer); }

  void OnSend(Instant now, PortRef host, const mad::OutgoingMad& mad) override {
    for (SimObserver* each : observers_) each->OnSend(now, host, mad);
  }
  void OnServed(const Served& served) override {
    for (SimObserver* each : observers_) each->OnServed(served);
  }
  void OnNodeChanged(Instant now, NodeIndex node) override {
    for (SimObserver* each : observers_) each->OnNodeChanged(now, node);
  }
  void OnDelivery(const Delivery& delivery) override {
    for (SimObserver* each : observers_) each->OnDelivery(delivery);
  }

 private:
  std::vector<SimObserver*> observers_;
};

}  // namespace fabricd::sim
