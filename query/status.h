// SPDX-License-Identifier: Apache-2.0
// The error model of the API, without gRPC (daemon/rpc/convert/grpc_status.h). An error is an
// absl::Status; its details (google.rpc.*) are payloads under their type URLs. Texts may be of any
// bytes and length: what is not UTF-8 is shown as '?', what is too long for gRPC's metadata is cut.
// Pure.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <absl/status/status.h>

namespace google::rpc {
class Status;
}

namespace fabricd::query {

inline constexpr char kErrorDomain[] = "fabric.v1";

// An error with its ErrorInfo. `reason` is a constant in UPPER_SNAKE_CASE.
absl::Status MakeError(absl::StatusCode code, const std::string& reason, const std::string& message,
                       const std::map<std::string, std::string>& metadata = {});
// INVALID_ARGUMENT with a BadRequest that names the field.
absl::Status BadField(const std::string& field, const std::string& message,
                      const std::string& reason = "INVALID_REQUEST");
// INVALID_ARGUMENT with a BadRequest of these violations, a field and what is wrong with it each.
absl::Status BadFields(const std::vector<std::pair<std::string, std::string>>& violations,
                       const std::string& message, const std::string& reason,
                       const std::map<std::string, std::string>& metadata);
// NOT_FOUND with a ResourceInfo. `type` is "node", "port", "host", …; the reason is NODE_NOT_FOUND,
// …. Of an empty name, BadField(`type`): nothing was named.
absl::Status NoSuch(const std::string& type, const std::string& name,
                    const std::string& message = "");
// RESOURCE_EXHAUSTED with a QuotaFailure: what `subject` may have is used up.
absl::Status OverQuota(const std::string& subject, const std::string& message,
                       const std::string& reason,
                       const std::map<std::string, std::string>& metadata);
// FAILED_PRECONDITION of a command that the core refuses: GUARD_REFUSED with a PreconditionFailure
// and metadata `guard` when the message begins with 'guard "NAME"', else NOT_MASTER.
absl::Status GuardRefusal(const std::string& message);
// UNAVAILABLE with a RetryInfo.
absl::Status TryLater(const std::string& reason, const std::string& message,
                      std::chrono::milliseconds delay);

// Gives `status` an ErrorInfo with this reason unless it has one. OK stays OK.
absl::Status WithReason(absl::Status status, const std::string& reason);

// The error as a message, ErrorInfo first: clients that read one detail read that. An error without
// ErrorInfo gets one with its code's name as the reason. REQUIRES: it is an error.
google::rpc::Status ToRpcStatus(const absl::Status& status);

}  // namespace fabricd::query
