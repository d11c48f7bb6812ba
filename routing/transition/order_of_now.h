// SPDX-License-Identifier: Apache-2.0
// The channel dependencies of the paths that packets may take now, in an order compatible with
// them.
#pragma once

#include <memory>

#include "routing/graph/channel_order.h"
#include "routing/transition/link_channels.h"
#include "routing/transition/push_plan.h"
#include "routing/transition/push_view.h"

namespace fabricd::routing {

// Null: they make a cycle.
std::unique_ptr<const ChannelOrder> OrderOfNow(const PushInput& push, const PushView& view,
                                               const LinkChannels& channels);

}  // namespace fabricd::routing
