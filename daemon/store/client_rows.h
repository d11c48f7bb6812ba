// SPDX-License-Identifier: Apache-2.0
// Which rows of the store are of clients of Subnet Administration: those of no other part.
#pragma once

#include "common/stored_row.h"
#include "policy/partition_state.h"
#include "policy/verdict/verdict_rows.h"
#include "shell/table_record.h"
#include "sweep/takeover/takeover_record.h"

namespace fabricd::daemon {

inline bool IsClientRow(const RowKey& key) {
  return !shell::IsTableRow(key) && !sweep::IsTakeoverRow(key) && !policy::IsPartitionRow(key) &&
         !policy::IsVerdictRow(key);
}

}  // namespace fabricd::daemon
