// SPDX-License-Identifier: Apache-2.0
// What makes a generated fabric less ideal, drawn by seed: hosts and HCAs left out, misplaced
// and failed cables, slow cables, switches cabled in no order. Applied to a whole snapshot, so
// every kind of fabric has it. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <absl/status/statusor.h>

#include "fabric/snapshot.h"
#include "sim/generate/parameters.h"

namespace fabricd::sim {

// Each draws a stream of its own from `seed`: one does not change what another picks. They are
// applied in this order.
struct Decoration {
  double fill = 1;          // Fraction of the hosts that are there, spread evenly over the leaves.
  double missing_hcas = 0;  // Fraction of the HCAs that are gone, their hosts' others stay.
  int swap_cables = 0;      // Pairs of HCAs on different switches whose cables are exchanged.
  int fail_links = 0;       // Cables between switches that are gone. The fabric may fall apart.
  double mixed_speeds = 0;  // Fraction of the cables between switches one generation slower.
  bool permute_ports = false;  // Of every switch, ports 1 and up are numbered anew.
  uint64_t seed = 1;

  friend bool operator==(const Decoration&, const Decoration&) = default;
};

// Bound to the fields of `decoration`.
std::vector<Parameter> DecorationParameters(Decoration& decoration);

// `fabric` itself when there is nothing to do; else a first generation with nodes in the same
// order. kInvalidArgument names the field that does not fit and what would.
absl::StatusOr<std::shared_ptr<const fabric::FabricSnapshot>> Decorate(
    std::shared_ptr<const fabric::FabricSnapshot> fabric, const Decoration& decoration);

// The fabric without these cables, each named by either of its ends, and without these nodes; a
// first generation.
std::shared_ptr<const fabric::FabricSnapshot> Remove(const fabric::FabricSnapshot& fabric,
                                                     const std::vector<PortRef>& cables,
                                                     const std::vector<NodeIndex>& nodes);

}  // namespace fabricd::sim
