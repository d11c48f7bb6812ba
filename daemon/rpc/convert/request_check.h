// SPDX-License-Identifier: Apache-2.0
// What every request must fulfil, whatever its method, read off its descriptor: enums have values
// that exist, lists of texts have no empty ones, and texts no control characters, which would reach
// the terminals of whoever reads them. The gate asks this for each call (guarded_service.h), so
// that no handler can forget to. Pure.
#pragma once

#include <string_view>

#include <absl/status/status.h>
#include <google/protobuf/message.h>

namespace fabricd::rpc {

// Whole files, which have lines: full names of their fields. REQUIRES: each is a field of the API;
// a test says which is not.
inline constexpr std::string_view kDocumentFields[] = {
    "fabric.v1.ImportOpensmRequest.conf",
    "fabric.v1.ImportOpensmRequest.files",
    "fabric.v1.ValidateConfigRequest.yaml",
};

// INVALID_ARGUMENT that names each field that is wrong, the first ten of them.
absl::Status CheckRequest(const google::protobuf::Message& request);

}  // namespace fabricd::rpc
