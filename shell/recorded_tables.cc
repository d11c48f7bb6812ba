// SPDX-License-Identifier: Apache-2.0
#include "shell/recorded_tables.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "common/number_text.h"
#include "common/sort_unique.h"
#include "common/stable_hash.h"
#include "common/status.h"

namespace fabricd::shell {
namespace {

constexpr char kTable[] = "switch_tables";
constexpr std::string_view kDigests = "digests/", kChanges = "changes/";
constexpr std::string_view kNothing = "-";

// Calls each(part) until it returns false. Returns whether it never did.
template <typename Each>
bool ForEachPart(std::string_view text, char separator, Each&& each) {
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    if (!each(text.substr(0, end))) return false;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return true;
}

// "A B C" → exactly these parts; empty: they are not so many.
std::vector<std::string_view> Split(std::string_view text, char separator, size_t count) {
  std::vector<std::string_view> parts;
  ForEachPart(text, separator, [&](std::string_view part) {
    parts.push_back(part);
    return true;
  });
  return parts.size() == count ? parts : std::vector<std::string_view>();
}

// "0x0002c90300a1b2c3 00d1f2a3b4c5d6e7"
bool ReadDigest(std::string_view line, RecordedTables& record) {
  const auto parts = Split(line, ' ', 2);
  if (parts.empty()) return false;
  const auto guid = ParseHex<uint64_t>(parts[0]);
  const auto digest = ParseHex<uint64_t>(parts[1]);
  if (!guid || !digest) return false;
  record.digests[Guid(*guid)] = *digest;
  return true;
}

bool ReadBlock(std::string_view text, TableChange::OfSwitch& change) {
  const auto block = ParseHex<uint16_t>(text);
  if (!block || *block > 0xFFFF / routing::Row::kBlock) return false;
  change.blocks.push_back(*block);
  return true;
}

// "4c:3:12"
bool ReadEntry(std::string_view text, TableChange::OfSwitch& change) {
  const auto parts = Split(text, ':', 3);
  if (parts.empty()) return false;
  const auto lid = ParseHex<uint16_t>(parts[0]);
  const auto before = ParseHex<uint8_t>(parts[1]), after = ParseHex<uint8_t>(parts[2]);
  if (!lid || !before || !after) return false;
  change.entries.push_back({*lid, *before, *after});
  return true;
}

// "0x0002c90300a1b2c3 0,1f 4c:3:12,7e:ff:2"
bool ReadSwitch(std::string_view line, TableChange& change) {
  const auto parts = Split(line, ' ', 3);
  if (parts.empty()) return false;
  const auto guid = ParseHex<uint64_t>(parts[0]);
  if (!guid) return false;
  TableChange::OfSwitch& own = change.switches[Guid(*guid)];
  return (parts[1] == kNothing ||
          ForEachPart(parts[1], ',', [&](auto part) { return ReadBlock(part, own); })) &&
         (parts[2] == kNothing ||
          ForEachPart(parts[2], ',', [&](auto part) { return ReadEntry(part, own); }));
}

bool ReadChanges(std::string_view text, RecordedTables& record) {
  TableChange* change = nullptr;
  return ForEachPart(text, '\n', [&](std::string_view line) {
    if (line.find(' ') != std::string_view::npos)
      return change != nullptr && ReadSwitch(line, *change);
    const auto number = ParseNumber<uint64_t>(line);
    if (!number || *number == 0) return false;
    change = &record.changes[*number];
    return true;
  });
}

bool ReadRow(std::string_view key, std::string_view text, RecordedTables& record) {
  if (key.starts_with(kDigests))
    return ForEachPart(text, '\n', [&](auto line) { return ReadDigest(line, record); });
  if (key.starts_with(kChanges)) return ReadChanges(text, record);
  if (key != RecordedTables::BaseKey().key) return false;
  const auto base = ParseNumber<uint64_t>(text);
  record.base = base.value_or(0);
  return base.has_value();
}

void SetEntry(routing::Row& row, uint16_t lid, uint8_t port) {
  if (lid >= row.size() && port == routing::kNoRoute) return;
  if (lid >= row.size())
    row.Resize((lid / routing::Row::kBlock + 1) * routing::Row::kBlock, routing::kNoRoute);
  if (row[lid] != port) row.Set(lid, port);
}

// The changes of one switch, by number.
using OwnChanges = std::vector<std::pair<uint64_t, const TableChange::OfSwitch*>>;

absl::flat_hash_map<Guid, OwnChanges> BySwitch(const std::map<uint64_t, TableChange>& changes) {
  absl::flat_hash_map<Guid, OwnChanges> by_switch;
  for (const auto& [number, change] : changes)
    for (const auto& [guid, own] : change.switches) by_switch[guid].emplace_back(number, &own);
  return by_switch;
}

// `row` was read before or after any of these changes, or between. As it was with the digests.
routing::Row AtBase(routing::Row row, const OwnChanges& changes, uint64_t base) {
  for (const auto& [number, own] : changes)
    for (const auto& entry : own->entries)
      if (number <= base) SetEntry(row, entry.lid, entry.after);
  for (auto at = changes.rbegin(); at != changes.rend() && at->first > base; ++at)
    for (const auto& entry : at->second->entries) SetEntry(row, entry.lid, entry.before);
  return row;
}

void AddWrittenSince(uint64_t base, const OwnChanges& changes, std::vector<uint16_t>& blocks) {
  for (const auto& [number, own] : changes) {
    if (number <= base) continue;
    blocks.insert(blocks.end(), own->blocks.begin(), own->blocks.end());
    for (const auto& entry : own->entries)
      blocks.push_back(static_cast<uint16_t>(entry.lid / routing::Row::kBlock));
  }
}

// An entry beyond the end of a row is no route.
void AddDiffering(routing::Row a, routing::Row b, std::vector<uint16_t>& blocks) {
  const size_t size = std::max(a.size(), b.size());
  a.Resize(size, routing::kNoRoute);
  b.Resize(size, routing::kNoRoute);
  for (size_t block = 0; block < a.blocks(); ++block)
    if (!std::equal(a.block(block), a.block(block) + routing::Row::kBlock, b.block(block)))
      blocks.push_back(static_cast<uint16_t>(block));
}

const routing::Row* Find(const std::shared_ptr<const sweep::ReaderTables::Rows>& rows, Guid guid) {
  if (rows == nullptr) return nullptr;
  const auto found = rows->find(guid);
  return found == rows->end() ? nullptr : &found->second;
}

}  // namespace

// ---- rows

RowKey RecordedTables::DigestKey(size_t row) {
  return {kTable, fmt::format("{}{}", kDigests, row)};
}
RowKey RecordedTables::BaseKey() { return {kTable, "base"}; }
RowKey RecordedTables::ChangesKey(size_t slot) {
  return {kTable, fmt::format("{}{}", kChanges, slot)};
}
RowKey RecordedTables::WindowKey() { return {"tables", "window"}; }
RowKey RecordedTables::MarkKey() { return {"tables", "0"}; }

RowChanges WithdrawnTables() {
  RowChanges changes;
  for (size_t i = 0; i < RecordedTables::kDigestRows; ++i) {
    changes[RecordedTables::DigestKey(i)] = std::nullopt;
    changes[{"tables", std::to_string(i)}] = std::nullopt;  // The record of an earlier release.
  }
  for (size_t i = 0; i < RecordedTables::kSlots; ++i)
    changes[RecordedTables::ChangesKey(i)] = std::nullopt;
  changes[RecordedTables::BaseKey()] = std::nullopt;
  return changes;
}

std::string ChangeText(uint64_t number, const TableChange& change) {
  std::string text = fmt::format("{}\n", number);
  auto out = std::back_inserter(text);
  for (const auto& [guid, own] : change.switches) {
    fmt::format_to(out, "{} ", guid);
    for (size_t i = 0; i < own.blocks.size(); ++i)
      fmt::format_to(out, "{}{:x}", i == 0 ? "" : ",", own.blocks[i]);
    fmt::format_to(out, "{}", own.blocks.empty() ? "- " : " ");
    for (size_t i = 0; i < own.entries.size(); ++i)
      fmt::format_to(out, "{}{:x}:{:x}:{:x}", i == 0 ? "" : ",", own.entries[i].lid,
                     own.entries[i].before, own.entries[i].after);
    fmt::format_to(out, "{}", own.entries.empty() ? "-\n" : "\n");
  }
  return text;
}

absl::StatusOr<RecordedTables> LoadTables(const StoredRows& rows) {
  RecordedTables record;
  for (const auto& [key, text] : rows) {
    bool is_good = true;
    if (key == RecordedTables::WindowKey()) {
      record.window = ParseNumber<uint32_t>(text);
      is_good = record.window.has_value();
    } else if (key == RecordedTables::MarkKey()) {
      record.is_marked = text.empty();
    } else if (key.table == kTable) {
      is_good = ReadRow(key.key, text, record);
    }
    if (!is_good)
      return MakeStatus(absl::StatusCode::kDataLoss, "row {}/{} is damaged", key.table, key.key);
  }
  return record;
}

// ---- what it confirms

bool RecordedTables::IsComplete() const {
  if (!is_marked || digests.empty()) return false;
  uint64_t next = base;
  for (auto at = changes.upper_bound(base); at != changes.end(); ++at)
    if (at->first != ++next) return false;
  return true;
}

std::shared_ptr<const sweep::SwitchTables> Vouched(const sweep::ReaderTables& known,
                                                   const RecordedTables& record, Guid predecessor) {
  if (!record.IsComplete()) return nullptr;
  const bool is_of_another =
      known.master != Guid() && predecessor != Guid() && known.master != predecessor;
  const auto changes = BySwitch(record.changes);
  auto vouched = std::make_shared<sweep::SwitchTables>();
  for (const auto& [guid, digest] : record.digests) {
    const auto found = changes.find(guid);
    const OwnChanges& own = found == changes.end() ? OwnChanges() : found->second;
    const auto at_base = [&](const std::shared_ptr<const sweep::ReaderTables::Rows>& rows) {
      const routing::Row* row = Find(rows, guid);
      return row ? std::optional(AtBase(*row, own, record.base)) : std::nullopt;
    };
    auto read = at_base(known.read);
    std::vector<uint16_t> unread;
    if (read && DigestOf(*read) == digest) {
      vouched->rows.emplace(guid, *std::move(read));
    } else {
      auto computed = at_base(known.computed);
      if (!computed || DigestOf(*computed) != digest) continue;
      if (!read || is_of_another)
        vouched->computed.push_back(guid);
      else
        AddDiffering(*std::move(read), *computed, unread);
      vouched->rows.emplace(guid, *std::move(computed));
    }
    AddWrittenSince(record.base, own, unread);
    SortUnique(unread);
    if (!unread.empty()) vouched->unread.emplace(guid, std::move(unread));
  }
  std::sort(vouched->computed.begin(), vouched->computed.end());
  if (vouched->rows.empty() || vouched->bytes() > kMostVouchedBytes) return nullptr;
  return vouched;
}

uint64_t DigestOf(const routing::Row& row) {
  size_t used = row.size();
  while (used > 0 && row[used - 1] == routing::kNoRoute) --used;
  StableHash hash;
  for (size_t begin = 0, page = 0; begin < used; begin += routing::Row::kPage, ++page)
    hash.Add({reinterpret_cast<const char*>(row.page(page)),
              std::min(routing::Row::kPage, used - begin)});
  return hash.value();
}

}  // namespace fabricd::shell
