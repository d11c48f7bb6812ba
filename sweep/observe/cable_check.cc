// SPDX-License-Identifier: Apache-2.0
#include "sweep/observe/cable_check.h"

#include <fmt/format.h>

#include "fabric/rails.h"

namespace fabricd::sweep {

std::vector<Problem> FindMisplacedCables(const fabric::FabricSnapshot& snapshot,
                                         const fabric::HostPatterns& patterns) {
  const fabric::Rails rails = fabric::FindRails(snapshot, fabric::FindHosts(snapshot, patterns));
  std::vector<Problem> problems;
  for (const fabric::MisplacedEnd& end : rails.misplaced)
    problems.push_back(
        {ProblemKind::kMisplacedCable,
         ProblemSubject::Named(fmt::format("{} {}", rails.hosts[end.host].name, end.device)),
         fabric::DescribePlaces(end, snapshot)});
  return problems;
}

}  // namespace fabricd::sweep
