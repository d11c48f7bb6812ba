// SPDX-License-Identifier: Apache-2.0
// What fabricplan prints of its work: JSON for scripts, tables for people. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "plan/planning.h"

namespace fabricd::plan {

struct Report {
  uint64_t end_ports = 0;  // Ports of channel adapters and routers that have LIDs.
  uint64_t hosts = 0;      // Servers (fabric/hosts.h).
  uint64_t switches = 0, lids = 0;
  int threads = 0;
  double read_ms = 0, snapshot_ms = 0;
  uint64_t peak_rss = 0;  // Bytes.
  Planning planning;
  std::optional<ChangeReport> change;  // With a baseline.
};

// Fills in what can be counted: end_ports, hosts, switches, lids.
void CountFabric(const Fabric& fabric, Report& report);

std::string WriteJson(const Report& report);
std::string WriteTable(const Report& report);

}  // namespace fabricd::plan
