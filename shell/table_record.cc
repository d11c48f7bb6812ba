// SPDX-License-Identifier: Apache-2.0
#include "shell/table_record.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "common/number_text.h"
#include "common/stable_hash.h"
#include "common/status.h"

namespace fabricd::shell {
namespace {

constexpr char kTable[] = "tables";
constexpr char kWindow[] = "window";
// Of a record: as many as a subnet's unicast LIDs could name.
constexpr size_t kMostRows = 0xC000 / TableRecord::kOfRow;

// "0x0002c90300a1b2c3 00d1f2a3b4c5d6e7"
bool ReadLine(std::string_view line, RecordedTables& record) {
  const size_t space = line.find(' ');
  if (space == std::string_view::npos) return false;
  const auto guid = ParseHex<uint64_t>(line.substr(0, space));
  const auto digest = ParseHex<uint64_t>(line.substr(space + 1));
  if (!guid || !digest) return false;
  record.digests[Guid(*guid)] = *digest;
  return true;
}

}  // namespace

uint64_t DigestOf(const routing::Row& row) {
  size_t used = row.size();
  while (used > 0 && row[used - 1] == routing::kNoRoute) --used;
  StableHash hash;
  for (size_t begin = 0, page = 0; begin < used; begin += routing::Row::kPage, ++page)
    hash.Add({reinterpret_cast<const char*>(row.page(page)),
              std::min(routing::Row::kPage, used - begin)});
  return hash.value();
}

absl::StatusOr<RecordedTables> LoadTables(const StoredRows& rows) {
  RecordedTables record;
  for (const auto& [key, text] : rows) {
    if (key.table != kTable) continue;
    bool is_good = true;
    if (key.key == kWindow) {
      record.window = ParseNumber<uint32_t>(text);
      is_good = record.window.has_value();
    } else {
      for (std::string_view rest = text; is_good && !rest.empty();) {
        const size_t end = std::min(rest.find('\n'), rest.size());
        is_good = ReadLine(rest.substr(0, end), record);
        rest.remove_prefix(std::min(end + 1, rest.size()));
      }
    }
    if (!is_good)
      return MakeStatus(absl::StatusCode::kDataLoss, "row {}/{} is damaged", key.table, key.key);
  }
  return record;
}

std::shared_ptr<const sweep::SwitchTables> Vouched(const sweep::SwitchTables& read,
                                                   const RecordedTables& record) {
  auto vouched = std::make_shared<sweep::SwitchTables>();
  for (const auto& [guid, row] : read.rows) {
    const auto found = record.digests.find(guid);
    if (found != record.digests.end() && found->second == DigestOf(row))
      vouched->rows.emplace(guid, row);
  }
  if (vouched->rows.empty() || vouched->bytes() > kMostVouchedBytes) return nullptr;
  return vouched;
}

struct TableRecord::Cache {
  struct Entry {
    std::shared_ptr<const routing::Row> row;
    uint64_t digest = 0;
  };
  std::vector<Entry> entries;  // [NodeIndex]

  uint64_t Digest(NodeIndex node, const std::shared_ptr<const routing::Row>& row) {
    if (node.value() >= entries.size()) entries.resize(node.value() + 1);
    Entry& entry = entries[node.value()];
    if (entry.row != row) entry = {row, DigestOf(*row)};
    return entry.digest;
  }
};

void TableRecord::Look(const std::shared_ptr<const sweep::FabricView>& view, uint32_t window,
                       Instant now) {
  if (view->sm.state != wire::SmState::kMaster) {
    known_ = Known::kNothing;  // Another one may write the record.
    return;
  }
  if (has_failed_->exchange(false)) known_ = Known::kNothing;
  const bool is_calm = view->sm.Manages() && view->subnet_up && view->plan_stands &&
                       view->phase == sweep::Phase::kIdle && view->plan != nullptr;
  if (!is_calm) {
    calm_plan_ = nullptr;
    if (known_ != Known::kNoRecord) TakeBack();
    return;
  }
  if (calm_plan_ != view->plan) {
    calm_plan_ = view->plan;
    calm_since_ = now;
  }
  if (known_ == Known::kRecord && recorded_ == view->plan) return;
  if (now - calm_since_ >= kCalm) Make(*view, window);
}

bool TableRecord::Write(std::function<RowChanges()> changes) {
  return post_([changes = std::move(changes), failed = has_failed_](store::Store& store) {
    // What could not be written is written later; the store says why it refuses.
    if (!store.ChangeRows(changes()).ok()) *failed = true;
  });
}

void TableRecord::TakeBack() {
  const auto nothing = [] {
    RowChanges changes;
    for (size_t i = 0; i < kMostRows; ++i) changes[{kTable, std::to_string(i)}] = std::nullopt;
    return changes;
  };
  if (Write(nothing)) known_ = Known::kNoRecord;
}

void TableRecord::Make(const sweep::FabricView& view, uint32_t window) {
  if (cache_ == nullptr) cache_ = std::make_shared<Cache>();
  const auto record = [plan = view.plan, snapshot = view.snapshot, cache = cache_, window] {
    std::vector<std::string> texts(1);
    size_t count = 0;
    snapshot->ForEachNode([&](const fabric::Node& node) {
      if (!node.IsSwitch() || !plan->HasRow(node.index)) return;
      if (count++ % kOfRow == 0 && count > 1) texts.emplace_back();
      texts.back() += fmt::format("{} {:016x}\n", node.guid(),
                                  cache->Digest(node.index, plan->rows[node.index.value()]));
    });
    RowChanges changes;
    changes[{kTable, kWindow}] = std::to_string(window);
    for (size_t i = 0; i < kMostRows; ++i)
      changes[{kTable, std::to_string(i)}] =
          i < texts.size() ? std::optional(std::move(texts[i])) : std::nullopt;
    return changes;
  };
  if (!Write(record)) return;
  known_ = Known::kRecord;
  recorded_ = view.plan;
}

}  // namespace fabricd::shell
