// SPDX-License-Identifier: Apache-2.0
#include "query/missing_nics.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace fabricd::query {
namespace {

using fabric::RailHost;
using fabric::Rails;
using fabric::RailUnit;

// [host][rail] Whether the host has a NIC of that rail: in its place, on the leaf under another
// name, or on a wrong leaf, which is another trouble.
std::vector<std::vector<bool>> FindPresent(const Rails& rails, const fabric::FabricSnapshot& fabric,
                                           const fabric::HostTable& hosts) {
  std::set<PortRef> misplaced;
  for (const fabric::MisplacedEnd& end : rails.misplaced) misplaced.insert(end.end);
  std::vector<std::vector<bool>> present;
  for (const RailHost& host : rails.hosts) {
    std::vector<bool>& has = present.emplace_back(rails.names.size());
    for (size_t rail = 0; rail < has.size(); ++rail) has[rail] = !host.ends[rail].IsNone();
    const std::vector<NodeIndex>& leaf = rails.units[host.unit].leaf;
    const fabric::Host* known = hosts.Find(host.name);
    for (size_t i = 0; known != nullptr && i < known->ports.size(); ++i) {
      const PortRef peer = fabric.port(known->ports[i].port)->peer;
      if (peer.IsNone() || misplaced.contains(known->ports[i].port)) continue;
      if (const auto found = std::find(leaf.begin(), leaf.end(), peer.node); found != leaf.end())
        has[static_cast<size_t>(found - leaf.begin())] = true;
    }
  }
  for (const fabric::MisplacedEnd& end : rails.misplaced) present[end.host][end.rail] = true;
  return present;
}

// Those of a unit that are named alike.
using Peers = std::map<std::string, std::vector<uint32_t>>;
Peers PeersIn(const RailUnit& unit, const Rails& rails) {
  Peers peers;
  for (const uint32_t host : unit.hosts)
    peers[fabric::FamilyOf(rails.hosts[host].name)].push_back(host);
  return peers;
}

// Of the units but this one, how many have the rail.
std::string LackOfUnit(const Rails& rails, const RailUnit& unit, size_t rail) {
  size_t with = 0, others = 0;
  for (const RailUnit& other : rails.units) {
    if (&other == &unit) continue;
    ++others;
    with += !other.leaf[rail].IsNone();
  }
  if (2 * with <= others) return {};
  return fmt::format("is not on the fabric: {} of {} other units have a leaf for it, its own none",
                     with, others);
}

}  // namespace

MissingNics::ByHost MissingNics::Find() const {
  ByHost of_host;
  const Rails rails = fabric::FindRails(*snapshot_, *hosts_);
  const auto present = FindPresent(rails, *snapshot_, *hosts_);
  for (const RailUnit& unit : rails.units) {
    const Peers all_peers = PeersIn(unit, rails);
    for (size_t rail = 0; rail < rails.names.size(); ++rail) {
      const std::string lack =
          unit.leaf[rail].IsNone() ? LackOfUnit(rails, unit, rail) : std::string();
      for (const auto& [family, peers] : all_peers) {
        const auto with = static_cast<size_t>(std::count_if(
            peers.begin(), peers.end(), [&](uint32_t host) { return present[host][rail]; }));
        if (lack.empty() && 2 * with <= peers.size()) continue;
        for (const uint32_t host : peers) {
          if (present[host][rail]) continue;
          of_host[rails.hosts[host].name].push_back(
              {rails.names[rail],
               lack.empty()
                   ? fmt::format("is not on the fabric: {} of {} hosts of its unit have it", with,
                                 peers.size())
                   : lack});
        }
      }
    }
  }
  snapshot_.reset();
  hosts_.reset();
  return of_host;
}

const std::vector<MissingNic>& MissingNics::Of(const std::string& host) const {
  static const std::vector<MissingNic> kNone;
  const ByHost& of_host = of_host_.Get([this] { return Find(); });
  const auto found = of_host.find(host);
  return found == of_host.end() ? kNone : found->second;
}

}  // namespace fabricd::query
