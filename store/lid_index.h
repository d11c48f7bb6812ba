// SPDX-License-Identifier: Apache-2.0
// LidIndex: the LID records of a store in memory, so that a write is checked against all others
// without reading them. Pure; one thread.
#pragma once

#include <map>
#include <vector>

#include <absl/status/status.h>

#include "store/store.h"

namespace fabricd::store {

class LidIndex {
 public:
  // REQUIRES: the records keep the rules of CheckLids.
  explicit LidIndex(const std::vector<LidRecord>& records = {}) { Put(records); }

  // Whether Store::PutLids may write these; errors as its.
  absl::Status CheckPut(const std::vector<LidRecord>& records) const;
  void Put(const std::vector<LidRecord>& records);
  void Remove(const std::vector<Guid>& port_guids);

 private:
  std::map<Guid, LidRecord> by_guid_;
  std::map<Lid, Guid> by_base_;
};

}  // namespace fabricd::store
