// SPDX-License-Identifier: Apache-2.0
#include "sim/topology.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "common/status.h"
#include "fabric/ibnetdiscover_text.h"
#include "sim/generate.h"

namespace fabricd::sim {

absl::StatusOr<std::shared_ptr<const fabric::FabricSnapshot>> MakeTopology(
    const std::string& spec) {
  if (IsGeneratorSpec(spec)) return Generate(spec);
  std::ifstream file(spec, std::ios::binary);
  if (!file) {
    const char* reason = std::strerror(errno);
    return NotFound("topology '{}': {}; the generators, each KIND:KEY=VALUE,…, are {}", spec,
                    reason, GeneratorNames());
  }
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad() || text.empty())
    return InvalidArgument("topology '{}' is empty or unreadable", spec);
  fabric::ReadResult read = fabric::ReadTopology(text);
  if (!read.status.ok()) return InvalidArgument("topology '{}': {}", spec, Message(read.status));
  return read.snapshot;
}

}  // namespace fabricd::sim
