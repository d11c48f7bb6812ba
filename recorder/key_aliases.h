// SPDX-License-Identifier: Apache-2.0
// KeyAliases: replaces M_Keys and SM_Keys by aliases before anything is recorded. Equal keys get
// equal aliases and 0 stays 0, so that the core decides in a replay as it did. Aliases are numbered
// in the order in which keys are first seen and say nothing about them.
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
  // Of an SMP: its M_Key, that of a PortInfo, the SM_Key of an SMInfo, the M_Key that a notice of a
  // violation names (IBA vol 1 §14.2.5.1). Other MADs are left alone. Shorter ones too.
  void Replace(std::span<uint8_t> mad);

 private:
  absl::flat_hash_map<uint64_t, uint64_t> aliases_;
};

}  // namespace fabricd::recorder
