// SPDX-License-Identifier: Apache-2.0
// What the activities of a core work on: two switches and four hosts, discovered from the first
// host, with an engine whose requests are seen but not answered.
#pragma once

#include <chrono>
#include <utility>
#include <vector>

#include "sweep/observe/ground.h"
#include "sweep/observe/observed_fabric.h"
#include "tests/unit/sweep/small_fabric.h"

namespace fabricd::sweep {

inline constexpr Instant kNow{std::chrono::seconds(1)};

struct ActivityFixture {
  SmallFabric small{4};
  CoreOptions options;
  mad::TransactionEngine engine{{}};
  DeviceTable devices{options.sm};
  ProblemList problems;
  ObservedFabric observed{{}};

  ActivityFixture() {
    const auto first = wire::DirectedPath().Then(PortNum(1));
    devices.SetPath(small.hosts[0], wire::DirectedPath());
    devices.SetPath(small.switches[0], first);
    devices.SetPath(small.switches[1], first.Then(PortNum(36)));
    for (size_t i = 1; i < small.hosts.size(); ++i)
      devices.SetPath(
          small.hosts[i],
          devices.PathTo(small.switches[i % 2]).Then(PortNum(static_cast<uint8_t>(i / 2 + 1))));
    for (size_t i = 0; i < small.hosts.size(); ++i) SetActive(small.Host(i));
    SetActive({small.switches[0], PortNum(36)});
    observed.builder() = std::move(small.builder);
    observed.OnDiscovered(small.Host(0), {});
  }
  // Both ends.
  void SetActive(PortRef port) {
    for (const PortRef end : {port, small.builder.node(port.node)->port(port.port).peer}) {
      wire::PortInfo info = small.builder.node(end.node)->port(end.port).info;
      info.port_state = wire::PortState::kActive;
      small.builder.SetPortInfo(end, info);
    }
  }
  Ground ground() { return {observed.builder(), devices, engine, problems, options}; }

  // What is sent by now, and not yet seen.
  std::vector<wire::Smp> Sent(Instant now) {
    std::vector<mad::OutgoingMad> mads;
    std::vector<mad::Completion> completions;
    engine.Pump(now, mads, completions);
    std::vector<wire::Smp> smps;
    for (const mad::OutgoingMad& mad : mads)
      smps.push_back(*wire::Smp::Decode(
          std::span<const uint8_t, wire::kMadBytes>(mad.payload.data(), wire::kMadBytes)));
    return smps;
  }
};

}  // namespace fabricd::sweep
