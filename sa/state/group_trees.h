// SPDX-License-Identifier: Apache-2.0
// What multicast trees are to be made for.
#pragma once

#include "fabric/multicast_groups.h"
#include "sa/state/client_state.h"

namespace fabricd::sa {

fabric::MulticastGroups TreesOf(const ClientState::Groups& groups,
                                const fabric::AliasGuids& aliases);

}  // namespace fabricd::sa
