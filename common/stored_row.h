// SPDX-License-Identifier: Apache-2.0
// StoredRow: one entry of a part's durable state, in that part's own encoding, which the store does
// not interpret.
#pragma once

#include <compare>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace fabricd {

struct RowKey {
  std::string table;  // "service"
  std::string key;    // Text that an operator can read; unique within the table.
  friend auto operator<=>(const RowKey&, const RowKey&) = default;
};
// The new content of a row. nullopt: the row is deleted.
using RowChanges = std::map<RowKey, std::optional<std::string>>;
using StoredRows = std::map<RowKey, std::string>;

}  // namespace fabricd
