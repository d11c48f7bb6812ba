// SPDX-License-Identifier: Apache-2.0
// RailNumbers: the index by which `rail` spreads destinations over the links (slots.h).
// Each leaf of a scalable unit (SU) has a window of indices that starts at a multiple of its number
// of up links, and all HCAs of a host have the same place in the windows of their leaves. Where a
// leaf serves at most as many ports as it has up links, each of them then has a down link of its
// own, and flows that leave a leaf meet only if the places of their destinations agree modulo that
// number; so rings of whole hosts, and shifts and exchanges among neighbouring hosts or among the
// same places of all SUs, never meet on any rail, and a rail that lacks HCAs changes nothing on the
// others. The windows follow one another in topological order, so that on an intact tree shifts
// over all end ports do not meet either.
//
// A missing host or HCA leaves a hole: the place of a host is that of its leaf port, as far as the
// hosts of an SU have the same port on all their leaves. An SU whose leaves are filled at most half
// is packed, so that holes at regular distances leave no link idle; packed SUs take turns in using
// the up links.
#pragma once

#include <cstdint>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "fabric/rails.h"
#include "routing/graph/graph.h"
#include "routing/graph/levels.h"

namespace fabricd::routing {

class RailNumbers {
 public:
  static constexpr uint32_t kNowhere = UINT32_MAX;

  // What is known of the graph of one connected component, in the order of PlanBuilder::graphs().
  struct Component {
    const SwitchGraph* graph;
    std::vector<uint32_t> up_links;         // [switch] Slots for cables upwards; 0: none.
    std::vector<Destination> destinations;  // In topological order, with topological indices.
  };
  // All references must outlive the numbers.
  RailNumbers(const fabric::FabricSnapshot& snapshot, const fabric::Rails& rails,
              const std::vector<Component>& components);

  // The component's destinations in the same order, hosts with the index described above. Those
  // that belong to no SU take holes where they hang on a leaf of one, else they follow after all
  // SUs.
  std::vector<Destination> Number(size_t component) const;

 private:
  struct At {
    size_t component = 0;
    uint32_t position = kNowhere;  // Of the switch in topological order.
    uint32_t up_links = 0;
    uint32_t unit = kNowhere;
  };
  struct Place {
    uint32_t unit, place;  // Misplaced: no unit.
  };
  struct Shape {
    uint32_t width = 1;  // Of the windows of its leaves.
    uint32_t step = 1;   // At multiples of which they start.
  };
  std::vector<uint32_t> UnitsInOrder() const;
  uint32_t UpLinksOf(const fabric::RailUnit& unit) const;
  uint32_t FullestLeaf(const fabric::RailUnit& unit) const;
  std::vector<uint32_t> ByPort(const fabric::RailUnit& unit) const;
  void PlaceByPort(const fabric::RailUnit& unit, uint32_t up_links, bool packed);
  void PlaceUnits();

  const fabric::Rails& rails_;
  const std::vector<Component>& components_;
  std::vector<At> at_;             // [NodeIndex]
  std::vector<uint32_t> ends_on_;  // [NodeIndex] End ports of hosts.
  std::vector<uint32_t> port_of_;  // [host] The leaf port it has on most of its leaves.
  uint32_t first_port_ = 0;        // Lowest of all.
  std::vector<uint32_t> place_;    // [host]
  absl::flat_hash_map<PortRef, Place> place_of_;  // End ports on their leaf, and misplaced ones.
  std::vector<Shape> shape_;                      // [unit]
};

}  // namespace fabricd::routing
