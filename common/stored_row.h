// SPDX-License-Identifier: Apache-2.0
// StoredRow: one entry of a part's durable state, in that part's own encoding. The store keeps rows
// and knows nothing of what is in them.
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
// What a row is to hold; nullopt: it is to be gone.
using RowChanges = std::map<RowKey, std::optional<std::string>>;
using StoredRows = std::map<RowKey, std::string>;

}  // namespace fabricd
