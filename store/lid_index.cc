// SPDX-License-Identifier: Apache-2.0
#include "store/lid_index.h"

#include <utility>

#include "common/status.h"

namespace fabricd::store {
namespace {

// Up to so many records their neighbours are looked up, beyond them all records are sorted.
constexpr size_t kFew = 64;

}  // namespace

absl::Status LidIndex::CheckPut(const std::vector<LidRecord>& records) const {
  std::map<Guid, LidRecord> puts;
  for (const LidRecord& record : records) {
    FABRICD_RETURN_IF_ERROR(CheckLid(record));
    puts[record.port_guid] = record;
  }
  std::vector<LidRecord> all;
  for (const auto& [guid, record] : puts) all.push_back(record);
  if (puts.size() > kFew) {
    for (const auto& [guid, record] : by_guid_)
      if (!puts.contains(guid)) all.push_back(record);
    return CheckLids(all);
  }
  // The records that stay share no LID. So if one shares a LID with a new record, the nearest one
  // at or below its last LID does.
  for (const auto& [guid, record] : puts) {
    const Lid last(static_cast<uint16_t>(record.base_lid.value() + (1u << record.lmc) - 1));
    auto below = by_base_.upper_bound(last);
    while (below != by_base_.begin() && puts.contains(std::prev(below)->second)) --below;
    if (below == by_base_.begin()) continue;
    std::vector<LidRecord> both = {record, by_guid_.at(std::prev(below)->second)};
    FABRICD_RETURN_IF_ERROR(CheckLids(both));
  }
  return CheckLids(all);
}

void LidIndex::Put(const std::vector<LidRecord>& records) {
  std::map<Guid, LidRecord> puts;
  for (const LidRecord& record : records) puts[record.port_guid] = record;
  // All old bases first: ports may swap theirs.
  for (const auto& [guid, record] : puts) Remove({guid});
  for (const auto& [guid, record] : puts) {
    by_guid_[guid] = record;
    by_base_[record.base_lid] = guid;
  }
}

void LidIndex::Remove(const std::vector<Guid>& port_guids) {
  for (const Guid guid : port_guids) {
    const auto known = by_guid_.find(guid);
    if (known == by_guid_.end()) continue;
    by_base_.erase(known->second.base_lid);
    by_guid_.erase(known);
  }
}

}  // namespace fabricd::store
