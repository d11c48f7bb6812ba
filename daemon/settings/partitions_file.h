// SPDX-License-Identifier: Apache-2.0
// The file of partitions that the configuration names: read as a whole or not at all.
#pragma once

#include <string>

#include <absl/status/statusor.h>

#include "policy/partition_state.h"

namespace fabricd::daemon {

// A request that replaces all partitions by those of the file; its digest tells one text from
// another. Warnings are logged. kInvalidArgument lists all faults with their lines; other codes: it
// cannot be read, or is too large.
absl::StatusOr<policy::PartitionRequest> ReadPartitionsFile(const std::string& path);

}  // namespace fabricd::daemon
