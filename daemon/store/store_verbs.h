// SPDX-License-Identifier: Apache-2.0
// `fabricd store export|import|migrate`: copies and moves what must survive, while no fabricd uses
// the store (an export may be made at any time).
#pragma once

#include <string>

#include <absl/status/statusor.h>

#include "config/config.h"

namespace CLI {
class App;
}

namespace fabricd::daemon {

struct StoreCommand {
  std::string verb;  // "export", "import", "migrate"; empty: none was given.
  std::string file;
  std::string to;          // Of migrate: "etcd" or "sqlite".
  bool from_copy = false;  // From the copy in the state directory, and not from etcd.
  bool replace = false;    // What is in the target.
};

void DeclareStoreVerbs(CLI::App& cli, StoreCommand& command);

// What was done, in a sentence. Errors tell operators what to do; they change nothing, except that
// an import into SQLite that ends halfway has to be repeated before fabricd starts.
absl::StatusOr<std::string> Carry(const StoreCommand& command, const config::Config& config);

}  // namespace fabricd::daemon
