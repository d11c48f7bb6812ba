// SPDX-License-Identifier: Apache-2.0
#include "sim/generate/superpod.h"

#include <algorithm>
#include <utility>

#include "common/status.h"

namespace fabricd::sim {
namespace {

int CeilDiv(int a, int b) { return (a + b - 1) / b; }

// Smallest divisor d ≥ least of `links` such that `switches` below need at most `ports` ports of
// each of d switches above; 0: none.
int SwitchesAbove(int links, int switches, int ports, int least) {
  for (int count = least; count <= links; ++count) {
    if (links % count == 0 && switches * (links / count) <= ports) return count;
  }
  return 0;
}

struct PodShape {
  int radix = 0, uplinks = 0;
  bool three_tiers = false;
  int groups_per_rail = 0;  // Three tiers.
  int spines = 0;           // Of the fabric (two tiers) or of each group.
  int spine_up = 0, cores_per_plane = 0;
};

absl::StatusOr<PodShape> ShapeOf(const SuperPodSpec& spec) {
  for (const auto& [name, value] :
       {std::pair("sus", spec.sus), std::pair("hosts", spec.hosts_per_su),
        std::pair("rails", spec.rails)}) {
    if (value < 1) return InvalidArgument("{} {}: 1 or more", name, value);
  }
  if (spec.hosts_per_su > kMaxRadix) {
    return InvalidArgument("hosts {}: at most {}, a leaf has one port for each", spec.hosts_per_su,
                           kMaxRadix);
  }
  PodShape shape;
  shape.radix = spec.radix != 0 ? spec.radix : std::max(64, 2 * spec.hosts_per_su);
  shape.uplinks = spec.uplinks != 0 ? spec.uplinks : spec.hosts_per_su;
  if (shape.radix < 2 || shape.radix > kMaxRadix) {
    return InvalidArgument("radix {}: from 2 to {}", shape.radix, kMaxRadix);
  }
  if (spec.rails > 255) return InvalidArgument("rails {}: at most 255", spec.rails);
  if (shape.uplinks < 1 || shape.uplinks > shape.radix - spec.hosts_per_su) {
    return InvalidArgument("{} hosts and {} uplinks do not fit a leaf of radix {}",
                           spec.hosts_per_su, shape.uplinks, shape.radix);
  }
  if (static_cast<int64_t>(spec.sus) * spec.hosts_per_su * spec.rails > kMaxNodes ||
      spec.sus > 65535) {
    return InvalidArgument("{} SUs of {} hosts with {} rails: more than {} nodes", spec.sus,
                           spec.hosts_per_su, spec.rails, kMaxNodes);
  }
  // No fabric hangs on a single spine.
  const int least = std::min(2, shape.uplinks);
  shape.spines = SwitchesAbove(shape.uplinks, spec.sus * spec.rails, shape.radix, least);
  if (shape.spines != 0) return shape;

  shape.three_tiers = true;
  shape.groups_per_rail = CeilDiv(spec.sus, shape.radix / 2);
  const int leaves = CeilDiv(spec.sus, shape.groups_per_rail);
  shape.spines = SwitchesAbove(shape.uplinks, leaves, shape.radix / 2, least);
  if (shape.spines != 0) {
    shape.spine_up = leaves * (shape.uplinks / shape.spines);
    const int groups = spec.rails * shape.groups_per_rail;
    shape.cores_per_plane = SwitchesAbove(shape.spine_up, groups, shape.radix, 1);
  }
  if (shape.cores_per_plane == 0) {
    return InvalidArgument(
        "{} SUs with {} rails do not fit three tiers of radix {} with {} uplinks per "
        "leaf; a larger radix, or a number of uplinks with more divisors, would",
        spec.sus, spec.rails, shape.radix, shape.uplinks);
  }
  return shape;
}

// Spreads the uplinks of each leaf evenly over the spines: parallel cables to the same spine side
// by side.
void CableTier(const std::vector<NodeIndex>& lower, int first_port, int links,
               const std::vector<NodeIndex>& upper, FabricBuilder& builder) {
  const int parallel = links / static_cast<int>(upper.size());
  for (size_t i = 0; i < lower.size(); ++i) {
    for (size_t j = 0; j < upper.size(); ++j) {
      for (int cable = 0; cable < parallel; ++cable) {
        builder.Cable(lower[i], first_port + static_cast<int>(j) * parallel + cable, upper[j],
                      static_cast<int>(i) * parallel + cable + 1);
      }
    }
  }
}

void BuildTwoTiers(const SuperPodSpec& spec, const PodShape& shape,
                   const std::vector<std::vector<NodeIndex>>& leaves, FabricBuilder& builder) {
  std::vector<NodeIndex> all;
  for (int su = 0; su < spec.sus; ++su) {
    for (const auto& rail : leaves) all.push_back(rail[static_cast<size_t>(su)]);
  }
  std::vector<NodeIndex> spines;
  for (int spine = 0; spine < shape.spines; ++spine) {
    spines.push_back(
        builder.AddSwitch(SwitchGuid(2, 0, spine), shape.radix, fmt::format("spine{}", spine + 1)));
  }
  CableTier(all, spec.hosts_per_su + 1, shape.uplinks, spines, builder);
}

void BuildThreeTiers(const SuperPodSpec& spec, const PodShape& shape,
                     const std::vector<std::vector<NodeIndex>>& leaves, FabricBuilder& builder) {
  std::vector<std::vector<NodeIndex>> planes(static_cast<size_t>(shape.spines));
  for (int rail = 0; rail < spec.rails; ++rail) {
    for (int group = 0; group < shape.groups_per_rail; ++group) {
      const auto& of_rail = leaves[static_cast<size_t>(rail)];
      const auto begin =
          of_rail.begin() + static_cast<ptrdiff_t>(group) * spec.sus / shape.groups_per_rail;
      const auto end =
          of_rail.begin() + static_cast<ptrdiff_t>(group + 1) * spec.sus / shape.groups_per_rail;
      std::vector<NodeIndex> spines;
      for (int spine = 0; spine < shape.spines; ++spine) {
        const std::string name =
            shape.groups_per_rail == 1
                ? fmt::format("rail{}-spine{}", rail, spine + 1)
                : fmt::format("rail{}-group{}-spine{}", rail, group + 1, spine + 1);
        spines.push_back(
            builder.AddSwitch(SwitchGuid(2, rail << 8 | group, spine), shape.radix, name));
        planes[static_cast<size_t>(spine)].push_back(spines.back());
      }
      CableTier({begin, end}, spec.hosts_per_su + 1, shape.uplinks, spines, builder);
    }
  }
  for (int plane = 0; plane < shape.spines; ++plane) {
    std::vector<NodeIndex> cores;
    for (int core = 0; core < shape.cores_per_plane; ++core) {
      cores.push_back(
          builder.AddSwitch(SwitchGuid(3, plane, core), shape.radix,
                            fmt::format("core{}", plane * shape.cores_per_plane + core + 1)));
    }
    CableTier(planes[static_cast<size_t>(plane)], shape.radix - shape.spine_up + 1, shape.spine_up,
              cores, builder);
  }
}

}  // namespace

std::vector<Parameter> SuperPodParameters(SuperPodSpec& spec) {
  return {{"sus", "Scalable units", &spec.sus},
          {"hosts", "Hosts of each unit", &spec.hosts_per_su, "hosts-per-su"},
          {"rails", "HCAs of each host, leaves of each unit", &spec.rails},
          {"radix", "Ports of each switch; 0: 64, or more where hosts need it", &spec.radix},
          {"uplinks", "Uplinks of each leaf; 0: one per host of the unit", &spec.uplinks},
          SpeedParameter(spec.speed)};
}

SnapshotOr GenerateSuperPod(const SuperPodSpec& spec) {
  const absl::StatusOr<PodShape> shape = ShapeOf(spec);
  if (!shape.ok()) return shape.status();
  FabricBuilder builder(spec.speed);
  std::vector<std::vector<NodeIndex>> leaves(static_cast<size_t>(spec.rails));  // [rail][su]
  for (int su = 0; su < spec.sus; ++su) {
    for (int rail = 0; rail < spec.rails; ++rail) {
      leaves[static_cast<size_t>(rail)].push_back(builder.AddSwitch(
          SwitchGuid(1, su, rail), shape->radix, fmt::format("su{}-rail{}-leaf", su + 1, rail)));
    }
  }
  if (shape->three_tiers) {
    BuildThreeTiers(spec, *shape, leaves, builder);
  } else {
    BuildTwoTiers(spec, *shape, leaves, builder);
  }
  for (int su = 0; su < spec.sus; ++su) {
    for (int host = 0; host < spec.hosts_per_su; ++host) {
      for (int rail = 0; rail < spec.rails; ++rail) {
        builder.Cable(builder.AddHca(su * spec.hosts_per_su + host + 1, rail), 1,
                      leaves[static_cast<size_t>(rail)][static_cast<size_t>(su)], host + 1);
      }
    }
  }
  return builder.Build();
}

}  // namespace fabricd::sim
