// SPDX-License-Identifier: Apache-2.0
#include "routing/repair/lid_repair.h"

#include <algorithm>
#include <map>

namespace fabricd::routing {
namespace {

BlockResult::Entries OldEntries(const RepairView& view, uint32_t s, uint32_t block) {
  BlockResult::Entries entries;
  entries.fill(kNoRoute);
  const Row* row = view.rows[s];
  if (row && block < row->blocks()) std::copy_n(row->block(block), entries.size(), entries.data());
  return entries;
}

}  // namespace

std::vector<BlockResult> ResultsOf(const RepairView& view,
                                   const std::vector<const BlockTask*>& tasks,
                                   const std::vector<LidRepair>& lids) {
  std::vector<std::map<uint32_t, BlockResult::Entries>> changed(tasks.size());
  std::vector<std::map<uint32_t, uint64_t>> pending(tasks.size());
  std::vector<BlockResult> results(tasks.size());
  const auto set = [&](size_t task, uint32_t s, uint32_t bit, uint8_t value) {
    const auto [found, added] = changed[task].try_emplace(s);
    if (added) found->second = OldEntries(view, s, tasks[task]->block);
    found->second[bit] = value;
  };
  for (size_t t = 0; t < tasks.size(); ++t)
    for (const BlockTask::Write& write : tasks[t]->writes) set(t, write.at, write.lid, write.value);
  for (const LidRepair& to : lids) {
    for (const auto& [s, port] : to.changed) set(to.task, s, to.bit, port);
    for (uint32_t s : to.pending) pending[to.task][s] |= uint64_t{1} << to.bit;
    if (to.stale) results[to.task].stale |= uint64_t{1} << to.bit;
  }
  for (size_t t = 0; t < tasks.size(); ++t) {
    results[t].changed.assign(changed[t].begin(), changed[t].end());
    results[t].pending.assign(pending[t].begin(), pending[t].end());
  }
  return results;
}

}  // namespace fabricd::routing
