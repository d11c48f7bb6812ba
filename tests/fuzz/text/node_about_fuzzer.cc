// SPDX-License-Identifier: Apache-2.0
// What another node says of itself and of tables, of any bytes: it is refused or ignored, or
// written again as the same text.
#include <cstddef>
#include <cstdint>
#include <string>

#include "common/check.h"
#include "daemon/store/node_about.h"
#include "shell/table_record.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fabricd::daemon;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const NodeAbout about = ReadAbout(text);
  FABRICD_CHECK(ReadAbout(AboutText(about)) == about);
  const auto tables = fabricd::shell::LoadTables({{{"tables", "0"}, text}});
  if (tables.ok()) FABRICD_CHECK(fabricd::shell::Vouched({}, *tables) == nullptr);
  return 0;
}
