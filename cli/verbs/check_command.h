// SPDX-License-Identifier: Apache-2.0
// `check node`: one line and an exit code for health checks: Slurm's HealthCheckProgram,
// Kubernetes' node-problem-detector.
#pragma once

#include <string>

#include "cli/verbs/globals.h"

namespace fabricd::cli {

struct CheckOptions {
  std::string host;
  bool problem_detector = false;  // Its exit codes: 0 well, 1 not well, 2 unknown.
  bool allow_degraded = false;    // DEGRADED is well.
};

// The longest line that node-problem-detector keeps, in bytes.
inline constexpr size_t kCheckLine = 80;

struct Verdict {
  enum Word { kWell = 0, kIll = 1, kUnknown = 2 } word = kUnknown;
  std::string line;  // At most kCheckLine bytes.
};
// Pure.
Verdict Judge(const pb::HostReadiness& host, const CheckOptions& options);

// Prints one line always. With `problem_detector` an error is unknown too; else kFailure: not well,
// kNotFound: nobody knows it.
Result Check(Client& client, const CheckOptions& options);

}  // namespace fabricd::cli
