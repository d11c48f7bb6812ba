// SPDX-License-Identifier: Apache-2.0
// What verdicts are about, by name: for the series and for the page. Pure.
#pragma once

#include <string>

#include "fabric/names.h"
#include "query/verdict_view.h"

namespace fabricd::http {

// Of the node, link or family that the finding is about: "leaf1", "leaf1/3 - spine1/7",
// "0x0002c9/4129 revision 0x0"; empty: of everything. The snapshot may lack the node:
// its GUID.
std::string SubjectOf(const policy::CommonFinding& finding, const fabric::FabricSnapshot& snapshot,
                      const fabric::NodeNameMap& names);

}  // namespace fabricd::http
