// SPDX-License-Identifier: Apache-2.0
// One more subnet manager in a simulation.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "sim/simulation/simulation.h"

namespace fabricd::test {

// Starts one on the port "node0001 mlx5_0"; its number.
inline size_t Join(sim::Simulation& simulation, const std::string& host,
                   const sweep::CoreOptions& options) {
  const auto port = simulation.fabric().FindHostPort(host);
  EXPECT_TRUE(port.ok()) << port.status();
  const size_t sm = simulation.Add(options, *port);
  simulation.Start(sm);
  return sm;
}

}  // namespace fabricd::test
