// SPDX-License-Identifier: Apache-2.0
// Values of the shared store of any bytes: they are refused, or written again as the same text.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/check.h"
#include "policy/action_record.h"
#include "policy/held_port_text.h"
#include "store/etcd/batch_text.h"
#include "store/etcd/history_page.h"
#include "store/etcd/presence.h"
#include "store/hold_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace store = fabricd::store;
  const std::string text(reinterpret_cast<const char*>(data), size);
  fabricd::policy::Hold hold, again;
  if (store::ParseHold(text, hold)) {
    FABRICD_CHECK(store::ParseHold(store::HoldText(hold), again));
    FABRICD_CHECK(store::HoldText(again) == store::HoldText(hold));
  }
  std::vector<fabricd::Guid> guids, same_guids;
  if (store::ParseGuids(text, guids)) {
    FABRICD_CHECK(store::ParseGuids(store::GuidsText(guids), same_guids) && same_guids == guids);
  }
  std::vector<fabricd::policy::HeldPort> ports, same_ports;
  if (store::ParsePorts(text, ports)) {
    FABRICD_CHECK(store::ParsePorts(store::PortsText(ports), same_ports) && same_ports == ports);
  }
  if (const auto port = fabricd::policy::ParseHeldPort(text)) {
    FABRICD_CHECK(fabricd::policy::ParseHeldPort(fabricd::policy::HeldPortText(*port)) == port);
  }
  const auto actions = fabricd::policy::LoadActions({{{"action", "suppressed"}, text}});
  if (actions.ok()) {
    fabricd::StoredRows rows;
    for (const auto& [key, value] : fabricd::policy::ActionRows(*actions))
      if (value) rows[key] = *value;
    const auto same = fabricd::policy::LoadActions(rows);
    FABRICD_CHECK(same.ok() && same->suppressed.size() == actions->suppressed.size());
  }
  const store::etcd::NodeStatement statement = store::etcd::ReadStatement(text);
  FABRICD_CHECK(store::etcd::ReadStatement(StatementText(statement)) == statement);
  store::FlatChanges changes, same_changes;
  if (store::etcd::DecodeChanges(text, changes)) {
    for (const std::string& part : store::etcd::EncodeChanges(changes, 64)) {
      FABRICD_CHECK(store::etcd::DecodeChanges(part, same_changes));
    }
    FABRICD_CHECK(same_changes == changes);
  }
  if (auto page = store::etcd::DecodeHistory(text)) {
    for (store::AuditRecord& record : page->audit) record.number = record.origin;
    size_t events = 0, audit = 0;
    for (const std::string& bytes : store::etcd::EncodeHistory(*page, 64)) {
      const auto again_page = store::etcd::DecodeHistory(bytes);
      FABRICD_CHECK(again_page.has_value());
      events += again_page->events.size();
      audit += again_page->audit.size();
    }
    FABRICD_CHECK(events == page->events.size() && audit == page->audit.size());
  }
  return 0;
}
