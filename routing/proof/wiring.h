// SPDX-License-Identifier: Apache-2.0
// Wiring: the fabric as the judges of a plan (verifier.h, order_proof.h) read it from the snapshot.
// It shares no code with the engines' SwitchGraph, so that a mistake there cannot hide itself here.
// Immutable once made; may be read by many threads. Switches are numbered by GUID.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "fabric/lid_table.h"
#include "fabric/snapshot.h"

namespace fabricd::routing {

// Where a port of a switch leads.
struct Far {
  static constexpr uint32_t kDead = std::numeric_limits<uint32_t>::max(), kEndPort = kDead - 1;
  uint32_t node = kDead;  // Switch number, or one of the above.
  uint32_t channel = 0;   // To a switch: of the link in this direction, named by its receiving end:
                          // switch * last_port() + port - 1.
  bool IsSwitch() const { return node < kEndPort; }
};

// The switch and its port at which a LID leaves the switches; port 0: the switch's own.
struct Place {
  static constexpr uint32_t kNowhere = std::numeric_limits<uint32_t>::max();
  uint32_t at = kNowhere;
  uint8_t port = 0;
};

class Wiring {
 public:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  // Both must outlive the wiring.
  Wiring(const fabric::FabricSnapshot& snapshot, const fabric::LidTable& lids);

  uint32_t size() const { return static_cast<uint32_t>(switches_.size()); }
  NodeIndex node(uint32_t s) const { return switches_[s]->index; }
  // kNone: no living switch.
  uint32_t number(NodeIndex node) const {
    return node.value() < number_.size() ? number_[node.value()] : kNone;
  }
  // First LID that its table cannot hold (LinearFDBCap).
  uint32_t lid_limit(uint32_t s) const;
  const Far& far(uint32_t s, uint8_t port) const { return far_[size_t{s} * 256 + port]; }
  // kNowhere: no living switch leads to this LID.
  Place place(size_t lid) const { return lid < places_.size() ? places_[lid] : Place{}; }
  // One more than the highest LID of the fabric.
  size_t lid_end() const { return places_.size(); }
  // Lowest switch that this one is connected to.
  uint32_t component(uint32_t s) const { return component_[s]; }
  // Highest port in use on a link.
  uint8_t last_port() const { return last_port_; }

  std::string Name(uint32_t s) const;
  std::string LidName(size_t lid) const;
  std::string PeerName(uint32_t s, uint8_t port) const;

 private:
  const fabric::Node* LivePeer(const fabric::Port& port) const;
  void ReadPorts(uint32_t s);
  void FindComponents();
  Place FindPlace(PortRef owner) const;

  const fabric::FabricSnapshot& snapshot_;
  const fabric::LidTable& lids_;
  std::vector<const fabric::Node*> switches_;  // By GUID.
  std::vector<uint32_t> number_;               // [NodeIndex]
  std::vector<Far> far_;                       // [switch * 256 + port]
  std::vector<uint32_t> component_;            // [switch]
  std::vector<Place> places_;                  // [LID]
  uint8_t last_port_ = 0;
};

}  // namespace fabricd::routing
