// SPDX-License-Identifier: Apache-2.0
// Between PlanService's messages and what its answers are computed from. Pure.
#pragma once

#include <string>

#include <absl/status/statusor.h>

#include "fabric/v1/plan_service.pb.h"
#include "query/read_model.h"
#include "query/what_if.h"

namespace fabricd::rpc {

// Errors carry their ErrorInfo and name the field.
absl::StatusOr<query::WhatIf> ReadWhatIf(const query::ReadModel& model,
                                         const ::fabric::v1::PreviewChangeRequest& request);
void ToProto(const query::ReadModel& model, const query::WhatIfAnswer& answer,
             ::fabric::v1::PreviewChangeResponse* out);

absl::Status AnalyzeJob(const query::ReadModel& model,
                        const ::fabric::v1::AnalyzeJobRequest& request,
                        ::fabric::v1::AnalyzeJobResponse* out);

// `text` empty: only the rules.
absl::Status ValidateWiring(const query::ReadModel& model, const std::string& text,
                            ::fabric::v1::ValidateWiringResponse* out);

}  // namespace fabricd::rpc
