// SPDX-License-Identifier: Apache-2.0
// Answers in the line shapes of infiniband-diags, for scripts that read those. Pure.
#pragma once

#include <string>

#include "fabric/v1/telemetry_service.pb.h"
#include "fabric/v1/topology_service.pb.h"

namespace fabricd::cli {

// As `ibroute LID`.
std::string ToIbroute(const ::fabric::v1::GetForwardingTableResponse& table);
// As `ibtracert FROM TO`, one block for each path.
std::string ToIbtracert(const ::fabric::v1::TracePathResponse& trace);
// As `perfquery LID PORT`: what the device has counted.
std::string ToPerfquery(const ::fabric::v1::PortCounters& port);
// As `ibqueryerrors`, with increases in place of what devices have counted.
std::string ToIbqueryerrors(const ::fabric::v1::ListErrorsResponse& errors);

}  // namespace fabricd::cli
