// SPDX-License-Identifier: Apache-2.0
// Whether hosts can take jobs, from one view: what schedulers ask before they place any. Pure.
#pragma once

#include <string>

#include "fabric/v1/remediation_service.pb.h"
#include "query/read_model.h"

namespace fabricd::rpc {

// Of a host by its name; one that is not on the fabric is LOST when it was since the start, else
// UNKNOWN, or HELD when a hold reaches it or reached it when the hold was made.
void FillReadiness(const ReadModel& model, const std::string& host,
                   ::fabric::v1::HostReadiness* out);

}  // namespace fabricd::rpc
