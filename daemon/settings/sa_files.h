// SPDX-License-Identifier: Apache-2.0
// The files of Subnet Administration that the configuration names, read as a whole or not at all.
// kInvalidArgument: the message begins with the key and lists the faults with their lines.
#pragma once

#include <absl/status/statusor.h>

#include "config/config.h"
#include "sa/import/opensm_dump.h"
#include "sa/view/prefix_routes.h"

namespace fabricd::daemon {

// sm.prefix_routes_file; none: no routes.
absl::StatusOr<sa::PrefixRoutes> ReadPrefixRoutes(const config::Sm& sm);
// sm.sa_db_file; none: an empty dump.
absl::StatusOr<sa::OpensmDump> ReadSaDump(const config::Sm& sm);

}  // namespace fabricd::daemon
