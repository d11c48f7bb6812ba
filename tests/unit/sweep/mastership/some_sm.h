// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sweep/interface/view.h"

namespace fabricd::sweep {

// An SM as a sweep finds it. All are on the port of one node, which tests can give a path.
inline RemoteSm SomeSm(uint64_t guid, wire::SmState state) {
  RemoteSm sm;
  sm.guid = Guid(guid);
  sm.state = state;
  sm.port = {NodeIndex(3), PortNum(1)};
  return sm;
}

}  // namespace fabricd::sweep
