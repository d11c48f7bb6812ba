// SPDX-License-Identifier: Apache-2.0
#include "sim/generate/fat_tree.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/status.h"

namespace fabricd::sim {
namespace {

constexpr int kMaxLevels = 8;

int CeilDiv(int a, int b) { return (a + b - 1) / b; }

struct TreeShape {
  int radix = 0;  // Even: the ports in use of a switch.
  int levels = 0, pods = 0, parallel = 0;
  int leaf_down = 0, leaf_up = 0, half = 0;
  std::vector<int> below;  // [level]: children of a switch of that level within a pod.
  std::vector<int> above;  // [level]: parents of a switch of the level below, within a pod.
  int top_up = 0;          // Uplinks of a pod's topmost switches.
  int planes = 0, cores_per_plane = 0;

  int SwitchesInPod(int level) const {
    int count = 1;
    for (int i = 2; i <= level; ++i) count *= above[static_cast<size_t>(i)];
    for (int i = level + 1; i < levels; ++i) count *= below[static_cast<size_t>(i)];
    return count;
  }
  // Parents of one position of `level` in a pod: switches that share all digits of the subtree.
  int Columns(int level) const {
    int count = 1;
    for (int i = 2; i <= level; ++i) count *= above[static_cast<size_t>(i)];
    return count;
  }
};

absl::Status CheckFatTree(const FatTreeSpec& spec) {
  FABRICD_RETURN_IF_ERROR(CheckRange("radix", spec.radix, 2, kMaxRadix));
  FABRICD_RETURN_IF_ERROR(CheckRange("levels", spec.levels, 2, kMaxLevels));
  if (!(spec.oversubscription > 0)) {
    return InvalidArgument("oversubscription {}: above 0", spec.oversubscription);
  }
  if (spec.parallel < 1) return InvalidArgument("parallel {}: 1 or more", spec.parallel);
  return absl::OkStatus();
}

// Too many nodes, or more switches side by side than their GUIDs can tell apart.
absl::Status CheckSize(const TreeShape& shape) {
  const std::string what = fmt::format("radix {} with {} levels", shape.radix, shape.levels);
  double in_pod = shape.leaf_down;  // HCAs; in doubles, which do not overflow.
  for (int level = 2; level < shape.levels; ++level) {
    in_pod *= shape.below[static_cast<size_t>(level)];
  }
  if (in_pod * shape.pods > kMaxNodes) {
    return InvalidArgument("{}: more than {} nodes", what, kMaxNodes);
  }
  int64_t switches = static_cast<int64_t>(shape.planes) * shape.cores_per_plane;
  int most = std::max(shape.planes, shape.cores_per_plane);
  for (int level = 1; level < shape.levels; ++level) {
    switches += static_cast<int64_t>(shape.pods) * shape.SwitchesInPod(level);
    most = std::max(most, shape.SwitchesInPod(level));
  }
  if (most > 65'536) return InvalidArgument("{}: {} switches in one tier of a pod", what, most);
  return CheckNodes(what, switches, static_cast<int64_t>(in_pod) * shape.pods);
}

absl::StatusOr<TreeShape> ShapeOf(const FatTreeSpec& spec) {
  FABRICD_RETURN_IF_ERROR(CheckFatTree(spec));
  TreeShape shape;
  shape.radix = spec.radix - spec.radix % 2;
  shape.levels = spec.levels;
  shape.parallel = spec.parallel;
  shape.half = shape.radix / 2;
  shape.leaf_up = static_cast<int>(std::lround(shape.radix / (spec.oversubscription + 1)));
  shape.leaf_down = shape.radix - shape.leaf_up;
  if (shape.leaf_up < 1 || shape.leaf_down < 1) {
    return InvalidArgument(
        "oversubscription {} leaves a leaf of radix {} with {} host ports and {} "
        "uplinks",
        spec.oversubscription, spec.radix, shape.leaf_down, shape.leaf_up);
  }
  const int parallel = spec.parallel;
  if (shape.leaf_up % parallel != 0 || (spec.levels > 2 && shape.half % parallel != 0)) {
    return InvalidArgument("parallel {}: must divide the {} uplinks of a leaf{}", parallel,
                           shape.leaf_up,
                           spec.levels > 2 ? fmt::format(" and radix/2 = {}", shape.half) : "");
  }
  const int most_pods = shape.radix / parallel;
  shape.pods = spec.pods == 0 ? most_pods : spec.pods;
  if (shape.pods < 1 || shape.pods > most_pods) {
    return InvalidArgument("pods {}: from 1 to {} (radix / parallel)", spec.pods, most_pods);
  }
  shape.below.assign(static_cast<size_t>(spec.levels), shape.half / parallel);
  shape.above.assign(static_cast<size_t>(spec.levels), shape.half / parallel);
  if (spec.levels > 2) shape.above[2] = shape.leaf_up / parallel;
  shape.top_up = spec.levels == 2 ? shape.leaf_up : shape.half;
  shape.planes = shape.Columns(spec.levels - 1);
  shape.cores_per_plane = CeilDiv(shape.pods * shape.top_up, shape.radix);
  FABRICD_RETURN_IF_ERROR(CheckSize(shape));
  return shape;
}

std::string TreeSwitchName(const TreeShape& shape, int level, int pod, int index) {
  if (shape.levels == 2) return fmt::format("leaf{}", pod + 1);
  if (level == 1) return fmt::format("pod{}-leaf{}", pod + 1, index + 1);
  if (level == 2 && shape.levels == 3) return fmt::format("pod{}-spine{}", pod + 1, index + 1);
  return fmt::format("pod{}-tier{}-{}", pod + 1, level, index + 1);
}

// The switches of one pod, by level from 1, cabled among themselves. A switch of level l is (a, b):
// which subtree above it, and which of the parallel columns; index = a * columns + b.
std::vector<std::vector<NodeIndex>> BuildPod(const TreeShape& shape, int ports, int pod,
                                             FabricBuilder& builder) {
  std::vector<std::vector<NodeIndex>> tiers(static_cast<size_t>(shape.levels));
  for (int level = 1; level < shape.levels; ++level) {
    for (int i = 0; i < shape.SwitchesInPod(level); ++i) {
      tiers[static_cast<size_t>(level)].push_back(builder.AddSwitch(
          SwitchGuid(level, pod, i), ports, TreeSwitchName(shape, level, pod, i)));
    }
  }
  for (int level = 1; level + 1 < shape.levels; ++level) {
    const auto& lower = tiers[static_cast<size_t>(level)];
    const auto& upper = tiers[static_cast<size_t>(level + 1)];
    const int columns = shape.Columns(level), upper_columns = shape.Columns(level + 1);
    const int children = shape.below[static_cast<size_t>(level + 1)];
    const int parents = shape.above[static_cast<size_t>(level + 1)];
    const int down = level == 1 ? shape.leaf_down : shape.half;
    for (int i = 0; i < static_cast<int>(lower.size()); ++i) {
      const int a = i / columns, b = i % columns;
      for (int j = 0; j < parents; ++j) {
        const int parent = (a / children) * upper_columns + b + columns * j;
        for (int cable = 0; cable < shape.parallel; ++cable) {
          builder.Cable(lower[static_cast<size_t>(i)], down + j * shape.parallel + cable + 1,
                        upper[static_cast<size_t>(parent)],
                        (a % children) * shape.parallel + cable + 1);
        }
      }
    }
  }
  return tiers;
}

// The top tier: the uplinks of plane p of all pods are dealt out to the cores of that plane.
void BuildCores(const TreeShape& shape, int ports,
                const std::vector<std::vector<NodeIndex>>& pod_tops, FabricBuilder& builder) {
  const int down = shape.levels == 2 ? shape.leaf_down : shape.half;
  for (int plane = 0; plane < shape.planes; ++plane) {
    std::vector<NodeIndex> cores;
    for (int c = 0; c < shape.cores_per_plane; ++c) {
      const int number = plane * shape.cores_per_plane + c + 1;
      cores.push_back(
          builder.AddSwitch(SwitchGuid(shape.levels, plane, c), ports,
                            fmt::format("{}{}", shape.levels == 2 ? "spine" : "core", number)));
    }
    std::vector<int> used(cores.size(), 0);
    int dealt = 0;
    for (const std::vector<NodeIndex>& tops : pod_tops) {
      for (int up = 0; up < shape.top_up; ++up) {
        const size_t core = static_cast<size_t>(dealt++ % shape.cores_per_plane);
        builder.Cable(tops[static_cast<size_t>(plane)], down + up + 1, cores[core], ++used[core]);
      }
    }
  }
}

}  // namespace

std::vector<Parameter> FatTreeParameters(FatTreeSpec& spec) {
  return {{"radix", "Ports of each switch", &spec.radix},
          {"levels", "Tiers of switches", &spec.levels},
          {"pods", "Subtrees below the top tier (leaves, with 2 levels); 0: as many as fit",
           &spec.pods},
          {"oversubscription", "Host ports per uplink of a leaf", &spec.oversubscription},
          {"parallel", "Cables between adjacent switches", &spec.parallel},
          SpeedParameter(spec.speed)};
}

SnapshotOr GenerateFatTree(const FatTreeSpec& spec) {
  const absl::StatusOr<TreeShape> shape = ShapeOf(spec);
  if (!shape.ok()) return shape.status();
  FabricBuilder builder(spec.speed);
  std::vector<NodeIndex> leaves;
  std::vector<std::vector<NodeIndex>> tops;
  for (int pod = 0; pod < shape->pods; ++pod) {
    std::vector<std::vector<NodeIndex>> tiers = BuildPod(*shape, spec.radix, pod, builder);
    leaves.insert(leaves.end(), tiers[1].begin(), tiers[1].end());
    tops.push_back(std::move(tiers[static_cast<size_t>(spec.levels - 1)]));
  }
  BuildCores(*shape, spec.radix, tops, builder);
  int host = 1;
  for (NodeIndex leaf : leaves) {
    builder.AddHosts(leaf, host, shape->leaf_down);
    host += shape->leaf_down;
  }
  return builder.Build();
}

}  // namespace fabricd::sim
