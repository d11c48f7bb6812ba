// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/exit_code.h"

#include <fmt/format.h>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace fabricd::cli {
namespace {

// Without a reason when the error did not come from a fabricd.
google::rpc::ErrorInfo InfoOf(const grpc::Status& status) {
  google::rpc::Status details;
  if (!details.ParseFromString(status.error_details())) return {};
  for (const auto& any : details.details()) {
    google::rpc::ErrorInfo info;
    if (any.Is<google::rpc::ErrorInfo>() && any.UnpackTo(&info)) return info;
  }
  return {};
}

ExitCode CodeOf(const grpc::Status& status) {
  switch (status.error_code()) {
    case grpc::StatusCode::OK: return kOk;
    case grpc::StatusCode::INVALID_ARGUMENT: return kUsage;
    case grpc::StatusCode::NOT_FOUND: return kNotFound;
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::DEADLINE_EXCEEDED: return kUnavailable;
    case grpc::StatusCode::PERMISSION_DENIED:
    case grpc::StatusCode::UNAUTHENTICATED: return kPermission;
    case grpc::StatusCode::FAILED_PRECONDITION:
    case grpc::StatusCode::RESOURCE_EXHAUSTED: return kRefused;
    default: return kFailure;
  }
}

}  // namespace

std::string MasterOf(const grpc::Status& status) {
  if (status.error_code() != grpc::StatusCode::FAILED_PRECONDITION) return {};
  const google::rpc::ErrorInfo info = InfoOf(status);
  const auto found = info.metadata().find("master_endpoint");
  return info.reason() == "NOT_MASTER" && found != info.metadata().end() ? found->second : "";
}

Result ToResult(const grpc::Status& status, const std::string& server) {
  if (status.ok()) return {};
  const std::string reason = InfoOf(status).reason();
  if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED && reason.empty()) {
    return {kUnavailable, fmt::format("no answer from {} in time (--timeout)", server)};
  }
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE && reason.empty()) {
    return {kUnavailable,
            fmt::format("cannot reach fabricd at {}: {}", server, status.error_message())};
  }
  if (status.error_code() == grpc::StatusCode::CANCELLED) {
    return {kUnavailable, fmt::format("fabricd at {} is stopping, or starts again", server)};
  }
  if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED && reason.empty()) {
    return {kFailure, "this fabricd does not serve that call (faults need --fabric sim:…)"};
  }
  return {CodeOf(status), status.error_message()};
}

}  // namespace fabricd::cli
