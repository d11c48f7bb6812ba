// SPDX-License-Identifier: Apache-2.0
// TopologyService.WatchTopology. Any thread.
#pragma once

#include "daemon/rpc/read_model.h"
#include "daemon/rpc/topology_delta.h"
#include "daemon/rpc/watch_stream.h"
#include "fabric/v1/topology_service.pb.h"

namespace fabricd::rpc {

using TopologyStream = WatchStream<pb::WatchTopologyResponse>;

// What a request asks for. Errors carry their ErrorInfo. The arguments outlive the stream.
absl::StatusOr<std::shared_ptr<TopologyStream>> MakeTopologyStream(
    Models& models, TopologyDeltas& deltas, const pb::WatchTopologyRequest& request);

}  // namespace fabricd::rpc
