// SPDX-License-Identifier: Apache-2.0
#include "sweep/plan/lid_manager.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sweep/device/port_config.h"

namespace fabricd::sweep {

namespace {

// Of the LinearFDBTops.
Lid HighestTop(const fabric::FabricSnapshot& snapshot) {
  uint16_t top = 0;
  snapshot.ForEachNode([&](const fabric::Node& node) {
    if (node.switch_info) top = std::max(top, node.switch_info->linear_fdb_top);
  });
  return std::min(Lid(top), kMaxUnicastLid);
}

}  // namespace

LidManager::LidManager(const CoreOptions& options, OpenQuestions& questions,
                       const std::vector<LidRecord>& records)
    : options_(options), questions_(questions), table_(std::make_shared<fabric::LidTable>()) {
  for (const LidRecord& record : records) records_[record.port_guid] = record;
}

bool LidManager::Update(const std::shared_ptr<const fabric::FabricSnapshot>& snapshot,
                        ProblemList& problems) {
  if (!must_assign_ && SameEndPorts(*snapshot_, *snapshot)) return true;
  Cancel();
  withheld_.reset();
  problems.Remove(ProblemKind::kNoLid);
  // At a takeover, tables may lead to nodes that do not respond.
  const bool is_first = !table_->top();
  if (is_first && fabric::HasUnknownNeighbours(*snapshot)) maybe_held_ = HighestTop(*snapshot);
  LidAssignment assignment =
      AssignLids(*snapshot, records_, options_.lmc, options_.lmc_enhanced_port0, maybe_held_);
  for (const PortRef port : assignment.without) {
    const fabric::Node& node = *snapshot->node(port.node);
    problems.Add(ProblemKind::kNoLid, ProblemSubject::Of(node, port.port),
                 "no LID is left for it, or another port has its GUID: it stays without");
  }
  // When a port leaves, perhaps for a while, LinearFDBTop must not change on all switches. A port
  // that arrives must be covered by it.
  assignment.table.KeepTop(is_first ? maybe_held_ : table_->top());
  const Lid top = assignment.table.top();
  const bool fits = top <= table_->top() || PortConfig::TopsSuffice(*snapshot, top);
  table_ = std::make_shared<fabric::LidTable>(std::move(assignment.table));
  snapshot_ = snapshot;
  must_assign_ = !assignment.without.empty();
  for (const LidRecord& record : assignment.changed)
    records_[record.port_guid] = undurable_[record.port_guid] = record;
  return fits;
}

fabric::LidTable LidManager::Preview(const fabric::FabricSnapshot& snapshot) const {
  return AssignLids(snapshot, records_, options_.lmc, options_.lmc_enhanced_port0).table;
}

// A LID that two ports have is the first one's.
void LidManager::ShowObserved(const fabric::FabricSnapshot& snapshot) {
  fabric::LidTable table;
  std::vector<bool> taken(kMaxUnicastLid.value() + 1u, false);
  snapshot.ForEachNode([&](const fabric::Node& node) {
    for (const auto& [ref, port] : node.EndPorts()) {
      const fabric::LidRange range{port.info.lid, port.info.lmc};
      const uint32_t base = range.base.value(), end = base + range.count();
      if (!port.known || base == 0 || base % range.count() != 0 || end > taken.size() ||
          std::find(taken.begin() + base, taken.begin() + end, true) != taken.begin() + end)
        continue;
      std::fill(taken.begin() + base, taken.begin() + end, true);
      table.Assign(ref, range);
    }
  });
  table_ = std::make_shared<const fabric::LidTable>(std::move(table));
}

Lid LidManager::RecordedLid(Guid port_guid) const {
  const auto record = records_.find(port_guid);
  return record == records_.end() ? Lid() : record->second.base_lid;
}

void LidManager::OnStored(const absl::Status& status, Guid own, ProblemList& problems) {
  if (status.ok()) {
    undurable_.clear();
    return;
  }
  if (undurable_.contains(own)) return;
  fabric::LidTable table = *table_;
  withheld_.emplace();
  snapshot_->ForEachNode([&](const fabric::Node& node) {
    for (const auto& [ref, port] : node.EndPorts()) {
      if (!undurable_.contains(port.guid)) continue;
      table.Release(ref);
      withheld_->push_back(node.index);
      problems.Add(ProblemKind::kNoLid, ProblemSubject::Of(node, ref.port),
                   "its LID could not be stored: it stays without until it can be");
    }
  });
  table_ = std::make_shared<const fabric::LidTable>(std::move(table));
  must_assign_ = true;
}

void LidManager::AskToStore() {
  PersistLids write;
  write.records.reserve(undurable_.size());
  for (const auto& [guid, record] : undurable_) write.records.push_back(record);
  std::sort(write.records.begin(), write.records.end(),
            [](const LidRecord& a, const LidRecord& b) { return a.port_guid < b.port_guid; });
  questions_.Ask(std::move(write));
}

}  // namespace fabricd::sweep
