// SPDX-License-Identifier: Apache-2.0
// Internal: what becomes of each key of OpenSM's configuration (osm_subnet.c of 3.3.23 has them).
#pragma once

#include <string_view>

namespace fabricd::config {

enum class OpensmKind {
  kNumber,   // The same number, decimal or 0x.
  kHex,      // 64 bits.
  kSecret,   // The same, not to be told.
  kFlag,     // TRUE or FALSE.
  kSeconds,  // A number of seconds.
  kMillis,   // A number of milliseconds.
  kPath,     // A file; (null) is none.
  kSpecial,  // Has a rule of its own in opensm_import.cc.
  kDefault,  // Nothing of fabricd's; harmless at `usual`.
};

struct OpensmKey {
  std::string_view key;
  OpensmKind kind;
  // Key of fabricd; of kDefault the usual value.
  std::string_view to;
  // Of kDefault: why nothing comes of it.
  std::string_view why = {};
};

// Null: no key of OpenSM's.
const OpensmKey* FindOpensmKey(std::string_view key);

}  // namespace fabricd::config
