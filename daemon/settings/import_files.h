// SPDX-License-Identifier: Apache-2.0
// OpenSM's configuration from the disk.
#pragma once

#include <string>

#include <absl/status/statusor.h>

#include "config/opensm_import.h"

namespace fabricd::daemon {

// `path`: opensm.conf, or the directory that has it; the files beside it are taken along. A
// directory may lack opensm.conf where it has partitions.conf: OpenSM runs without. kNotFound:
// there is nothing to import.
absl::StatusOr<config::OpensmFiles> ReadOpensmFiles(const std::string& path);

}  // namespace fabricd::daemon
