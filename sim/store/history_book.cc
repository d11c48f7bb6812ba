// SPDX-License-Identifier: Apache-2.0
#include "sim/store/history_book.h"

#include "common/status.h"

namespace fabricd::sim {

void HistoryBook::Say(const char* checker, const std::string& what) {
  if (failures_.size() < 20) failures_.push_back(fmt::format("{}: {}", checker, what));
}

void HistoryBook::NoteEvent(const store::EventRecord& record) {
  const auto [known, is_new] = events_.emplace(record.number, record.event.subject);
  if (!is_new)
    Say("event numbers", fmt::format("{} is of '{}' and of '{}'", record.number, known->second,
                                     record.event.subject));
}

void HistoryBook::Check(store::Store& disk, size_t number) {
  CheckEvents(disk, number);
  CheckAudit(disk, number);
}

void HistoryBook::CheckEvents(store::Store& disk, size_t number) {
  std::map<uint64_t, std::string> missing = events_;
  const auto records = disk.ListEvents({});
  for (const store::EventRecord& record : *records) {
    const auto known = missing.find(record.number);
    if (known != missing.end() && known->second == record.event.subject) missing.erase(known);
  }
  if (!missing.empty())
    Say("history", fmt::format("node {} lacks {} of {} events, the first is {}", number,
                               missing.size(), events_.size(), missing.begin()->first));
}

void HistoryBook::CheckAudit(store::Store& disk, size_t number) {
  std::set<std::string> missing = audit_;
  const auto records = disk.ListAudit({});
  for (const store::AuditRecord& record : *records)
    if (missing.erase(record.request) == 0)
      Say("history", fmt::format("node {} has the call '{}' twice, or it was never made", number,
                                 record.request));
  if (!missing.empty())
    Say("history", fmt::format("node {} lacks {} of {} calls, the first is {}", number,
                               missing.size(), audit_.size(), *missing.begin()));
}

}  // namespace fabricd::sim
