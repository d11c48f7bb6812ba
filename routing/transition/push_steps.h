// SPDX-License-Identifier: Apache-2.0
// The last thing tried before anything that works is taken away: the entries one by one. An entry
// may be written as soon as the whole new path behind it is written and nothing that it adds makes
// packets wait for each other in a circle, with all that there is by then, other entries that are
// being written old and new. All that may be written at once is one step; what old entries made
// packets wait for is gone when the step is done, which lets others follow. So each entry is
// written once, and at no time is any pair without a path that had one.
//
// It takes whatever it can take first and looks no further ahead. On one lane only.
#pragma once

#include <cstdint>
#include <vector>

#include "routing/transition/channel_dependency_graph.h"
#include "routing/transition/push_view.h"

namespace fabricd::routing {

struct PushSteps {
  // By step, then block, then switch: entries of LIDs of `groups` that are neither done nor taken
  // away. Empty: some of them cannot be written so, or it would take more than `most` work.
  std::vector<std::vector<PushView::Changed>> steps;
  std::vector<PushView::Changed> stuck;  // Those, by block, then switch.
};
// `work` counts entries and channels looked at. REQUIRES: what packets wait for as it is, by the
// state of `groups`, has no circle.
PushSteps FindPushSteps(const PushInput& input, const PushView& view,
                        const std::vector<BlockChange>& groups, const ChannelDependencyGraph& now,
                        uint64_t most, uint64_t& work);

}  // namespace fabricd::routing
