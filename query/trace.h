// SPDX-License-Identifier: Apache-2.0
// Follows a plan's forwarding tables from an end port to a LID, as a packet would. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/ids.h"
#include "query/read_model.h"

namespace fabricd::query {

struct TraceHop {
  NodeIndex node;
  std::optional<PortNum> ingress;  // None at the source.
  std::optional<PortNum> egress;   // None where the packet ends.
};

struct Trace {
  std::vector<TraceHop> hops;  // Begins with the source's node.
  bool reachable = false;
  std::string stopped;  // Why it is not; empty when it is.
};

// REQUIRES: the model has a plan; `source` is an end port of its snapshot.
Trace TracePath(const ReadModel& model, PortRef source, Lid destination);

}  // namespace fabricd::query
