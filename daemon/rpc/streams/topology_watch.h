// SPDX-License-Identifier: Apache-2.0
// TopologyService.WatchTopology. Any thread.
#pragma once

#include "daemon/base/models.h"
#include "daemon/rpc/streams/topology_delta.h"
#include "daemon/rpc/streams/watch_stream.h"
#include "fabric/v1/topology_service.pb.h"
#include "query/read_model.h"

namespace fabricd::rpc {

using TopologyStream = WatchStream<pb::WatchTopologyResponse>;

// What a request asks for. Errors carry their ErrorInfo. The arguments outlive the stream.
absl::StatusOr<std::shared_ptr<TopologyStream>> MakeTopologyStream(
    daemon::Models& models, TopologyDeltas& deltas, const pb::WatchTopologyRequest& request);

}  // namespace fabricd::rpc
