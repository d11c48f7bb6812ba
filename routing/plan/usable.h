// SPDX-License-Identifier: Apache-2.0
// UsableFabric: the fabric as routes may use it, that is, what was observed without what the Intent
// closes. A snapshot like any other, so engines, repair and proofs need not know of intents; the
// observed one is never edited, and untouched nodes are shared with it.
//
//   closed link, disabled port, isolated end port   is not linked
//   closed switch    becomes an end node on one of its neighbours: its own LID is reached, no way
//                    leads through it, and a plan has no table for it: what the device holds is
//                    left alone, so what is under way inside it still gets out. Hosts on it are cut
//                    off
//   avoided link     is not linked, unless parts of the fabric that hold end ports, or a switch
//                    that would not be reached, are connected by nothing else: then all that join
//                    them are back
//   avoided switch   the same for all its links at once; one that is not needed counts as closed,
//                    like a switch without end ports all of whose links are avoided
//
// Pure.
#pragma once

#include <memory>
#include <vector>

#include "fabric/intent.h"
#include "fabric/lid_table.h"
#include "fabric/snapshot.h"

namespace fabricd::routing {

struct UsableFabric {
  // Where nothing is taken away these are the very objects given, which must outlive this.
  std::shared_ptr<const fabric::FabricSnapshot> snapshot;
  // A closed switch's LID belongs to the port by which it hangs; that of an isolated switch to
  // nobody.
  std::shared_ptr<const fabric::LidTable> lids;
  std::vector<NodeIndex> closed;  // Switches that are end nodes here. Sorted, as all of these.
  // Avoided, but nothing else is left: links by their lower end.
  std::vector<PortRef> needed_links;
  std::vector<NodeIndex> needed_switches;
  // Ports of switches that are linked and up in fact, but not in here: an entry of an older plan
  // that is left on one of them would be obeyed.
  std::vector<PortRef> cut;
};

UsableFabric MakeUsable(const fabric::FabricSnapshot& snapshot, const fabric::LidTable& lids,
                        const fabric::Intent& intent);

// Whether a node of a usable fabric is a switch that stands in it as an end node.
inline bool IsClosedSwitch(const fabric::Node& node) {
  return !node.IsSwitch() && !node.ports.empty() && node.ports[0].known;
}

}  // namespace fabricd::routing
