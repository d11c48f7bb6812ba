// SPDX-License-Identifier: Apache-2.0
// Rows of groups and of their members in the store.
#pragma once

#include <cstddef>
#include <string>

#include "common/stored_row.h"
#include "mad/wire/sa_records.h"
#include "sa/state/client_state.h"

namespace fabricd::sa {

inline constexpr char kGroupTable[] = "group", kMemberTable[] = "member";
inline constexpr size_t kGroupRowBytes = wire::McMemberRecord::kBytes + 1, kMemberRowBytes = 17;

RowKey KeyOf(Gid mgid);
RowKey KeyOf(Gid mgid, Gid gid);
std::string RowOf(const Group& group);
std::string RowOf(const Member& member);
// The GID that stands at `at` in a key; false: none does.
bool ParseGid(const std::string& text, size_t at, Gid& gid);

}  // namespace fabricd::sa
