// SPDX-License-Identifier: Apache-2.0
// Internal: a page of the shared history as bytes (proto/fabric/history). Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "store/store.h"

namespace fabricd::store::etcd {

struct HistoryPage {
  std::string instance;  // Of the node that has recorded all of it.
  std::vector<EventRecord> events;
  std::vector<AuditRecord> audit;
};

// Pages of at most `most` bytes, or of one record, in the order of the records.
std::vector<std::string> EncodeHistory(const HistoryPage& page, size_t most);
// Records have the page's instance, and audit records their number there as `origin`. nullopt: it
// is no page.
std::optional<HistoryPage> DecodeHistory(const std::string& bytes);

}  // namespace fabricd::store::etcd
