// SPDX-License-Identifier: Apache-2.0
#include "sim/fabric/topology.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "common/status.h"
#include "fabric/ibnetdiscover_text.h"
#include "sim/generate/generate.h"

namespace fabricd::sim {

absl::StatusOr<std::string> ReadTopologyText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return NotFound("{}", std::strerror(errno));
  // A directory can be opened, but reading it throws; this operator catches that.
  std::ostringstream text;
  text << file.rdbuf();
  std::string result = std::move(text).str();
  if (result.empty()) return InvalidArgument("empty or unreadable");
  return result;
}

absl::StatusOr<std::shared_ptr<const fabric::FabricSnapshot>> MakeTopology(
    const std::string& spec) {
  if (IsGeneratorSpec(spec)) return Generate(spec);
  const absl::StatusOr<std::string> text = ReadTopologyText(spec);
  if (absl::IsNotFound(text.status()))
    return NotFound("topology '{}': {}; the generators, each KIND:KEY=VALUE,…, are {}", spec,
                    Message(text.status()), GeneratorNames());
  if (!text.ok()) return InvalidArgument("topology '{}': {}", spec, Message(text.status()));
  fabric::ReadResult read = fabric::ReadTopology(*text);
  if (!read.status.ok()) return InvalidArgument("topology '{}': {}", spec, Message(read.status));
  return read.snapshot;
}

}  // namespace fabricd::sim
