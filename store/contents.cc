// SPDX-License-Identifier: Apache-2.0
#include "store/contents.h"

#include <algorithm>
#include <sstream>
#include <string_view>
#include <utility>

#include "common/number_text.h"
#include "common/status.h"
#include "store/hold_text.h"

namespace fabricd::store {
namespace {

constexpr char kLids[] = "lid/", kHolds[] = "hold/", kRows[] = "row/";
constexpr size_t kFaultsShown = 5;

bool HasPrefix(const std::string& text, const char* prefix) { return text.starts_with(prefix); }

std::optional<Guid> GuidOf(std::string_view text) {
  const auto value = text.size() == 18 && HasHexPrefix(text) ? ParseHex(text) : std::nullopt;
  return value ? std::optional(Guid(*value)) : std::nullopt;
}

std::optional<LidRecord> LidOf(const std::string& key, const std::string& text) {
  const auto guid = GuidOf(std::string_view(key).substr(sizeof kLids - 1));
  std::istringstream words(text);
  std::string lid_text, lmc_text, seen_text, more;
  if (!guid || !(words >> lid_text >> lmc_text >> seen_text) || words >> more) return std::nullopt;
  const auto lid = ParseNumber<uint16_t>(lid_text);
  const auto lmc = ParseNumber<uint8_t>(lmc_text);
  const auto seen = ParseNumber<int64_t>(seen_text);
  if (!lid || !lmc || !seen) return std::nullopt;
  return LidRecord{*guid, Lid(*lid), *lmc, *seen};
}

std::optional<RowKey> RowKeyOf(const std::string& key) {
  const size_t begin = sizeof kRows - 1, slash = key.find('/', begin);
  if (slash == std::string::npos || slash == begin) return std::nullopt;
  return RowKey{key.substr(begin, slash - begin), key.substr(slash + 1)};
}

std::optional<uint64_t> HoldIdOf(const std::string& key) {
  return ParseNumber<uint64_t>(std::string_view(key).substr(sizeof kHolds - 1));
}

// All pairs that share a LID, and not only the first.
void CheckAllLids(std::vector<LidRecord>& records, std::vector<std::string>& faults) {
  const auto by_base = [](const LidRecord& a, const LidRecord& b) {
    return a.base_lid < b.base_lid;
  };
  std::stable_sort(records.begin(), records.end(), by_base);
  std::vector<LidRecord> good;
  for (const LidRecord& record : records) {
    std::vector<LidRecord> both = {record};
    if (!good.empty()) both.insert(both.begin(), good.back());
    if (const absl::Status fault = CheckLids(both); !fault.ok())
      faults.push_back(fmt::format("{}: {}", LidKey(record.port_guid), Message(fault)));
    else
      good.push_back(record);
  }
  records = std::move(good);
  std::sort(records.begin(), records.end(),
            [](const LidRecord& a, const LidRecord& b) { return a.port_guid < b.port_guid; });
}

void AddHold(const std::string& key, const std::string& text, policy::StoredHolds& holds,
             std::vector<std::string>& faults) {
  policy::Hold hold;
  const auto id = HoldIdOf(key);
  if (id && ParseHold(text, hold) && hold.id == *id)
    holds.holds.push_back(std::move(hold));
  else
    faults.push_back(fmt::format("{}: no hold", key));
}

}  // namespace

std::string CountText(const Contents& contents) {
  return fmt::format("{} LIDs, {} holds, {} rows", contents.lids.size(),
                     contents.holds.holds.size(), contents.rows.size());
}

std::string LidKey(Guid port_guid) { return fmt::format("{}{}", kLids, port_guid); }

std::string LidText(const LidRecord& record) {
  return fmt::format("{} {} {}", record.base_lid.value(), record.lmc, record.last_seen);
}

std::string HoldKey(uint64_t id) { return fmt::format("{}{}", kHolds, id); }

std::string RowKeyText(const RowKey& key) {
  return fmt::format("{}{}/{}", kRows, key.table, key.key);
}

FlatRows Flatten(const Contents& contents) {
  FlatRows flat;
  for (const LidRecord& record : contents.lids) flat[LidKey(record.port_guid)] = LidText(record);
  for (const policy::Hold& hold : contents.holds.holds) flat[HoldKey(hold.id)] = HoldText(hold);
  if (contents.holds.highest_id != 0)
    flat[kHoldHighestKey] = std::to_string(contents.holds.highest_id);
  for (const auto& [key, value] : contents.rows) flat[RowKeyText(key)] = value;
  return flat;
}

Contents Unflatten(const FlatRows& rows, std::vector<std::string>& faults) {
  Contents contents;
  policy::StoredHolds& holds = contents.holds;
  for (const auto& [key, value] : rows) {
    if (HasPrefix(key, kLids)) {
      if (const auto record = LidOf(key, value))
        contents.lids.push_back(*record);
      else
        faults.push_back(fmt::format("{}: no LID record: '{}'", key, value));
    } else if (HasPrefix(key, kHolds)) {
      AddHold(key, value, holds, faults);
    } else if (key == kHoldHighestKey) {
      const auto highest = ParseNumber<uint64_t>(value);
      holds.highest_id = highest.value_or(0);
      if (!highest) faults.push_back(fmt::format("{}: no number: '{}'", key, value));
    } else if (const auto row = HasPrefix(key, kRows) ? RowKeyOf(key) : std::nullopt) {
      contents.rows[*row] = value;
    } else {
      faults.push_back(fmt::format("{}: no key of this schema", key));
    }
  }
  std::sort(holds.holds.begin(), holds.holds.end(),
            [](const policy::Hold& a, const policy::Hold& b) { return a.id < b.id; });
  if (!holds.holds.empty() && holds.holds.back().id > holds.highest_id)
    faults.push_back(fmt::format("{}: {} is below the hold {}", kHoldHighestKey, holds.highest_id,
                                 holds.holds.back().id));
  CheckAllLids(contents.lids, faults);
  return contents;
}

absl::StatusOr<Contents> Unflatten(const FlatRows& rows, const std::string& where) {
  std::vector<std::string> faults;
  Contents contents = Unflatten(rows, faults);
  if (faults.empty()) return contents;
  const size_t more = faults.size() - std::min(faults.size(), kFaultsShown);
  faults.resize(faults.size() - more);
  return MakeStatus(absl::StatusCode::kDataLoss, "{}: {}{}", where, fmt::join(faults, "; "),
                    more > 0 ? fmt::format("; {} more", more) : "");
}

FlatChanges Difference(const FlatRows& before, const FlatRows& after) {
  FlatChanges changes;
  for (const auto& [key, value] : before)
    if (!after.contains(key)) changes[key] = std::nullopt;
  for (const auto& [key, value] : after) {
    const auto known = before.find(key);
    if (known == before.end() || known->second != value) changes[key] = value;
  }
  return changes;
}

void Apply(const FlatChanges& changes, FlatRows& rows) {
  for (const auto& [key, value] : changes) {
    if (value)
      rows[key] = *value;
    else
      rows.erase(key);
  }
}

absl::StatusOr<Contents> ReadContents(Store& store) {
  auto lids = store.LoadLids();
  if (!lids.ok()) return lids.status();
  auto holds = store.LoadHolds();
  if (!holds.ok()) return holds.status();
  auto rows = store.LoadRows();
  if (!rows.ok()) return rows.status();
  return Contents{*std::move(lids), *std::move(holds), *std::move(rows)};
}

absl::Status WriteChanges(Store& store, const FlatChanges& changes) {
  std::vector<Guid> ports_gone;
  std::vector<uint64_t> holds_gone;
  RowChanges rows;
  FlatRows put;
  for (const auto& [key, value] : changes) {
    if (HasPrefix(key, kRows)) {
      if (const auto row = RowKeyOf(key)) rows[*row] = value;
    } else if (value) {
      put[key] = *value;
    } else if (HasPrefix(key, kLids)) {
      if (const auto guid = GuidOf(std::string_view(key).substr(sizeof kLids - 1)))
        ports_gone.push_back(*guid);
    } else if (HasPrefix(key, kHolds)) {
      if (const auto id = HoldIdOf(key)) holds_gone.push_back(*id);
    }
  }
  std::vector<std::string> faults;  // Of a part of the whole: the store itself checks that.
  Contents contents = Unflatten(put, faults);
  FABRICD_RETURN_IF_ERROR(store.RemoveLids(ports_gone));
  FABRICD_RETURN_IF_ERROR(store.PutLids(contents.lids));
  if (contents.holds.highest_id != 0) {
    // A store raises its highest id with each hold that is put; this one is gone, or put again.
    // It never lowers it: after a hold that is undone, the last one may stand.
    policy::Hold last;
    last.id = contents.holds.highest_id;
    const auto known = store.LoadHolds();
    if (!known.ok()) return known.status();
    const bool is_put = !contents.holds.holds.empty() && contents.holds.holds.back().id == last.id;
    if (!is_put && known->highest_id < last.id) {
      contents.holds.holds.push_back(last);
      holds_gone.push_back(last.id);
    }
  }
  FABRICD_RETURN_IF_ERROR(store.ChangeHolds(contents.holds.holds, holds_gone));
  return store.ChangeRows(rows);
}

}  // namespace fabricd::store
