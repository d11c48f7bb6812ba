// SPDX-License-Identifier: Apache-2.0
// Intent: what operators and health rules want of the fabric, beside what is there. Made by policy/
// from holds and flap damping, obeyed by routing/ (which ways may be used) and by sweep/ (which
// ports are to be down). The snapshot is never edited for it (DESIGN §1). Node indices are stable
// over generations, so an Intent outlives snapshots; what it names may be gone for a while.
//
// A link is named by either or both of its ends; all lists are sorted and without repetition, so
// that equal intents compare equal.
#pragma once

#include <vector>

#include "common/ids.h"

namespace fabricd::fabric {

struct Intent {
  // Links that no route may use. They stay up.
  std::vector<PortRef> closed_links;
  // Links to be used only where nothing else is left.
  std::vector<PortRef> avoided_links;
  // Links that are avoided for a while only, whether they are up or down at the moment: what is
  // planned for longer is planned as if they were there, and goes round them by the least change.
  // Both ends, the lower one first; sorted. One end of each is in avoided_links as well.
  struct Link {
    PortRef a, b;
    friend auto operator<=>(const Link&, const Link&) = default;
  };
  std::vector<Link> flapping_links;
  // Switches that no route may lead through; their own LIDs stay reachable.
  std::vector<NodeIndex> closed_switches;
  // The same, but for those that nothing else connects.
  std::vector<NodeIndex> avoided_switches;
  // End ports that no route leads to.
  std::vector<PortRef> isolated;
  // End ports that are out of all partitions.
  std::vector<PortRef> unpartitioned;
  // Ports of switches that are to be physically down.
  std::vector<PortRef> disabled;
  // Ports of switches that were disabled by this SM and are to be enabled again. A port that
  // somebody else has disabled is in neither list, and is left as it is.
  std::vector<PortRef> reenabled;

  bool empty() const { return *this == Intent(); }
  friend bool operator==(const Intent&, const Intent&) = default;
};

}  // namespace fabricd::fabric
