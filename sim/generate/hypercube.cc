// SPDX-License-Identifier: Apache-2.0
#include "sim/generate/hypercube.h"

#include "common/status.h"

namespace fabricd::sim {
namespace {

constexpr int kMaxDimensions = 16;

}  // namespace

std::vector<Parameter> HypercubeParameters(HypercubeSpec& spec) {
  return {
      {"dimensions", "Cables of each switch to others; 2^dimensions switches", &spec.dimensions},
      {"hosts", "Hosts of each switch", &spec.hosts},
      {"radix", "Ports of each switch; 0: as many as are in use", &spec.radix},
      SpeedParameter(spec.speed)};
}

SnapshotOr GenerateHypercube(const HypercubeSpec& spec) {
  FABRICD_RETURN_IF_ERROR(CheckRange("dimensions", spec.dimensions, 1, kMaxDimensions));
  FABRICD_RETURN_IF_ERROR(CheckRange("hosts", spec.hosts, 1, kMaxRadix));
  const absl::StatusOr<int> radix =
      RadixFor(spec.radix, spec.hosts + spec.dimensions,
               fmt::format("hosts {} and dimensions {}", spec.hosts, spec.dimensions));
  if (!radix.ok()) return radix.status();
  const int count = 1 << spec.dimensions;
  FABRICD_RETURN_IF_ERROR(CheckNodes(fmt::format("dimensions {}", spec.dimensions), count,
                                     static_cast<int64_t>(count) * spec.hosts));
  FabricBuilder builder(spec.speed);
  std::vector<NodeIndex> switches;
  for (int i = 0; i < count; ++i) {
    switches.push_back(builder.AddSwitch(SwitchGuid(i), *radix, fmt::format("switch{}", i)));
  }
  for (int i = 0; i < count; ++i) {
    for (int bit = 0; bit < spec.dimensions; ++bit) {
      const int other = i ^ 1 << bit;
      if (other < i) continue;
      builder.Cable(switches[static_cast<size_t>(i)], spec.hosts + bit + 1,
                    switches[static_cast<size_t>(other)], spec.hosts + bit + 1);
    }
  }
  for (int i = 0; i < count; ++i) {
    builder.AddHosts(switches[static_cast<size_t>(i)], i * spec.hosts + 1, spec.hosts);
  }
  return builder.Build();
}

}  // namespace fabricd::sim
