// SPDX-License-Identifier: Apache-2.0
#include "sa/import/client_import.h"

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "sa/state/alias_table.h"
#include "sa/state/group_table.h"
#include "sa/state/service_table.h"
#include "sa/state/subscription_table.h"

namespace fabricd::sa {

ClientImport ImportClients(const OpensmDump& dump, WallMs now) {
  FABRICD_CHECK(dump.ok(), "a dump with {} faults", dump.faults.size());
  ClientImport made;
  RowChanges rows;
  const auto skip = [&](size_t line, const char* reason) {
    made.skipped.push_back({line, reason});
  };
  GroupTable groups;
  for (const auto& [line, group] : dump.groups) {
    if (!group.IsKept())
      skip(line, "a group without a full member");
    else if (!groups.Import(group, rows))
      skip(line, "a group whose MGID or MLID another one has");
    else
      ++made.groups;
  }
  made.members = groups.member_count();
  ServiceTable services;
  for (const auto& [line, dumped] : dump.services) {
    Service service = dumped;
    // OpenSM takes a service without one for a service of every partition.
    if (!service.record.p_key) service.record.p_key = kDefaultFullPKey;
    if (service.expires <= now)
      skip(line, "a service whose lease has ended");
    else if (!services.Import(std::move(service), rows))
      skip(line, "a service that is there twice, or one too many");
    else
      ++made.services;
  }
  SubscriptionTable subscriptions;
  for (const auto& [line, subscription] : dump.subscriptions) {
    if (!subscriptions.Import(subscription, rows))
      skip(line, "a subscription that is there twice, or one too many");
    else
      ++made.subscriptions;
  }
  AliasTable aliases;
  for (const auto& [line, block] : dump.aliases) {
    if (block.said == 0) continue;  // Ports without aliases are dumped too.
    if (!aliases.Import(block, rows))
      skip(line, "alias GUIDs that another port has, or too many");
    else
      ++made.aliases;
  }
  for (auto& [key, value] : rows)
    if (value) made.rows.emplace(key, *std::move(value));
  std::sort(made.skipped.begin(), made.skipped.end(),
            [](const LineFault& a, const LineFault& b) { return a.line < b.line; });
  return made;
}

}  // namespace fabricd::sa
