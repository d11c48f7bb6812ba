// SPDX-License-Identifier: Apache-2.0
// M_Keys (IBA vol 1 §14.2.4): the one that a port is to have, and those it may have now. With a
// secret each port has its own:
//   the first 8 bytes of HMAC-SHA256(secret, "fabricd M_Key 1" and the port GUID, big-endian)
// so that who reads one out of its HCA knows no other. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "common/ids.h"
#include "sweep/interface/options.h"

namespace fabricd::sweep {

// Never 0, which means that a port has none.
MKey DeriveMKey(std::string_view secret, Guid port_guid);

// Whether ports have, or may have, keys that are derived.
bool HasDerivedMKeys(const SmOptions& options);

// What a port is to have. 0: none.
MKey WantedMKey(const SmOptions& options, Guid port_guid);

// Whether a manager with this state gave the port that key before the configured one: secrets and
// keys of before are in its own store alone.
bool IsFormerMKey(const SmOptions& options, Guid port_guid, MKey m_key);

inline constexpr size_t kMostMKeys = 6;
// Appends a key, unless it is 0, is there already, or there are kMostMKeys.
void AddMKey(MKey m_key, std::vector<MKey>& keys);

// What it may have, the likeliest first, each once: at least one and at most kMostMKeys.
// A port of which the GUID is not known (0) can have none that is derived.
std::vector<MKey> PossibleMKeys(const SmOptions& options, Guid port_guid);

}  // namespace fabricd::sweep
