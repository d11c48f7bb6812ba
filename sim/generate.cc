// SPDX-License-Identifier: Apache-2.0
#include "sim/generate.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "common/status.h"
#include "fabric/snapshot_builder.h"
#include "sim/link_rate.h"

namespace fabricd::sim {
namespace {

using fabric::FabricSnapshot;
using fabric::SnapshotBuilder;
using wire::LinkSpeed;

using SnapshotOr = absl::StatusOr<std::shared_ptr<const FabricSnapshot>>;

constexpr int kMaxRadix = 254;  // 255 means "no path" in a forwarding table.
constexpr int kMaxLevels = 8;
constexpr int64_t kMaxNodes = 200'000;
constexpr int kLanes = 4;
constexpr uint32_t kVendor = 0x2C9;
// Locally administered EUI-64s: switches by tier, group and index; HCAs by host and rail. The low
// byte of an HCA's GUID is free for its port GUID (node GUID + port number, as ibsim makes them).
constexpr uint64_t kSwitchGuids = 0x02FAB0ull << 40;
constexpr uint64_t kHostGuids = 0x02FAB1ull << 40;

Guid SwitchGuid(int tier, int group, int index) {
  return Guid(kSwitchGuids | static_cast<uint64_t>(tier) << 32 |
              static_cast<uint64_t>(group) << 16 | static_cast<uint64_t>(index));
}

Guid HostGuid(int host, int rail) {
  return Guid(kHostGuids | static_cast<uint64_t>(host) << 16 | static_cast<uint64_t>(rail) << 8);
}

uint16_t DeviceId(bool is_switch, LinkSpeed speed) {
  if (speed >= LinkSpeed::kXdr) return is_switch ? 0xD2F4 : 0x1023;
  if (speed >= LinkSpeed::kNdr) return is_switch ? 0xD2F2 : 0x1021;
  if (speed >= LinkSpeed::kHdr) return is_switch ? 0xD2F0 : 0x101B;
  if (speed >= LinkSpeed::kEdr) return is_switch ? 0xCB20 : 0x1013;
  return is_switch ? 0xC738 : 0x1011;
}

// The fabric as it is built: nodes, and cables between the next free or named ports.
class Builder {
 public:
  explicit Builder(LinkSpeed speed) : speed_(speed) {}

  NodeIndex AddSwitch(Guid guid, int ports, std::string description) {
    return Add(wire::NodeType::kSwitch, guid, guid, ports, std::move(description));
  }
  NodeIndex AddHca(int host, int rail) {
    return Add(wire::NodeType::kChannelAdapter, HostGuid(host, rail), HostGuid(host, 0), 1,
               fmt::format("node{:04} mlx5_{}", host, rail));
  }
  void Cable(NodeIndex a, int port_a, NodeIndex b, int port_b) {
    const PortRef ends[] = {{a, PortNum(static_cast<uint8_t>(port_a))},
                            {b, PortNum(static_cast<uint8_t>(port_b))}};
    builder_.Link(ends[0], ends[1]);
    for (PortRef end : ends) builder_.SetPortInfo(end, LinkedPort(end.port));
  }
  std::shared_ptr<const FabricSnapshot> Build() { return builder_.Build(); }

 private:
  NodeIndex Add(wire::NodeType type, Guid guid, Guid system, int ports, std::string description) {
    const bool is_switch = type == wire::NodeType::kSwitch;
    wire::NodeInfo info;
    info.node_type = type;
    info.num_ports = static_cast<uint8_t>(ports);
    info.system_image_guid = system;
    info.node_guid = guid;
    info.port_guid = is_switch ? guid : Guid(guid.value() + 1);
    info.local_port = PortNum(is_switch ? 0 : 1);
    info.device_id = DeviceId(is_switch, speed_);
    info.vendor_id = kVendor;
    const NodeIndex node = builder_.PutNode(info);
    builder_.SetDescription(node, std::move(description));
    builder_.SetPortGuid({node, info.local_port}, info.port_guid);
    if (!is_switch) return node;
    wire::PortInfo port0;
    port0.port_state = wire::PortState::kActive;
    port0.port_physical_state = wire::PortPhysicalState::kLinkUp;
    builder_.SetPortInfo({node, PortNum(0)}, port0);
    builder_.SetSwitchInfo(node, wire::SwitchInfo());
    for (int port = 1; port <= ports; ++port) {
      const PortNum number(static_cast<uint8_t>(port));
      builder_.SetPortInfo({node, number}, FreePort(number));
    }
    return node;
  }
  wire::PortInfo FreePort(PortNum number) const {
    wire::PortInfo info;
    info.local_port = number;
    info.port_state = wire::PortState::kDown;
    info.port_physical_state = wire::PortPhysicalState::kPolling;
    SetSupportedRate(info, speed_, kLanes);
    return info;
  }
  wire::PortInfo LinkedPort(PortNum number) const {
    wire::PortInfo info = FreePort(number);
    info.port_state = wire::PortState::kInit;
    info.port_physical_state = wire::PortPhysicalState::kLinkUp;
    SetActiveRate(info, speed_, kLanes);
    return info;
  }

  LinkSpeed speed_;
  SnapshotBuilder builder_;
};

int CeilDiv(int a, int b) { return (a + b - 1) / b; }

// Smallest divisor d ≥ least of `links` such that `switches` below need at most `ports` ports of
// each of d switches above; 0: none.
int SwitchesAbove(int links, int switches, int ports, int least) {
  for (int count = least; count <= links; ++count) {
    if (links % count == 0 && switches * (links / count) <= ports) return count;
  }
  return 0;
}

// ---- fat-tree

struct TreeShape {
  int radix = 0, levels = 0, pods = 0, parallel = 0;
  int leaf_down = 0, leaf_up = 0, half = 0;
  std::vector<int> below;  // [level]: children of a switch of that level within a pod.
  std::vector<int> above;  // [level]: parents of a switch of the level below, within a pod.
  int top_up = 0;          // Uplinks of a pod's topmost switches.
  int planes = 0, cores_per_plane = 0;
  int64_t leaves = 0;

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
  if (spec.radix < 2 || spec.radix > kMaxRadix || spec.radix % 2 != 0) {
    return InvalidArgument("radix {}: an even number from 2 to {}", spec.radix, kMaxRadix);
  }
  if (spec.levels < 2 || spec.levels > kMaxLevels) {
    return InvalidArgument("levels {}: from 2 to {}", spec.levels, kMaxLevels);
  }
  if (!(spec.oversubscription > 0)) {
    return InvalidArgument("oversubscription {}: above 0", spec.oversubscription);
  }
  if (!(spec.fill > 0 && spec.fill <= 1)) {
    return InvalidArgument("fill {}: above 0, at most 1", spec.fill);
  }
  if (spec.parallel < 1) return InvalidArgument("parallel {}: 1 or more", spec.parallel);
  return absl::OkStatus();
}

absl::StatusOr<TreeShape> ShapeOf(const FatTreeSpec& spec) {
  FABRICD_RETURN_IF_ERROR(CheckFatTree(spec));
  TreeShape shape;
  shape.radix = spec.radix;
  shape.levels = spec.levels;
  shape.parallel = spec.parallel;
  shape.half = spec.radix / 2;
  shape.leaf_up = static_cast<int>(std::lround(spec.radix / (spec.oversubscription + 1)));
  shape.leaf_down = spec.radix - shape.leaf_up;
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
  const int most_pods = spec.radix / parallel;
  shape.pods = spec.pods == 0 ? most_pods : spec.pods;
  if (shape.pods < 1 || shape.pods > most_pods) {
    return InvalidArgument("pods {}: from 1 to {} (radix / parallel)", spec.pods, most_pods);
  }
  shape.below.assign(static_cast<size_t>(spec.levels), shape.half / parallel);
  shape.above.assign(static_cast<size_t>(spec.levels), shape.half / parallel);
  if (spec.levels > 2) shape.above[2] = shape.leaf_up / parallel;
  shape.top_up = spec.levels == 2 ? shape.leaf_up : shape.half;
  int64_t nodes = shape.pods;
  for (int level = 2; level < spec.levels && nodes < kMaxNodes; ++level) {
    nodes *= shape.below[static_cast<size_t>(level)];
  }
  shape.leaves = nodes;
  if (nodes * shape.leaf_down > kMaxNodes) {
    return InvalidArgument("radix {} with {} levels: more than {} nodes", spec.radix, spec.levels,
                           kMaxNodes);
  }
  shape.planes = shape.Columns(spec.levels - 1);
  shape.cores_per_plane = CeilDiv(shape.pods * shape.top_up, spec.radix);
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
std::vector<std::vector<NodeIndex>> BuildPod(const TreeShape& shape, int pod, Builder& builder) {
  std::vector<std::vector<NodeIndex>> tiers(static_cast<size_t>(shape.levels));
  for (int level = 1; level < shape.levels; ++level) {
    for (int i = 0; i < shape.SwitchesInPod(level); ++i) {
      tiers[static_cast<size_t>(level)].push_back(builder.AddSwitch(
          SwitchGuid(level, pod, i), shape.radix, TreeSwitchName(shape, level, pod, i)));
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
void BuildCores(const TreeShape& shape, const std::vector<std::vector<NodeIndex>>& pod_tops,
                Builder& builder) {
  const int down = shape.levels == 2 ? shape.leaf_down : shape.half;
  for (int plane = 0; plane < shape.planes; ++plane) {
    std::vector<NodeIndex> cores;
    for (int c = 0; c < shape.cores_per_plane; ++c) {
      const int number = plane * shape.cores_per_plane + c + 1;
      cores.push_back(
          builder.AddSwitch(SwitchGuid(shape.levels, plane, c), shape.radix,
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

// ---- SuperPOD

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
  PodShape shape;
  shape.radix = spec.radix != 0 ? spec.radix : std::max(64, 2 * spec.hosts_per_su);
  shape.uplinks = spec.uplinks != 0 ? spec.uplinks : spec.hosts_per_su;
  if (shape.radix < 2 || shape.radix > kMaxRadix) {
    return InvalidArgument("radix {}: from 2 to {}", shape.radix, kMaxRadix);
  }
  if (spec.rails > 255) return InvalidArgument("rails {}: at most 255", spec.rails);
  if (shape.uplinks < 1 || spec.hosts_per_su + shape.uplinks > shape.radix) {
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
               const std::vector<NodeIndex>& upper, Builder& builder) {
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
                   const std::vector<std::vector<NodeIndex>>& leaves, Builder& builder) {
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
                     const std::vector<std::vector<NodeIndex>>& leaves, Builder& builder) {
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

// ---- the text form

class Parameters {
 public:
  static absl::StatusOr<Parameters> Parse(const std::string& text) {
    Parameters parsed;
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find(',', at), text.size());
      const std::string item = text.substr(at, end - at);
      const size_t equals = item.find('=');
      if (equals == std::string::npos || equals == 0) {
        return InvalidArgument("'{}' is not KEY=VALUE", item);
      }
      if (!parsed.values_.emplace(item.substr(0, equals), item.substr(equals + 1)).second) {
        return InvalidArgument("'{}' is given twice", item.substr(0, equals));
      }
      at = end + 1;
    }
    return parsed;
  }
  template <typename Number>
  absl::Status Take(const char* key, Number& value) {
    const auto found = values_.find(key);
    if (found == values_.end()) return absl::OkStatus();
    const std::string text = std::move(found->second);
    values_.erase(found);
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error == std::errc() && stop == end) return absl::OkStatus();
    return InvalidArgument("{}={} is not a number", key, text);
  }
  absl::Status TakeSpeed(LinkSpeed& speed) {
    const auto found = values_.find("speed");
    if (found == values_.end()) return absl::OkStatus();
    const absl::StatusOr<LinkSpeed> parsed = ParseSpeed(found->second);
    if (!parsed.ok()) return parsed.status();
    speed = *parsed;
    values_.erase(found);
    return absl::OkStatus();
  }
  absl::Status CheckEmpty(const char* kind, const char* keys) const {
    if (values_.empty()) return absl::OkStatus();
    return InvalidArgument("{} has no parameter '{}' (it has {})", kind, values_.begin()->first,
                           keys);
  }

 private:
  std::map<std::string, std::string> values_;
};

absl::StatusOr<FatTreeSpec> ParseFatTree(Parameters parameters) {
  FatTreeSpec spec;
  FABRICD_RETURN_IF_ERROR(parameters.Take("radix", spec.radix));
  FABRICD_RETURN_IF_ERROR(parameters.Take("levels", spec.levels));
  FABRICD_RETURN_IF_ERROR(parameters.Take("pods", spec.pods));
  FABRICD_RETURN_IF_ERROR(parameters.Take("oversubscription", spec.oversubscription));
  FABRICD_RETURN_IF_ERROR(parameters.Take("parallel", spec.parallel));
  FABRICD_RETURN_IF_ERROR(parameters.Take("fill", spec.fill));
  FABRICD_RETURN_IF_ERROR(parameters.TakeSpeed(spec.speed));
  FABRICD_RETURN_IF_ERROR(parameters.CheckEmpty(
      "fat-tree", "radix, levels, pods, oversubscription, parallel, fill, speed"));
  return spec;
}

absl::StatusOr<SuperPodSpec> ParseSuperPod(Parameters parameters) {
  SuperPodSpec spec;
  FABRICD_RETURN_IF_ERROR(parameters.Take("sus", spec.sus));
  FABRICD_RETURN_IF_ERROR(parameters.Take("hosts", spec.hosts_per_su));
  FABRICD_RETURN_IF_ERROR(parameters.Take("rails", spec.rails));
  FABRICD_RETURN_IF_ERROR(parameters.Take("radix", spec.radix));
  FABRICD_RETURN_IF_ERROR(parameters.Take("uplinks", spec.uplinks));
  FABRICD_RETURN_IF_ERROR(parameters.TakeSpeed(spec.speed));
  FABRICD_RETURN_IF_ERROR(
      parameters.CheckEmpty("superpod", "sus, hosts, rails, radix, uplinks, speed"));
  return spec;
}

}  // namespace

absl::StatusOr<LinkSpeed> ParseSpeed(const std::string& name) {
  for (LinkSpeed speed : {LinkSpeed::kSdr, LinkSpeed::kDdr, LinkSpeed::kQdr, LinkSpeed::kFdr,
                          LinkSpeed::kEdr, LinkSpeed::kHdr, LinkSpeed::kNdr, LinkSpeed::kXdr}) {
    if (name == wire::SpeedName(speed)) return speed;
  }
  return InvalidArgument("speed '{}': SDR, DDR, QDR, FDR, EDR, HDR, NDR or XDR", name);
}

SnapshotOr GenerateFatTree(const FatTreeSpec& spec) {
  const absl::StatusOr<TreeShape> shape = ShapeOf(spec);
  if (!shape.ok()) return shape.status();
  Builder builder(spec.speed);
  std::vector<NodeIndex> leaves;
  std::vector<std::vector<NodeIndex>> tops;
  for (int pod = 0; pod < shape->pods; ++pod) {
    std::vector<std::vector<NodeIndex>> tiers = BuildPod(*shape, pod, builder);
    leaves.insert(leaves.end(), tiers[1].begin(), tiers[1].end());
    tops.push_back(std::move(tiers[static_cast<size_t>(spec.levels - 1)]));
  }
  BuildCores(*shape, tops, builder);
  const int64_t count = static_cast<int64_t>(leaves.size());
  const int64_t hosts = std::llround(spec.fill * static_cast<double>(count * shape->leaf_down));
  int host = 0;
  for (int64_t leaf = 0; leaf < count; ++leaf) {
    const int64_t here = (leaf + 1) * hosts / count - leaf * hosts / count;
    for (int port = 1; port <= here; ++port) {
      builder.Cable(builder.AddHca(++host, 0), 1, leaves[static_cast<size_t>(leaf)], port);
    }
  }
  return builder.Build();
}

SnapshotOr GenerateSuperPod(const SuperPodSpec& spec) {
  const absl::StatusOr<PodShape> shape = ShapeOf(spec);
  if (!shape.ok()) return shape.status();
  Builder builder(spec.speed);
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

bool IsGeneratorSpec(const std::string& spec) {
  const std::string kind = spec.substr(0, spec.find(':'));
  return kind == "fat-tree" || kind == "superpod";
}

SnapshotOr Generate(const std::string& spec) {
  const size_t colon = spec.find(':');
  const std::string kind = spec.substr(0, colon);
  if (!IsGeneratorSpec(spec)) {
    return InvalidArgument("no generator '{}' (there are fat-tree and superpod)", kind);
  }
  absl::StatusOr<Parameters> parameters =
      Parameters::Parse(colon == std::string::npos ? "" : spec.substr(colon + 1));
  if (!parameters.ok()) return InvalidArgument("{}: {}", kind, Message(parameters.status()));
  if (kind == "fat-tree") {
    const absl::StatusOr<FatTreeSpec> parsed = ParseFatTree(*std::move(parameters));
    return parsed.ok() ? GenerateFatTree(*parsed) : SnapshotOr(parsed.status());
  }
  const absl::StatusOr<SuperPodSpec> parsed = ParseSuperPod(*std::move(parameters));
  return parsed.ok() ? GenerateSuperPod(*parsed) : SnapshotOr(parsed.status());
}

}  // namespace fabricd::sim
