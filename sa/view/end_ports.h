// SPDX-License-Identifier: Apache-2.0
// EndPorts: all ports that have a LID, in the order of their LIDs, with what Subnet Administration
// asks of each over and over: where it hangs, what its link carries, which partitions it is in.
// Immutable once built.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "common/ids.h"
#include "fabric/rate.h"
#include "routing/plan/link_map.h"
#include "sa/view/p_key_sets.h"

namespace fabricd::sa {

// What a packet may be and how fast it goes: of a link, or the least of a way's links.
struct Carriage {
  uint8_t mtu = 0;  // MTU code, 1 = 256 … 5 = 4096 bytes. 0: nothing gets through.
  fabric::RateRank rate = 0;

  explicit operator bool() const { return mtu != 0; }
  friend Carriage Least(Carriage a, Carriage b) {
    return {a.mtu < b.mtu ? a.mtu : b.mtu, a.rate < b.rate ? a.rate : b.rate};
  }
  friend bool operator==(const Carriage&, const Carriage&) = default;
};
// Sets no bounds.
inline constexpr Carriage kAnyCarriage{63, fabric::kTopRate};

// By what this end says. What is not known of a link is taken to be the least there is.
Carriage CarriageOfEnd(const fabric::Port& port);
// The lesser of both ends.
Carriage CarriageOf(const fabric::FabricSnapshot& snapshot, const fabric::Port& port);

// Of a switch's management port, which has no link: by what it shows of itself; what it
// does not show bounds nothing.
Carriage CarriageOfPort0(const fabric::Port& port);

struct EndPort {
  PortRef ref;
  Guid guid;
  uint16_t base_lid = 0;
  uint8_t lmc = 0;
  bool isolated = false;
  routing::LidPlace place;  // Where it leaves the switches; nowhere: on no switch.
  PortRef peer;             // What is at the other end of its cable.
  Carriage link;            // Of its link; of port 0 of a switch, its own MTU.
  PKeySets::Set p_keys = 0;

  uint32_t lid_end() const { return base_lid + (1u << lmc); }
};

class EndPorts {
 public:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  EndPorts() = default;
  // In any order; sorted here by LID.
  explicit EndPorts(std::vector<EndPort> ports);

  uint32_t size() const { return static_cast<uint32_t>(ports_.size()); }
  const EndPort& operator[](uint32_t number) const { return ports_[number]; }
  // kNone: no living port has it. Any LID of a port's range finds it.
  uint32_t FindLid(Lid lid) const {
    return lid.value() < by_lid_.size() ? by_lid_[lid.value()] : kNone;
  }
  uint32_t FindGuid(Guid guid) const {
    const auto found = by_guid_.find(guid);
    return found == by_guid_.end() ? kNone : found->second;
  }

 private:
  std::vector<EndPort> ports_;
  std::vector<uint32_t> by_lid_;  // [LID]
  absl::flat_hash_map<Guid, uint32_t> by_guid_;
};

}  // namespace fabricd::sa
