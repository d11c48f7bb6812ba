// SPDX-License-Identifier: Apache-2.0
// What fabricplan plans for: a topology file, with links and nodes taken away as the command line
// says, and LIDs given as fabricd gives them. Files are read here and nowhere else in plan/.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <absl/status/statusor.h>

#include "fabric/lid_table.h"
#include "fabric/snapshot.h"

namespace fabricd::plan {

using Snapshot = std::shared_ptr<const fabric::FabricSnapshot>;

struct TopologyFile {
  Snapshot snapshot;
  std::string remark;  // Of lines that were left out; empty: none.
};
// kNotFound, or kInvalidArgument with the line that cannot be read.
absl::StatusOr<TopologyFile> ReadTopologyFile(const std::string& path);

struct Damage {
  std::string links;  // "12", or "5%" of the cables between switches; empty: none.
  uint64_t seed = 1;
  // "NODE[PORT]" and "NODE/PORT": that cable; "NODE": the node; "HOST": all its adapters.
  std::vector<std::string> named;
};
// First what is named, then the links drawn by seed. kInvalidArgument or kNotFound names what does
// not fit.
absl::StatusOr<Snapshot> Fail(const Snapshot& fabric, const Damage& damage);

// `now` as a later generation of `before`: the nodes of both keep their index.
Snapshot ContinueFrom(const fabric::FabricSnapshot& before, const fabric::FabricSnapshot& now);

// As fabricd gives them to a fabric it sees for the first time: those that the file tells first.
// `earlier` may be null; the end ports it has keep theirs. kInvalidArgument: there are not enough.
absl::StatusOr<fabric::LidTable> GiveLids(const fabric::FabricSnapshot& snapshot, uint8_t lmc,
                                          const fabric::FabricSnapshot* before,
                                          const fabric::LidTable* earlier);

}  // namespace fabricd::plan
