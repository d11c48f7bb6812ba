// SPDX-License-Identifier: Apache-2.0
#include "daemon/settings/sa_files.h"

#include "common/status.h"
#include "daemon/base/side_file.h"

namespace fabricd::daemon {

absl::StatusOr<sa::PrefixRoutes> ReadPrefixRoutes(const config::Sm& sm) {
  constexpr char kKey[] = "sm.prefix_routes_file";
  if (sm.prefix_routes_file.empty()) return sa::PrefixRoutes();
  const auto text = ReadFileOf(kKey, sm.prefix_routes_file);
  if (!text.ok()) return text.status();
  sa::ParsedPrefixRoutes parsed = sa::ParsePrefixRoutes(*text);
  if (parsed.faults.empty()) return std::move(parsed.routes);
  return InvalidArgument("{}: {}: {}", kKey, sm.prefix_routes_file, sa::FaultsText(parsed.faults));
}

absl::StatusOr<sa::OpensmDump> ReadSaDump(const config::Sm& sm) {
  constexpr char kKey[] = "sm.sa_db_file";
  if (sm.sa_db_file.empty()) return sa::OpensmDump();
  const auto text = ReadFileOf(kKey, sm.sa_db_file);
  if (!text.ok()) return text.status();
  sa::OpensmDump dump = sa::ParseOpensmDump(*text);
  if (dump.ok()) return dump;
  return InvalidArgument("{}: {}: {}", kKey, sm.sa_db_file, sa::FaultsText(dump.faults));
}

}  // namespace fabricd::daemon
