// SPDX-License-Identifier: Apache-2.0
// What another node says of itself and of tables, of any bytes: it is refused or ignored, or
// written again as the same text.
#include <cstddef>
#include <cstdint>
#include <string>

#include "common/check.h"
#include "daemon/store/node_about.h"
#include "shell/recorded_tables.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fabricd::daemon;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const NodeAbout about = ReadAbout(text);
  FABRICD_CHECK(ReadAbout(AboutText(about)) == about);
  using namespace fabricd::shell;
  const auto digests = LoadTables({{RecordedTables::DigestKey(0), text}});
  if (digests.ok()) FABRICD_CHECK(Vouched({}, *digests, {}) == nullptr);
  const auto changes = LoadTables({{RecordedTables::ChangesKey(0), text}});
  if (changes.ok())
    for (const auto& [number, change] : changes->changes) {
      const auto again = LoadTables({{RecordedTables::ChangesKey(0), ChangeText(number, change)}});
      FABRICD_CHECK(again.ok() && again->changes.at(number) == change);
    }
  return 0;
}
