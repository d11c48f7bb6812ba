// SPDX-License-Identifier: Apache-2.0
#include "sa/state/alias_table.h"

#include <algorithm>

#include "common/rng.h"
#include "common/status.h"
#include "sa/wire/row_codec.h"

namespace fabricd::sa {
namespace {

constexpr size_t kEntries = wire::GuidInfo::kEntries;
constexpr size_t kRecordBytes = wire::GuidInfoRecord::kBytes;
constexpr size_t kRowBytes = kRecordBytes + 9;  // Port, which entries.

// Numbers of GUIDInfoRecord's components.
constexpr unsigned kLid = 0, kBlock = 1, kFirstGuid = 4;

constexpr Guid kNoGuid(0xFFFFFFFFFFFFFFFF);  // What some drivers call an entry without one.
// Of an EUI-64: locally administered.
constexpr uint64_t kLocal = uint64_t{0x02} << 56, kBelowFirstByte = (uint64_t{1} << 56) - 1;

RowKey KeyOf(const fabric::AliasBlock& block) {
  return {AliasTable::kTable, fmt::format("{:016x} {:02}", block.port.value(), block.block)};
}

std::string RowOf(const fabric::AliasBlock& block) {
  std::string bytes = BytesOf(wire::GuidInfoRecord{Lid(), block.block, block.info});
  AppendNumber(block.port.value(), bytes);
  bytes.push_back(static_cast<char>(block.said));
  return bytes;
}

uint8_t EntriesOf(uint64_t mask) { return static_cast<uint8_t>(mask >> kFirstGuid & 0xFF); }

// The block as clients are shown it; `without`: entries that are 0 there.
wire::GuidInfo Shown(const fabric::AliasBlock& block, uint8_t without) {
  wire::GuidInfo info = block.info;
  for (size_t entry = 0; entry < kEntries; ++entry)
    if ((without >> entry & 1) != 0) info.guids[entry] = Guid();
  if (block.block == 0) info.guids[0] = block.port;
  return info;
}

}  // namespace

absl::Status AliasTable::Load(const RowKey& key, const std::string& value) {
  fabric::AliasBlock loaded;
  if (value.size() == kRowBytes) {
    const auto record = RecordOf<wire::GuidInfoRecord>(value);
    loaded = {Guid(NumberAt(value, kRecordBytes)), record.block,
              static_cast<uint8_t>(value[kRowBytes - 1]), record.info};
  }
  if (!loaded.port || KeyOf(loaded) != key)
    return MakeStatus(absl::StatusCode::kDataLoss, "aliases {}: no row of fabricd's", key.key);
  for (const Guid alias : loaded.info.guids)
    if (alias && !owners_.emplace(alias, loaded.port).second)
      return MakeStatus(absl::StatusCode::kDataLoss, "aliases {}: {} is there twice", key.key,
                        alias);
  blocks_[{loaded.port, loaded.block}] = loaded;
  snapshot_ = nullptr;
  return absl::OkStatus();
}

bool AliasTable::Import(const fabric::AliasBlock& block, RowChanges& rows) {
  if (blocks_.size() >= kMostBlocks || blocks_.contains({block.port, block.block})) return false;
  std::vector<Guid> taken;
  for (const Guid alias : block.info.guids) {
    if (!alias) continue;
    if (!owners_.emplace(alias, block.port).second) {
      for (const Guid mine : taken) owners_.erase(mine);
      return false;
    }
    taken.push_back(alias);
  }
  Keep(block, rows);
  return true;
}

std::shared_ptr<const fabric::AliasGuids> AliasTable::Snapshot() {
  if (snapshot_ != nullptr) return snapshot_;
  std::vector<fabric::AliasBlock> blocks;
  blocks.reserve(blocks_.size());
  for (const auto& [key, block] : blocks_) blocks.push_back(block);
  snapshot_ = std::make_shared<const fabric::AliasGuids>(std::move(blocks));
  return snapshot_;
}

uint16_t AliasTable::Find(const SaView& view, const Asker& asker, uint64_t mask,
                          const wire::GuidInfoRecord& record, Place& place) const {
  const bool whole = (mask >> kLid & 1) != 0 && (mask >> kBlock & 1) != 0;
  if (!whole || EntriesOf(mask) == 0) return wire::kSaStatusInsufficientComponents;
  const uint32_t number = view.ends().FindLid(record.lid);
  if (number == EndPorts::kNone) return wire::kSaStatusRequestInvalid;
  if (number != asker.end && !asker.trusted) return wire::kSaStatusRequestDenied;
  place.end = &view.ends()[number];
  const size_t first = record.block * kEntries;
  const size_t cap = view.NodeOf(*place.end).port(place.end->ref.port).info.guid_cap;
  if (first >= cap) return wire::kSaStatusRequestInvalid;
  place.capacity = std::min(kEntries, cap - first);
  const auto found = blocks_.find({place.end->guid, record.block});
  if (found != blocks_.end())
    place.block = found->second;
  else if (blocks_.size() >= kMostBlocks)
    return wire::kSaStatusNoResources;
  place.block.port = place.end->guid;
  place.block.block = record.block;
  return wire::kStatusOk;
}

bool AliasTable::IsTaken(const SaView& view, Guid alias) const {
  return owners_.contains(alias) || view.ends().FindGuid(alias) != EndPorts::kNone;
}

Guid AliasTable::MakeAlias(const SaView& view, Guid port, size_t index) const {
  uint64_t low = Rng(port.value() * 257 + index).Next();
  while (IsTaken(view, Guid(kLocal | (low & kBelowFirstByte)))) ++low;
  return Guid(kLocal | (low & kBelowFirstByte));
}

void AliasTable::Put(Guid alias, size_t entry, fabric::AliasBlock& block,
                     std::vector<AliasChange>& changes) {
  Guid& place = block.info.guids[entry];
  block.said |= static_cast<uint8_t>(1u << entry);
  if (place == alias) return;
  if (place) {
    owners_.erase(place);
    changes.push_back({block.port, place, false});
  }
  if (alias) {
    owners_.emplace(alias, block.port);
    changes.push_back({block.port, alias, true});
  }
  place = alias;
}

void AliasTable::Keep(const fabric::AliasBlock& block, RowChanges& rows) {
  const auto found = blocks_.find({block.port, block.block});
  if (found != blocks_.end() ? found->second == block : block.said == 0) return;
  blocks_[{block.port, block.block}] = block;
  rows[KeyOf(block)] = RowOf(block);
  snapshot_ = nullptr;
}

uint16_t AliasTable::Set(const SaView& view, const Asker& asker, uint64_t mask, const InUse& in_use,
                         wire::GuidInfoRecord& record, RowChanges& rows,
                         std::vector<AliasChange>& changes) {
  Place place;
  if (const uint16_t status = Find(view, asker, mask, record, place)) return status;
  uint8_t refused = 0;
  for (size_t entry = 0; entry < kEntries; ++entry) {
    if ((EntriesOf(mask) >> entry & 1) == 0) continue;
    const size_t index = record.block * kEntries + entry;
    if (index == 0) continue;  // The port's own: read-only.
    const Guid held = place.block.info.guids[entry];
    Guid wanted = record.info.guids[entry];
    bool may = entry < place.capacity && wanted != kNoGuid;
    if (may && !wanted) wanted = held ? held : MakeAlias(view, place.end->guid, index);
    may = may && (wanted == held || (!IsTaken(view, wanted) && !(held && in_use(held))));
    if (may)
      Put(wanted, entry, place.block, changes);
    else
      refused |= static_cast<uint8_t>(1u << entry);
  }
  Keep(place.block, rows);
  record.info = Shown(place.block, refused);
  return wire::kStatusOk;
}

uint16_t AliasTable::Delete(const SaView& view, const Asker& asker, uint64_t mask,
                            const InUse& in_use, wire::GuidInfoRecord& record, RowChanges& rows,
                            std::vector<AliasChange>& changes) {
  Place place;
  if (const uint16_t status = Find(view, asker, mask, record, place)) return status;
  uint8_t entries = EntriesOf(mask);
  if (record.block == 0) entries &= 0xFE;
  const auto each = [&](auto&& visit) {
    for (size_t entry = 0; entry < place.capacity; ++entry)
      if ((entries >> entry & 1) != 0) visit(entry);
  };
  bool free = true;
  each([&](size_t entry) {
    const Guid held = place.block.info.guids[entry];
    free = free && !(held && in_use(held));
  });
  if (!free) return wire::kSaStatusRequestDenied;
  each([&](size_t entry) { Put(Guid(), entry, place.block, changes); });
  Keep(place.block, rows);
  record.info = Shown(place.block, 0);
  return wire::kStatusOk;
}

}  // namespace fabricd::sa
