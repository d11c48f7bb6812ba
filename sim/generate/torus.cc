// SPDX-License-Identifier: Apache-2.0
#include "sim/generate/torus.h"

#include <array>
#include <string>
#include <utility>

#include <fmt/ranges.h>

#include "common/status.h"

namespace fabricd::sim {
namespace {

constexpr int kMaxSize = 255;

// Two dimensions are three, of which the last has size 1 and no cables.
using Coordinates = std::array<int, 3>;

struct Grid {
  Coordinates size = {1, 1, 1};
  int parallel = 0, radix = 0;
  // [dimension]: the port before the first cable to the next and to the previous switch.
  Coordinates up = {}, down = {};

  size_t Index(const Coordinates& at) const {
    return static_cast<size_t>((at[2] * size[1] + at[1]) * size[0] + at[0]);
  }
};

absl::StatusOr<Grid> GridOf(const TorusSpec& spec) {
  Grid grid;
  if (spec.dims.size() < 2 || spec.dims.size() > 3) {
    return InvalidArgument("dims of {} numbers: 2 or 3, such as 4x4x4", spec.dims.size());
  }
  FABRICD_RETURN_IF_ERROR(CheckRange("hosts", spec.hosts, 1, kMaxRadix));
  FABRICD_RETURN_IF_ERROR(CheckRange("parallel", spec.parallel, 1, kMaxRadix));
  grid.parallel = spec.parallel;
  int ports = spec.hosts;
  int64_t switches = 1;
  for (size_t i = 0; i < spec.dims.size(); ++i) {
    const int size = spec.dims[i];
    if (size < 2 || size > kMaxSize) {
      return InvalidArgument("dims {}: each from 2 to {}", fmt::join(spec.dims, "x"), kMaxSize);
    }
    grid.size[i] = size;
    switches *= size;
    grid.up[i] = ports;
    grid.down[i] = size == 2 ? ports : ports + spec.parallel;
    ports = grid.down[i] + spec.parallel;
  }
  const absl::StatusOr<int> radix =
      RadixFor(spec.radix, ports,
               fmt::format("hosts {}, parallel {} and dims {}", spec.hosts, spec.parallel,
                           fmt::join(spec.dims, "x")));
  if (!radix.ok()) return radix.status();
  grid.radix = *radix;
  FABRICD_RETURN_IF_ERROR(CheckNodes("dims", switches, switches * spec.hosts));
  return grid;
}

template <typename Visit>
void ForEachSwitch(const Grid& grid, Visit&& visit) {
  for (int z = 0; z < grid.size[2]; ++z) {
    for (int y = 0; y < grid.size[1]; ++y) {
      for (int x = 0; x < grid.size[0]; ++x) visit(Coordinates{x, y, z});
    }
  }
}

}  // namespace

std::vector<Parameter> TorusParameters(TorusSpec& spec) {
  return {{"dims", "Switches in each dimension, two or three, such as 4x4x4", &spec.dims},
          {"hosts", "Hosts of each switch", &spec.hosts},
          {"parallel", "Cables between adjacent switches", &spec.parallel},
          {"radix", "Ports of each switch; 0: as many as are in use", &spec.radix},
          SpeedParameter(spec.speed)};
}

SnapshotOr GenerateTorus(const TorusSpec& spec) {
  const absl::StatusOr<Grid> grid = GridOf(spec);
  if (!grid.ok()) return grid.status();
  FabricBuilder builder(spec.speed);
  std::vector<NodeIndex> switches;
  ForEachSwitch(*grid, [&](const Coordinates& at) {
    std::string name = fmt::format("switch-{}-{}", at[0], at[1]);
    if (spec.dims.size() == 3) name += fmt::format("-{}", at[2]);
    switches.push_back(
        builder.AddSwitch(SwitchGuid(at[2], at[1], at[0]), grid->radix, std::move(name)));
  });
  ForEachSwitch(*grid, [&](const Coordinates& at) {
    for (size_t dimension = 0; dimension < spec.dims.size(); ++dimension) {
      const int size = grid->size[dimension];
      if (size == 2 && at[dimension] == 1) continue;  // Its neighbour has cabled the pair.
      Coordinates next = at;
      next[dimension] = (at[dimension] + 1) % size;
      for (int cable = 1; cable <= spec.parallel; ++cable) {
        builder.Cable(switches[grid->Index(at)], grid->up[dimension] + cable,
                      switches[grid->Index(next)], grid->down[dimension] + cable);
      }
    }
  });
  for (size_t i = 0; i < switches.size(); ++i) {
    builder.AddHosts(switches[i], static_cast<int>(i) * spec.hosts + 1, spec.hosts);
  }
  return builder.Build();
}

}  // namespace fabricd::sim
