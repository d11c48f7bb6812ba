// SPDX-License-Identifier: Apache-2.0
// AliasGuids: the further GUIDs of end ports, those of virtual functions (SR-IOV; IBA vol 1
// §14.2.5.5, §15.2.5.18): which entries of a port's GUIDInfo are whose to say, and what they are to
// hold. Made by sa/, which keeps it durable; sweep/ writes it to the devices. Immutable once
// shared, any thread.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "mad/wire/tables.h"

namespace fabricd::fabric {

struct AliasBlock {
  Guid port;            // Its own GUID; it need not be there at the moment.
  uint8_t block = 0;    // Of its GUIDInfo.
  uint8_t said = 0;     // Bit n: entry n is to be as it is here. The others are nobody's business.
  wire::GuidInfo info;  // 0 where there is to be no alias.
  friend bool operator==(const AliasBlock&, const AliasBlock&) = default;
};

class AliasGuids {
 public:
  AliasGuids() = default;
  // REQUIRES: sorted by port and block, each once; no alias twice.
  explicit AliasGuids(std::vector<AliasBlock> blocks);

  const std::vector<AliasBlock>& blocks() const { return blocks_; }
  // Those of a port, by block.
  std::span<const AliasBlock> Of(Guid port) const;
  // The port whose alias it is; 0: nobody's.
  Guid PortOf(Guid alias) const;
  friend bool operator==(const AliasGuids&, const AliasGuids&) = default;

 private:
  std::vector<AliasBlock> blocks_;
  std::vector<std::pair<Guid, Guid>> owners_;  // Alias, port. Sorted.
};

// Ports of which they say something else. Sorted.
std::vector<Guid> ChangedPorts(const AliasGuids& a, const AliasGuids& b);

}  // namespace fabricd::fabric
