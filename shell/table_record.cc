// SPDX-License-Identifier: Apache-2.0
#include "shell/table_record.h"

#include <algorithm>
#include <array>
#include <bit>
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
  RowChanges Withdraw() {
    stands_ = false;
    last_ = base_ = 0;
    bytes_.fill(0);
    plan_ = nullptr;
    return WithdrawnTables();
  }

  RowChanges Add(const fabric::FabricSnapshot& snapshot, const Plan& plan,
                 const sweep::TableWrites& writes) {
    if (!stands_) return {};
    const std::string text = ChangeText(last_ + 1, ChangeTo(snapshot, *plan, writes));
    const size_t since_base = BytesSince(base_) + text.size();
    if (text.size() > kMostOfChange || since_base > kMostBytes ||
        last_ + 1 - base_ >= RecordedTables::kSlots)
      return Withdraw();
    RowChanges changes;
    ++last_;
    bytes_[last_ % RecordedTables::kSlots] = text.size();
    changes[RecordedTables::ChangeKey(last_)] = text;
    DropOldest(changes);
    plan_ = plan;
    return changes;
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
    changes[RecordedTables::WindowKey()] = std::to_string(window);
    for (size_t i = 0; i < RecordedTables::kDigestRows; ++i)
      changes[RecordedTables::DigestKey(i)] =
          i < texts.size() ? std::optional(std::move(texts[i])) : std::nullopt;
    changes[RecordedTables::BaseKey()] = std::to_string(last_);
    stands_ = true;
    base_ = last_;
    plan_ = plan;
    return changes;
  }

 private:
  struct Entry {
    std::shared_ptr<const routing::Row> row;
    uint64_t digest = 0;
  };

  // Most rows of the next record are the same.
  uint64_t Digest(NodeIndex node, const std::shared_ptr<const routing::Row>& row) {
    if (node.value() >= digests_.size()) digests_.resize(node.value() + 1);
    Entry& entry = digests_[node.value()];
    if (entry.row != row) entry = {row, DigestOf(*row)};
    return entry.digest;
  }

  TableChange ChangeTo(const fabric::FabricSnapshot& snapshot, const routing::RoutingPlan& plan,
                       const sweep::TableWrites& writes) const {
    TableChange change;
    for (const auto& [index, block] : writes)
      if (const fabric::Node* node = snapshot.node(index))
        change.switches[node->guid()].blocks.push_back(block);
    for (auto& [guid, own] : change.switches) SortUnique(own.blocks);
    for (const routing::ChangedBlock& block : routing::DiffPlans(*plan_, plan).blocks) {
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

  size_t BytesSince(uint64_t number) const {
    size_t sum = 0;
    for (uint64_t each = number + 1; each <= last_; ++each)
      sum += bytes_[each % RecordedTables::kSlots];
    return sum;
  }
  // Changes that the digests include are kept for nodes that have read their tables before, as far
  // as there is room.
  void DropOldest(RowChanges& changes) {
    const uint64_t kept = RecordedTables::kSlots;
    uint64_t oldest = last_ > kept ? last_ - kept : 0;
    for (size_t sum = BytesSince(oldest); sum > kMostBytes;) {
      size_t& bytes = bytes_[++oldest % kept];
      sum -= std::exchange(bytes, 0);
      changes[RecordedTables::ChangeKey(oldest)] = std::nullopt;
    }
  }

  bool stands_ = false;
  uint64_t last_ = 0;                                   // Number of the last change.
  uint64_t base_ = 0;                                   // That the digests include.
  Plan plan_;                                           // Of the last change, or of the digests.
  std::array<size_t, RecordedTables::kSlots> bytes_{};  // Of each change; 0: dropped.
  std::vector<Entry> digests_;                          // [NodeIndex]
};

// ---- on the core's thread

TableRecord::TableRecord(Post post) : post_(std::move(post)), ledger_(std::make_shared<Ledger>()) {}
TableRecord::~TableRecord() = default;

void TableRecord::OnView(const std::shared_ptr<const sweep::FabricView>& view) {
  if (!Begin(*view)) return;
  NoteWrites(*view);
}

void TableRecord::OnTurn(const std::shared_ptr<const sweep::FabricView>& view, uint32_t window,
                         Instant now) {
  if (!Begin(*view)) return;
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

bool TableRecord::Begin(const sweep::FabricView& view) {
  // What it would write now is not written to any switch; and whoever claims the state meanwhile
  // would find it changed.
  if (!view.HasLink()) return false;
  if (view.sm.state != wire::SmState::kMaster) {
    state_ = State::kUnknown;  // Another one may write the record.
    return false;
  }
  if (has_failed_->exchange(false)) state_ = State::kUnknown;
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
  if (state_ == State::kWithdrawn || noted_ == nullptr || view.plan == nullptr) return;
  Write([snapshot = view.snapshot, plan = view.plan, writes = noted_](Ledger& ledger) {
    return ledger.Add(*snapshot, plan, *writes);
  });
}

bool TableRecord::Write(std::function<RowChanges(Ledger&)> make) {
  const bool is_posted =
      post_([make = std::move(make), ledger = ledger_, failed = has_failed_](store::Store& store) {
        // What could not be written is written later; the store says why it refuses.
        const RowChanges changes = make(*ledger);
        if (!changes.empty() && !store.ChangeRows(changes).ok()) *failed = true;
      });
  if (!is_posted) state_ = State::kUnknown;
  return is_posted;
}

}  // namespace fabricd::shell
