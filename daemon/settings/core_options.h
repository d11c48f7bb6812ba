// SPDX-License-Identifier: Apache-2.0
// The core's view of a configuration.
#pragma once

#include <string>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include <absl/status/statusor.h>

#include "config/config.h"
#include "sweep/interface/options.h"

namespace fabricd::daemon {

// Of the files that the configuration names. kInvalidArgument: one cannot be read, or what is wrong
// in it; the message begins with the key.
absl::StatusOr<absl::flat_hash_map<Guid, MKey>> ReadMKeys(const config::Sm& sm);
// The secret of sm.m_key_secret_file, without blanks at its ends; empty: there is none. An error
// does not repeat any of it.
absl::StatusOr<std::string> ReadMKeySecret(const config::Sm& sm);
absl::StatusOr<std::vector<Guid>> ReadRoots(const config::Routing& routing);

// With the files that the configuration names read. An error says which cannot be read or what is
// wrong in it.
absl::StatusOr<sweep::CoreOptions> ToCoreOptions(const config::Config& config);

}  // namespace fabricd::daemon
