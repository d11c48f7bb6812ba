// SPDX-License-Identifier: Apache-2.0
#include "sa/view/end_ports.h"

#include <algorithm>

namespace fabricd::sa {
Carriage CarriageOfEnd(const fabric::Port& port) {
  const wire::PortInfo& info = port.info;
  const uint8_t mtu = info.neighbor_mtu != 0 ? info.neighbor_mtu : info.mtu_cap;
  return {std::max<uint8_t>(mtu, 1), fabric::RateOfLink(port.Speed(), wire::ActiveWidth(info))};
}

Carriage CarriageOf(const fabric::FabricSnapshot& snapshot, const fabric::Port& port) {
  const fabric::Port* peer = port.peer.IsNone() ? nullptr : snapshot.port(port.peer);
  const Carriage near = CarriageOfEnd(port);
  return peer == nullptr ? near : Least(near, CarriageOfEnd(*peer));
}

Carriage CarriageOfPort0(const fabric::Port& port) {
  const int lanes = wire::ActiveWidth(port.info);
  const bool shows_rate = lanes != 0 && port.Speed() != wire::LinkSpeed::kUnknown;
  return {port.info.mtu_cap != 0 ? port.info.mtu_cap : kAnyCarriage.mtu,
          shows_rate ? fabric::RateOfLink(port.Speed(), lanes) : fabric::kTopRate};
}

EndPorts::EndPorts(std::vector<EndPort> ports) : ports_(std::move(ports)) {
  std::sort(ports_.begin(), ports_.end(),
            [](const EndPort& a, const EndPort& b) { return a.base_lid < b.base_lid; });
  by_guid_.reserve(ports_.size());
  if (!ports_.empty()) by_lid_.assign(ports_.back().lid_end(), kNone);
  for (uint32_t number = 0; number < size(); ++number) {
    const EndPort& port = ports_[number];
    if (port.guid) by_guid_.try_emplace(port.guid, number);
    std::fill(by_lid_.begin() + port.base_lid, by_lid_.begin() + port.lid_end(), number);
  }
}

}  // namespace fabricd::sa
