// SPDX-License-Identifier: Apache-2.0
// The whole fabric as one text, in pieces.
#pragma once

#include <memory>

#include "daemon/rpc/streams/reactors.h"
#include "fabric/v1/topology_service.pb.h"
#include "query/read_model.h"

namespace fabricd::rpc {

// The pieces of the text. INVALID_ARGUMENT for a format that is not one.
absl::StatusOr<NextPiece<::fabric::v1::GetTopologyResponse>> ExportTopology(
    std::shared_ptr<const query::ReadModel> model, ::fabric::v1::TopologyFormat format);

}  // namespace fabricd::rpc
