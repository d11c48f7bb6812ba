// SPDX-License-Identifier: Apache-2.0
#include "shell/table_record.h"

#include <algorithm>
#include <bit>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "common/sort_unique.h"
#include "routing/plan/plan_diff.h"

namespace fabricd::shell {

// ---- on the store's thread

class TableRecord::Ledger {
 public:
  // No digests stand. What the store has of the changes is not known: they are written again.
  RowChanges Withdraw() {
    stands_ = false;
    base_ = 0;
    RowChanges changes = WithdrawnTables();
    for (const Row& row : rows_) changes[RecordedTables::ChangesKey(row.slot)] = row.text;
    return changes;
  }

  // What is too much ends the record.
  void Add(const fabric::FabricSnapshot& snapshot, const Plan& plan,
           const sweep::TableWrites& writes, RowChanges& changes) {
    if (plan_ != nullptr && !Append(snapshot, plan, writes, changes)) {
      const bool is_there = stands_ || !rows_.empty();
      rows_.clear();
      if (is_there) changes = Withdraw();
    }
    plan_ = plan;
  }

  RowChanges Confirm(const fabric::FabricSnapshot& snapshot, const Plan& plan, uint32_t window) {
    std::vector<std::string> texts(1);
    size_t count = 0;
    snapshot.ForEachNode([&](const fabric::Node& node) {
      if (!node.IsSwitch() || !plan->HasRow(node.index)) return;
      if (count++ % RecordedTables::kSwitchesOfRow == 0 && count > 1) texts.emplace_back();
      texts.back() += fmt::format("{} {:016x}\n", node.guid(),
                                  Digest(node.index, plan->rows[node.index.value()]));
    });
    RowChanges changes;
    // A run that was superseded may have named another plan than this.
    if (plan_ != plan) Add(snapshot, plan, {}, changes);
    changes[RecordedTables::WindowKey()] = std::to_string(window);
    changes[RecordedTables::MarkKey()] = "";
    for (size_t i = 0; i < RecordedTables::kDigestRows; ++i)
      changes[RecordedTables::DigestKey(i)] =
          i < texts.size() ? std::optional(std::move(texts[i])) : std::nullopt;
    changes[RecordedTables::BaseKey()] = std::to_string(last_);
    stands_ = true;
    base_ = last_;
    return changes;
  }

 private:
  struct Entry {
    std::shared_ptr<const routing::Row> row;
    uint64_t digest = 0;
  };

  struct Row {
    size_t slot = 0;
    uint64_t last = 0;  // Number of its last change.
    std::string text;
  };

  // Most rows of the next record are the same.
  uint64_t Digest(NodeIndex node, const std::shared_ptr<const routing::Row>& row) {
    if (node.value() >= digests_.size()) digests_.resize(node.value() + 1);
    Entry& entry = digests_[node.value()];
    if (entry.row != row) entry = {row, DigestOf(*row)};
    return entry.digest;
  }

  // Adds what leads from the last plan to this one. Also before the first digests: a waiting node
  // may have read its tables by then. False: it is too much.
  bool Append(const fabric::FabricSnapshot& snapshot, const Plan& plan,
              const sweep::TableWrites& writes, RowChanges& changes) {
    const routing::PlanDiff diff = routing::DiffPlans(*plan_, *plan);
    if (diff.entries + writes.size() > kMostOfChange) return false;  // It would be much text.
    const std::string text = ChangeText(last_ + 1, ChangeBy(snapshot, *plan, diff, writes));
    if (text.size() > kMostOfChange) return false;
    const bool is_full = !rows_.empty() && rows_.back().text.size() + text.size() > kMostOfRow;
    if (rows_.empty() || is_full) rows_.push_back({next_slot_++ % RecordedTables::kSlots, 0, {}});
    rows_.back().text += text;
    rows_.back().last = ++last_;
    changes[RecordedTables::ChangesKey(rows_.back().slot)] = rows_.back().text;
    return DropOldest(changes);
  }

  TableChange ChangeBy(const fabric::FabricSnapshot& snapshot, const routing::RoutingPlan& plan,
                       const routing::PlanDiff& diff, const sweep::TableWrites& writes) const {
    TableChange change;
    for (const auto& [index, block] : writes)
      if (const fabric::Node* node = snapshot.node(index))
        change.switches[node->guid()].blocks.push_back(block);
    for (auto& [guid, own] : change.switches) SortUnique(own.blocks);
    for (const routing::ChangedBlock& block : diff.blocks) {
      const fabric::Node* node = snapshot.node(block.node);
      if (node == nullptr) continue;
      auto& entries = change.switches[node->guid()].entries;
      for (uint64_t lids = block.lids; lids != 0; lids &= lids - 1) {
        const Lid lid(static_cast<uint16_t>(block.block * routing::Row::kBlock +
                                            static_cast<size_t>(std::countr_zero(lids))));
        const uint8_t before =
            plan_->HasRow(block.node) ? plan_->EgressPort(block.node, lid) : routing::kNoRoute;
        entries.push_back({lid.value(), before, plan.EgressPort(block.node, lid)});
      }
    }
    return change;
  }

  // Changes that the digests include are kept for nodes that have read their tables before, as far
  // as there is room; so are those before the first digests. False: there is none for the others.
  bool DropOldest(RowChanges& changes) {
    size_t bytes = 0;
    for (const Row& row : rows_) bytes += row.text.size();
    while (rows_.size() > RecordedTables::kSlots || bytes > kMostBytes) {
      if (stands_ && rows_.front().last > base_) return false;
      bytes -= rows_.front().text.size();
      // The last row may be the next one in the same slot.
      if (rows_.front().slot != rows_.back().slot)
        changes[RecordedTables::ChangesKey(rows_.front().slot)] = std::nullopt;
      rows_.pop_front();
    }
    return true;
  }

  bool stands_ = false;
  uint64_t last_ = 0;     // Number of the last change.
  uint64_t base_ = 0;     // That the digests include.
  Plan plan_;             // Of the last change, or of the digests. Null: there was none.
  std::deque<Row> rows_;  // Of changes, in the order of their numbers.
  size_t next_slot_ = 0;
  std::vector<Entry> digests_;  // [NodeIndex]
};

// ---- on the core's thread

TableRecord::TableRecord(Post post) : post_(std::move(post)), ledger_(std::make_shared<Ledger>()) {}
TableRecord::~TableRecord() = default;

void TableRecord::OnView(const std::shared_ptr<const sweep::FabricView>& view, bool owns) {
  if (!Begin(*view, owns)) return;
  NoteWrites(*view);
}

void TableRecord::OnTurn(const std::shared_ptr<const sweep::FabricView>& view, bool owns,
                         uint32_t window, Instant now) {
  if (!Begin(*view, owns)) return;
  if (!waiting_.empty()) {
    waiting_since_ = std::min(waiting_since_, now);
    if (view->phase == sweep::Phase::kIdle || now - waiting_since_ >= kMostDelay) WriteChanges();
  }
  const bool is_calm = view->sm.Manages() && view->subnet_up && view->plan_stands &&
                       view->phase == sweep::Phase::kIdle && view->plan != nullptr;
  if (!is_calm) {
    calm_plan_ = nullptr;
    return;
  }
  if (calm_plan_ != view->plan) {
    calm_plan_ = view->plan;
    calm_since_ = now;
  }
  if (recorded_ == view->plan || now - calm_since_ < kCalm) return;
  const bool is_posted = Write([view, window](Ledger& ledger) {
    return ledger.Confirm(*view->snapshot, view->plan, window);
  });
  if (!is_posted) return;
  recorded_ = view->plan;
  state_ = State::kStands;
}

bool TableRecord::Begin(const sweep::FabricView& view, bool owns) {
  if (!owns) {
    state_ = State::kUnknown;  // Another one may write the record.
    waiting_.clear();
    return false;
  }
  // From now on nothing is written to any switch; and whoever claims the state later would find it
  // changed.
  if (!view.sm.has_link) {
    WriteChanges();
    return false;
  }
  if (has_failed_->exchange(false)) state_ = State::kUnknown;
  // Another SM writes tables, and these digests must not be believed once this one is master again.
  if (state_ == State::kStands && !view.sm.Manages()) state_ = State::kUnknown;
  if (state_ != State::kUnknown) return true;
  recorded_ = calm_plan_ = nullptr;
  if (!Write([](Ledger& ledger) { return ledger.Withdraw(); })) return false;
  state_ = State::kWithdrawn;
  return true;
}

void TableRecord::NoteWrites(const sweep::FabricView& view) {
  if (noted_ == view.table_writes) return;
  noted_ = view.table_writes;
  recorded_ = calm_plan_ = nullptr;
  if (view.plan == nullptr) state_ = State::kUnknown;  // It is withdrawn.
  if (state_ == State::kUnknown) return;
  if (waiting_.empty()) waiting_since_ = kNever;
  waiting_.push_back({view.snapshot, view.plan, noted_});
  if (waiting_.size() >= kMostWaiting) WriteChanges();
}

void TableRecord::OnEnd(bool owns) {
  if (owns) WriteChanges();
}

void TableRecord::WriteChanges() {
  if (waiting_.empty() || state_ == State::kUnknown) return;
  Write([changes = std::exchange(waiting_, {})](Ledger& ledger) {
    RowChanges rows;
    for (const Change& change : changes)
      ledger.Add(*change.snapshot, change.plan, *change.writes, rows);
    return rows;
  });
}

bool TableRecord::Write(std::function<RowChanges(Ledger&)> make) {
  const bool is_posted =
      post_([make = std::move(make), ledger = ledger_, failed = has_failed_](store::Store& store) {
        // A refusal loses nothing: the ledger still has the last plan that was written, and the
        // next change starts from it. The store itself reports why it refuses.
        absl::Status status = store.writable();
        if (status.ok()) {
          const RowChanges changes = make(*ledger);
          if (!changes.empty()) status = store.ChangeRows(changes);
        }
        if (!status.ok()) *failed = true;
      });
  if (!is_posted) state_ = State::kUnknown;
  return is_posted;
}

}  // namespace fabricd::shell
