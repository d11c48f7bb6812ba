// SPDX-License-Identifier: Apache-2.0
// What `--fabric sim:SPEC` names: a generator or a file. The only part of sim/ that reads files.
#pragma once

#include <memory>
#include <string>

#include <absl/status/statusor.h>

#include "fabric/snapshot.h"

namespace fabricd::sim {

// What a topology file holds. kNotFound with the system's reason; kInvalidArgument: nothing could
// be read. The messages do not name the file.
absl::StatusOr<std::string> ReadTopologyText(const std::string& path);

// `spec` is what follows "sim:": a generator ("superpod:sus=1,hosts=8,rails=4", see generate.h) or
// the path of an ibnetdiscover or ibsim text file ("./superpod" for a file that is named as a
// generator is). kNotFound: no such file; kInvalidArgument: a bad parameter, or the line that
// cannot be read.
absl::StatusOr<std::shared_ptr<const fabric::FabricSnapshot>> MakeTopology(const std::string& spec);

}  // namespace fabricd::sim
