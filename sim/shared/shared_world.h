// SPDX-License-Identifier: Apache-2.0
// sim/shared: whole management nodes that share a simulated etcd and a simulated fabric, in virtual
// time, and runs of seeds on them.
//
// SharedWorld: what the nodes of a run share. The fabric's events are among those of
// VirtualThreads.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "common/rng.h"
#include "sim/fabric/sim_fabric.h"
#include "sim/store/store_node.h"

namespace fabricd::sim {

// Times of devices.
SimOptions DrawSimOptions(Rng& rng);

class SharedWorld {
 public:
  // `failures` outlives this.
  SharedWorld(const fabric::FabricSnapshot& topology, SimOptions options, uint64_t seed,
              std::vector<std::string>& failures,
              std::function<void(const std::string& line)> telling)
      : store(seed, failures, std::move(telling)), fabric_(topology, std::move(options)) {}

  StoreWorld store;
  VirtualThreads& threads() { return store.time; }
  Instant now() const { return store.time.now(); }
  const SimFabric& fabric() const { return fabric_; }
  // Call Schedule() when done.
  SimFabric& fabric() { return fabric_; }
  // Something may be due on the fabric now.
  void Schedule();
  // Who gets what arrives at a port.
  void Listen(PortRef host, std::function<void(mad::Incoming)> listener) {
    listeners_[host] = std::move(listener);
  }

  // What happens, as a line of text with its time.
  void Tell(const std::string& what) const;
  bool tells() const { return store.tell != nullptr; }

 private:
  void Advance();

  SimFabric fabric_;
  Instant next_ = kNever;  // When Advance() is called.
  std::map<PortRef, std::function<void(mad::Incoming)>> listeners_;
};

}  // namespace fabricd::sim
