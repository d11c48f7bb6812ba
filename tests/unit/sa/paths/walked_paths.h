// SPDX-License-Identifier: Apache-2.0
// Requests for the paths of an SaFabric, and what its tables and links say of them.
#pragma once

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "tests/unit/sa/sa_fixture.h"

namespace fabricd::sa {

using testing::Ask;
using testing::Bit;
using testing::Query;
using testing::SaFabric;
using wire::Method;
using wire::PathRecord;
using C = PathComponent;

inline constexpr uint64_t kGids = Bit(C::kSgid) | Bit(C::kDgid);

inline Query GetPath(const SaFabric& made, size_t from, size_t to, uint64_t more = 0,
                     PathRecord record = {}) {
  record.sgid = made.GidOf(from);
  record.dgid = made.GidOf(to);
  return Ask(record, kGids | more, Method::kGet);
}

// Rates of a link by LinkSpeedExtActive at 4 lanes, as the specification's table has them.
inline const std::map<uint8_t, std::pair<double, uint8_t>> kRateOf4x = {
    {1, {56, 12}}, {2, {100, 16}}, {4, {200, 17}}, {8, {400, 21}}};

// What the tables and links say of the way, found out by hand. mtu 0: there is no way.
struct Walked {
  uint8_t mtu = 0, rate = 0;
  std::vector<PortRef> exits;
};
inline Walked WalkByHand(const SaFabric& made, PortRef from, Lid lid) {
  const fabric::FabricSnapshot& snapshot = *made.input.snapshot;
  const PortRef owner = made.input.lids->Owner(lid);
  Walked walked{5, 0, {}};
  double slowest = 1e9;
  const auto cross = [&](PortRef exit) {
    const fabric::Port& port = *snapshot.port(exit);
    walked.exits.push_back(exit);
    walked.mtu = std::min(walked.mtu, port.info.neighbor_mtu);
    const auto& [gigabits, code] = kRateOf4x.at(port.info.link_speed_ext_active);
    if (gigabits < slowest) slowest = gigabits, walked.rate = code;
    return port.peer;
  };
  PortRef at = from.port ? cross(from) : from;
  for (int hops = 0; hops < 64; ++hops) {
    if (at.node == owner.node && (!owner.port || at == owner)) return walked;
    const fabric::Node* node = snapshot.node(at.node);
    if (node == nullptr || !node->IsSwitch() || !made.input.plan->HasRow(at.node)) break;
    const uint8_t egress = made.input.plan->EgressPort(at.node, lid);
    if (egress == routing::kNoRoute || egress == 0) break;
    at = cross({at.node, PortNum(egress)});
  }
  return {};
}

}  // namespace fabricd::sa
