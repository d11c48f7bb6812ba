// SPDX-License-Identifier: Apache-2.0
// KeyAliases: replaces M_Keys and SM_Keys by aliases before anything is recorded. Equal keys get
// equal aliases and 0 stays 0, so that the core makes the same decisions in a replay. Aliases are
// numbered in the order in which keys are first seen, so they reveal nothing about the keys.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "sweep/interface/options.h"

namespace fabricd::recorder {

class KeyAliases {
 public:
  uint64_t AliasOf(uint64_t key);
  void Replace(sweep::CoreOptions& options);
  // In an SMP: its M_Key, the M_Key of a PortInfo, the SM_Key of an SMInfo, and the M_Key in a
  // notice of a violation (IBA vol 1 §14.2.5.1). Other MADs and truncated ones are unchanged.
  void Replace(std::span<uint8_t> mad);

 private:
  absl::flat_hash_map<uint64_t, uint64_t> aliases_;
};

}  // namespace fabricd::recorder
