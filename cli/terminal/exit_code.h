// SPDX-License-Identifier: Apache-2.0
// fabricctl's exit codes (DESIGN §4) and the error type of its commands.
#pragma once

#include <string>

#include <grpcpp/support/status.h>

namespace fabricd::cli {

enum ExitCode : int {
  kOk = 0,
  kFailure = 1,  // Findings, or a failure that is none of the others.
  kUsage = 2,
  kNotFound = 3,
  kUnavailable = 4,  // No daemon, not ready, or no answer in time.
  kPermission = 5,
  kRefused = 6,  // A precondition or a guard.
};

// How a command ended. Not OK: `message` is for people; empty: what was printed says it.
struct [[nodiscard]] Result {
  ExitCode code = kOk;
  std::string message;
  bool ok() const { return code == kOk; }
};

// The code and text of a failed call; kOk for OK. `server` is named where nobody answers there.
Result ToResult(const grpc::Status& status, const std::string& server);
// Of a refusal by a node that waits beside the master: where that one's API is. Empty: it is none,
// or does not say.
std::string MasterOf(const grpc::Status& status);

}  // namespace fabricd::cli
