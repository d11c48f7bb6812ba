// SPDX-License-Identifier: Apache-2.0
// Snapshots: the contents of a store as one SQLite file of the same schema, for backups. Any store
// can be exported to one and imported from one.
#pragma once

#include <string>

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include "store/contents.h"

namespace fabricd::store {

// The contents of a snapshot, or of the fabricd.db of a state directory, also while a fabricd uses
// it. The file is not changed. NOT_FOUND, DATA_LOSS, FAILED_PRECONDITION (newer schema),
// UNAVAILABLE.
absl::StatusOr<Contents> ReadSnapshot(const std::string& path);

// Replaces the file, or leaves the old one. `origin`: a line about where the contents are from.
absl::Status WriteSnapshot(const Contents& contents, const std::string& origin,
                           const std::string& path);

}  // namespace fabricd::store
