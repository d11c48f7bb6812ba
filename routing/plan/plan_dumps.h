// SPDX-License-Identifier: Apache-2.0
// The dump files of a plan, in OpenSM's formats (DESIGN §4): what fabricd and fabricplan write, so
// that ibdmchk can judge both.
#pragma once

#include <functional>
#include <string_view>

#include "fabric/lid_table.h"
#include "fabric/opensm_dumps.h"
#include "fabric/snapshot.h"
#include "routing/plan/multicast_plan.h"
#include "routing/plan/plan.h"

namespace fabricd::routing {

// The sink of the file of that name; it takes the file's text in pieces until the next one is
// asked for.
using OpenDump = std::function<fabric::TextSink(std::string_view name)>;

// With more than one lane also opensm-path-sl.dump and opensm-sl2vl.dump. `sm_node` is marked as
// OpenSM marks its own; None(): nobody is.
void WriteDumps(const fabric::FabricSnapshot& snapshot, const fabric::LidTable& lids,
                const RoutingPlan& plan, const MulticastPlan& multicast, NodeIndex sm_node,
                const OpenDump& open);

}  // namespace fabricd::routing
