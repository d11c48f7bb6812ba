// SPDX-License-Identifier: Apache-2.0
#include "sim/generate/directors.h"

#include "common/status.h"

namespace fabricd::sim {
namespace {

constexpr int kMostDirectors = 1000;

// The line chips of a director, in order. Ports of a line chip: those outside, then the inside.
class Director {
 public:
  // `tier` of its line chips; that of its inner chips is one more.
  Director(FabricBuilder& builder, const DirectorsSpec& spec, const std::string& name, int tier,
           int number) {
    const int outside = spec.radix / 2;
    for (int i = 0; i < outside; ++i)
      lines_.push_back(builder.AddSwitch(SwitchGuid(tier, number, i), spec.radix,
                                         fmt::format("{}-line{}", name, i + 1)));
    for (int i = 0; i < spec.radix / 4; ++i) {
      const NodeIndex inner = builder.AddSwitch(SwitchGuid(tier + 1, number, i), spec.radix,
                                                fmt::format("{}-inner{}", name, i + 1));
      for (int line = 0; line < outside; ++line)
        for (int cable = 0; cable < 2; ++cable)
          builder.Cable(lines_[static_cast<size_t>(line)], outside + 2 * i + cable + 1, inner,
                        2 * line + cable + 1);
    }
  }
  NodeIndex line(int number) const { return lines_[static_cast<size_t>(number)]; }

 private:
  std::vector<NodeIndex> lines_;
};

}  // namespace

std::vector<Parameter> DirectorsParameters(DirectorsSpec& spec) {
  return {{"radix", "Ports of each chip, a multiple of 4", &spec.radix},
          {"leaves", "Leaf directors", &spec.leaves},
          {"spines", "Spine directors", &spec.spines},
          SpeedParameter(spec.speed)};
}

SnapshotOr GenerateDirectors(const DirectorsSpec& spec) {
  FABRICD_RETURN_IF_ERROR(CheckRange("radix", spec.radix, 4, kMaxRadix));
  FABRICD_RETURN_IF_ERROR(CheckRange("leaves", spec.leaves, 1, kMostDirectors));
  FABRICD_RETURN_IF_ERROR(CheckRange("spines", spec.spines, 1, kMostDirectors));
  if (spec.radix % 4 != 0) return InvalidArgument("radix {}: a multiple of 4", spec.radix);
  const int lines = spec.radix / 2, hosts = spec.radix / 4, uplinks = lines * hosts;
  const int64_t cables = int64_t{spec.leaves} * uplinks;
  if (spec.spines > uplinks)
    return InvalidArgument("spines {}: a leaf director of radix {} has {} cables to them",
                           spec.spines, spec.radix, uplinks);
  if ((cables + spec.spines - 1) / spec.spines > lines * lines)
    return InvalidArgument("leaves {}: {} cables, and spines {} of radix {} have {} ports",
                           spec.leaves, cables, spec.spines, spec.radix,
                           int64_t{spec.spines} * lines * lines);
  FABRICD_RETURN_IF_ERROR(CheckNodes(fmt::format("leaves {}", spec.leaves),
                                     int64_t{spec.leaves + spec.spines} * (lines + spec.radix / 4),
                                     cables));
  FabricBuilder builder(spec.speed);
  std::vector<Director> leaves, spines;
  for (int i = 0; i < spec.leaves; ++i)
    leaves.emplace_back(builder, spec, fmt::format("leaf{}", i + 1), 0, i);
  for (int i = 0; i < spec.spines; ++i)
    spines.emplace_back(builder, spec, fmt::format("spine{}", i + 1), 2, i);
  int64_t next = 0;
  for (const Director& leaf : leaves)
    for (int uplink = 0; uplink < uplinks; ++uplink, ++next) {
      const auto at = static_cast<int>(next / spec.spines);  // Of the spine's cables.
      builder.Cable(leaf.line(uplink % lines), hosts + uplink / lines + 1,
                    spines[static_cast<size_t>(next % spec.spines)].line(at % lines),
                    at / lines + 1);
    }
  int host = 1;
  for (const Director& leaf : leaves)
    for (int line = 0; line < lines; ++line, host += hosts)
      builder.AddHosts(leaf.line(line), host, hosts);
  return builder.Build();
}

}  // namespace fabricd::sim
