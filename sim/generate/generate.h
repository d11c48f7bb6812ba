// SPDX-License-Identifier: Apache-2.0
// sim/generate: fabrics made from parameters.
//
// Topology generators by name, as FabricSnapshots of devices that no subnet manager has touched
// (LID 0, links INIT). Pure and deterministic: GUIDs and names depend on the parameters' shape
// only, so the same node keeps its GUID when the fabric grows. The kinds are in generate/kinds.h,
// what each of them can have (failed cables, permuted ports, …) in decorate.h.
#pragma once

#include <memory>
#include <string>

#include <absl/status/statusor.h>

#include "fabric/snapshot.h"

namespace fabricd::sim {

// KIND:KEY=VALUE,… or a KIND alone: "superpod:sus=1,hosts=8,rails=4",
// "torus:dims=4x4x4,fail-links=3,permute-ports". kInvalidArgument: no such kind or key, a value
// that is none, or one that does not fit; the message names it and what would.
absl::StatusOr<std::shared_ptr<const fabric::FabricSnapshot>> Generate(const std::string& spec);
// Whether the text before the first ':' is the KIND of a generator.
bool IsGeneratorSpec(const std::string& spec);
// "fat-tree, superpod, …"
std::string GeneratorNames();

}  // namespace fabricd::sim
