// SPDX-License-Identifier: Apache-2.0
// Writes of one LID in several stages, some of its switches in each, nearest to its owner first.
#pragma once

#include <cstdint>
#include <vector>

#include "routing/transition/channel_dependency_graph.h"
#include "routing/transition/push_view.h"

namespace fabricd::routing {

// The switches of each stage; none: it does not go that way. `group`, `i`: the LID. `others`: the
// dependencies of all other LIDs. Channels looked at are added to `steps_taken`, up to
// `most_steps`.
std::vector<std::vector<uint32_t>> FindLidSteps(const PushView& view, const BlockChange& group,
                                                uint32_t i, const ChannelDependencyGraph& others,
                                                uint64_t most_steps, uint64_t& steps_taken);

}  // namespace fabricd::routing
