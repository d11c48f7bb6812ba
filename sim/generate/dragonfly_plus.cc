// SPDX-License-Identifier: Apache-2.0
#include "sim/generate/dragonfly_plus.h"

#include <algorithm>

#include "common/status.h"

namespace fabricd::sim {
namespace {

constexpr int kMaxGroups = 65'535;

struct GroupShape {
  int radix = 0;
  int global_links = 0;
};

absl::StatusOr<GroupShape> ShapeOf(const DragonflyPlusSpec& spec) {
  FABRICD_RETURN_IF_ERROR(CheckRange("groups", spec.groups, 2, kMaxGroups));
  FABRICD_RETURN_IF_ERROR(CheckRange("leaves", spec.leaves, 1, kMaxRadix));
  FABRICD_RETURN_IF_ERROR(CheckRange("spines", spec.spines, 1, kMaxRadix));
  FABRICD_RETURN_IF_ERROR(CheckRange("hosts", spec.hosts, 1, kMaxRadix));
  const int links = spec.global_links == 0 ? spec.spines : spec.global_links;
  FABRICD_RETURN_IF_ERROR(CheckRange("global-links", links, 1, kMaxRadix * kMaxRadix));
  const int64_t of_group = static_cast<int64_t>(links) * (spec.groups - 1);
  const int64_t of_spine = (of_group + spec.spines - 1) / spec.spines;
  const absl::StatusOr<int> leaf =
      RadixFor(spec.radix, spec.hosts + spec.spines,
               fmt::format("hosts {} and spines {}", spec.hosts, spec.spines));
  if (!leaf.ok()) return leaf.status();
  const absl::StatusOr<int> spine =
      RadixFor(spec.radix, spec.leaves + of_spine,
               fmt::format("leaves {} and global-links {} to {} groups", spec.leaves, links,
                           spec.groups - 1));
  if (!spine.ok()) return spine.status();
  const int64_t leaves = static_cast<int64_t>(spec.groups) * spec.leaves;
  FABRICD_RETURN_IF_ERROR(CheckNodes(fmt::format("groups {}", spec.groups),
                                     leaves + static_cast<int64_t>(spec.groups) * spec.spines,
                                     leaves * spec.hosts));
  return GroupShape{std::max(*leaf, *spine), links};
}

struct Group {
  std::vector<NodeIndex> leaves, spines;
};

Group BuildGroup(const DragonflyPlusSpec& spec, int radix, int group, FabricBuilder& builder) {
  Group built;
  for (int i = 0; i < spec.leaves; ++i) {
    built.leaves.push_back(builder.AddSwitch(SwitchGuid(1, group, i), radix,
                                             fmt::format("group{}-leaf{}", group + 1, i + 1)));
  }
  for (int i = 0; i < spec.spines; ++i) {
    built.spines.push_back(builder.AddSwitch(SwitchGuid(2, group, i), radix,
                                             fmt::format("group{}-spine{}", group + 1, i + 1)));
  }
  for (int leaf = 0; leaf < spec.leaves; ++leaf) {
    for (int spine = 0; spine < spec.spines; ++spine) {
      builder.Cable(built.leaves[static_cast<size_t>(leaf)], spec.hosts + spine + 1,
                    built.spines[static_cast<size_t>(spine)], leaf + 1);
    }
  }
  return built;
}

// Each group numbers its global cables, those to the first other group first, and deals them out
// to its spines in turn.
void JoinGroups(const DragonflyPlusSpec& spec, int links, const std::vector<Group>& groups,
                FabricBuilder& builder) {
  for (int a = 0; a < spec.groups; ++a) {
    for (int b = a + 1; b < spec.groups; ++b) {
      for (int cable = 0; cable < links; ++cable) {
        const int number_a = (b - 1) * links + cable, number_b = a * links + cable;
        builder.Cable(
            groups[static_cast<size_t>(a)].spines[static_cast<size_t>(number_a % spec.spines)],
            spec.leaves + number_a / spec.spines + 1,
            groups[static_cast<size_t>(b)].spines[static_cast<size_t>(number_b % spec.spines)],
            spec.leaves + number_b / spec.spines + 1);
      }
    }
  }
}

}  // namespace

std::vector<Parameter> DragonflyPlusParameters(DragonflyPlusSpec& spec) {
  return {
      {"groups", "Groups of leaves and spines", &spec.groups},
      {"leaves", "Leaves of each group", &spec.leaves},
      {"spines", "Spines of each group", &spec.spines},
      {"hosts", "Hosts of each leaf", &spec.hosts},
      {"global-links", "Cables between each pair of groups; 0: one per spine", &spec.global_links},
      {"radix", "Ports of each switch; 0: as many as are in use", &spec.radix},
      SpeedParameter(spec.speed)};
}

SnapshotOr GenerateDragonflyPlus(const DragonflyPlusSpec& spec) {
  const absl::StatusOr<GroupShape> shape = ShapeOf(spec);
  if (!shape.ok()) return shape.status();
  FabricBuilder builder(spec.speed);
  std::vector<Group> groups;
  for (int i = 0; i < spec.groups; ++i) {
    groups.push_back(BuildGroup(spec, shape->radix, i, builder));
  }
  JoinGroups(spec, shape->global_links, groups, builder);
  int host = 1;
  for (const Group& group : groups) {
    for (NodeIndex leaf : group.leaves) {
      builder.AddHosts(leaf, host, spec.hosts);
      host += spec.hosts;
    }
  }
  return builder.Build();
}

}  // namespace fabricd::sim
