// SPDX-License-Identifier: Apache-2.0
// What subnet managers set in a simulation.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "mad/wire/port_info.h"
#include "mad/wire/smp.h"
#include "sim/fabric/sim_fabric.h"

namespace fabricd::test {

// The Sets that reach the devices, those that only ask a CA's clients to reregister apart.
class SetWatch : public sim::SimObserver {
 public:
  void OnServed(const Served& served) override {
    if (served.request.method != wire::Method::kSet) return;
    const bool reregister = served.request.attribute == wire::AttributeId::kPortInfo &&
                            wire::PortInfo::Decode(served.request.data).client_reregister;
    if (reregister)
      ++reregisters[served.ingress];
    else
      others.push_back(std::string(wire::AttributeName(served.request.attribute)));
  }
  std::map<PortRef, int> reregisters;
  std::vector<std::string> others;
};

}  // namespace fabricd::test
