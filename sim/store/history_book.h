// SPDX-License-Identifier: Apache-2.0
// HistoryBook: the checker of the history that nodes share. It knows what each node has recorded;
// in the end all of it must be at every node, once.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "store/store.h"

namespace fabricd::sim {

class HistoryBook {
 public:
  // Outlives this. "checker: what".
  explicit HistoryBook(std::vector<std::string>& failures) : failures_(failures) {}

  // A node has recorded it, and shows it.
  void NoteEvent(const store::EventRecord& record);
  void NoteAudit(const store::AuditRecord& record) { audit_.insert(record.request); }
  // In the end. `disk`: the local store of node `number`.
  void Check(store::Store& disk, size_t number);

 private:
  void CheckEvents(store::Store& disk, size_t number);
  void CheckAudit(store::Store& disk, size_t number);
  void Say(const char* checker, const std::string& what);

  std::vector<std::string>& failures_;
  std::map<uint64_t, std::string> events_;  // Number -> subject.
  std::set<std::string> audit_;             // Requests.
};

}  // namespace fabricd::sim
