// SPDX-License-Identifier: Apache-2.0
#include "fabric/alias_guids.h"

#include <algorithm>
#include <tuple>

namespace fabricd::fabric {

AliasGuids::AliasGuids(std::vector<AliasBlock> blocks) : blocks_(std::move(blocks)) {
  for (const AliasBlock& block : blocks_)
    for (size_t entry = 0; entry < wire::GuidInfo::kEntries; ++entry)
      if ((block.said >> entry & 1) != 0 && block.info.guids[entry])
        owners_.emplace_back(block.info.guids[entry], block.port);
  std::sort(owners_.begin(), owners_.end());
}

std::span<const AliasBlock> AliasGuids::Of(Guid port) const {
  struct ByPort {
    bool operator()(const AliasBlock& block, Guid guid) const { return block.port < guid; }
    bool operator()(Guid guid, const AliasBlock& block) const { return guid < block.port; }
  };
  const auto [first, last] = std::equal_range(blocks_.begin(), blocks_.end(), port, ByPort());
  return {blocks_.data() + (first - blocks_.begin()), static_cast<size_t>(last - first)};
}

Guid AliasGuids::PortOf(Guid alias) const {
  const auto found = std::lower_bound(owners_.begin(), owners_.end(), std::pair(alias, Guid()));
  return found == owners_.end() || found->first != alias ? Guid() : found->second;
}

std::vector<Guid> ChangedPorts(const AliasGuids& a, const AliasGuids& b) {
  std::vector<Guid> ports;
  const auto key = [](const AliasBlock& block) { return std::tuple(block.port, block.block); };
  auto one = a.blocks().begin(), other = b.blocks().begin();
  const auto one_end = a.blocks().end(), other_end = b.blocks().end();
  while (one != one_end || other != other_end) {
    if (other == other_end || (one != one_end && key(*one) < key(*other))) {
      ports.push_back((one++)->port);
    } else if (one == one_end || key(*other) < key(*one)) {
      ports.push_back((other++)->port);
    } else {
      if (*one != *other) ports.push_back(one->port);
      ++one, ++other;
    }
  }
  ports.erase(std::unique(ports.begin(), ports.end()), ports.end());
  return ports;
}

}  // namespace fabricd::fabric
