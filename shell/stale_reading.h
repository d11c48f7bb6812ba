// SPDX-License-Identifier: Apache-2.0
// StaleReading: whether a waiting node has to read the fabric again before its next sweep is due.
// Then the master holds tables that this node has neither read nor computed, and whose changes are
// not in the record, for example because etcd was away or the master has started again. A takeover
// would read those tables while jobs wait for it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include <absl/container/flat_hash_map.h>

#include "common/ids.h"
#include "common/time.h"
#include "shell/recorded_tables.h"
#include "sweep/interface/switch_tables.h"

namespace fabricd::shell {

class StaleReading {
 public:
  // A waiting node sweeps once a minute. So it sweeps at most twice as often.
  static constexpr Duration kBetween = std::chrono::minutes(1);
  // A takeover may read so many of the recorded switches without much delay: one of kShare.
  static constexpr size_t kShare = 16;

  // Call when stored rows have changed. `master`: its port, 0: not known. True: read again.
  bool Look(const sweep::ReaderTables& known, const RecordedTables& record, Guid master,
            Instant now);

 private:
  // Of the last comparison: it needs a digest of each table.
  std::shared_ptr<const sweep::ReaderTables::Rows> read_;
  absl::flat_hash_map<Guid, uint64_t> digests_;
  Instant next_ = Instant::min();
};

}  // namespace fabricd::shell
