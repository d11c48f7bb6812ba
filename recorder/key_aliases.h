// SPDX-License-Identifier: Apache-2.0
// KeyAliases: replaces M_Keys and SM_Keys by aliases before anything is recorded. Equal keys get
// equal aliases and 0 stays 0, so that the core makes the same decisions in a replay. Aliases are
// numbered in the order in which keys are first seen, so they reveal nothing about the keys.
//
// A secret is replaced by another text, and a key that is derived of it by the one that a replay
// derives of that text for the same port. That takes the GUID of the port, so keys of ports that
// are learned after their key was seen break a replay; they reveal nothing.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "sweep/interface/options.h"

namespace fabricd::recorder {

class KeyAliases {
 public:
  uint64_t AliasOf(uint64_t key);
  void Replace(sweep::CoreOptions& options);
  // This port may have a derived key. Call after Replace() of the options.
  void Learn(Guid port_guid);
  // In an SMP: its M_Key, the M_Key of a PortInfo, the SM_Key of an SMInfo, and the M_Key in a
  // notice of a violation (IBA vol 1 §14.2.5.1). Other MADs and truncated ones are unchanged. Ports
  // are learned by NodeInfo.
  void Replace(std::span<uint8_t> mad);

 private:
  void ReplaceSecret(std::string& secret);

  absl::flat_hash_map<uint64_t, uint64_t> aliases_;
  std::vector<std::pair<std::string, std::string>> secrets_;  // And what replaces them.
};

}  // namespace fabricd::recorder
