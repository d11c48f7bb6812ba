// SPDX-License-Identifier: Apache-2.0
// FabricTest: a small SimFabric, and a client at its first host.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "sim/fabric/sim_fabric.h"
#include "sim/fabric/topology.h"
#include "tests/unit/sim/test_client.h"

namespace fabricd::sim {

inline std::vector<mad::IncomingMad> Mads(const std::vector<Delivery>& deliveries) {
  std::vector<mad::IncomingMad> mads;
  for (const Delivery& delivery : deliveries) {
    if (const auto* mad = std::get_if<mad::IncomingMad>(&delivery.what)) mads.push_back(*mad);
  }
  return mads;
}

class FabricTest : public ::testing::Test {
 protected:
  explicit FabricTest(SimOptions options = {}) : fabric(*topology, options) {
    client.now = Instant(std::chrono::seconds(1));
  }
  PortRef PortOf(const std::string& node, uint8_t port) {
    return {fabric.FindNode(node).value(), PortNum(port)};
  }
  const SimDevice& Device(const std::string& node) {
    return *fabric.device(fabric.FindNode(node).value());
  }
  mad::OutgoingMad NodeInfoGet(const wire::DirectedPath& path, uint32_t tid) {
    wire::Smp smp;
    smp.attribute = wire::AttributeId::kNodeInfo;
    smp.tid = TransactionId(tid);
    smp.path = path;
    return EncodeSmp(smp, kTestTimeout);
  }

  // Leaf ports 1-4: hosts, 5-8: two cables to each of the two spines.
  std::shared_ptr<const fabric::FabricSnapshot> topology =
      *Generate("superpod:sus=1,hosts=4,rails=2,radix=8");
  SimFabric fabric;
  PortRef host = fabric.DefaultHostPort();
  TestClient client{fabric, host};
  const wire::DirectedPath leaf{1};
};

}  // namespace fabricd::sim
