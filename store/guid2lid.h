// SPDX-License-Identifier: Apache-2.0
// OpenSM's cache files as text, in and out: guid2lid ("0xPORTGUID 0xLIDMIN 0xLIDMAX" a line) and
// guid2mkey ("0xPORTGUID 0xMKEY"). Pure; any thread. Reading is lenient: what is no valid line is
// reported and left out, because a half-written cache must not keep a fabric down.
#pragma once

#include <string>
#include <vector>

#include "common/ids.h"
#include "store/store.h"

namespace fabricd::store {

struct SkippedLine {
  int line = 0;  // From 1.
  std::string reason;
  friend bool operator==(const SkippedLine&, const SkippedLine&) = default;
};

struct Guid2Lid {
  std::vector<LidRecord> records;  // By base LID; last_seen is 0. Fit for Store::PutLids.
  std::vector<SkippedLine> skipped;
};
Guid2Lid ParseGuid2Lid(const std::string& text);

// The text that OpenSM reads back: the records by port GUID, each followed by an empty line.
std::string FormatGuid2Lid(std::vector<LidRecord> records);

struct PortMKey {
  Guid port_guid;
  MKey m_key;
  friend bool operator==(const PortMKey&, const PortMKey&) = default;
};
struct Guid2MKey {
  std::vector<PortMKey> keys;  // By port GUID, each once.
  std::vector<SkippedLine> skipped;
};
Guid2MKey ParseGuid2MKey(const std::string& text);

}  // namespace fabricd::store
