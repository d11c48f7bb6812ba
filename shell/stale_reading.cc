// SPDX-License-Identifier: Apache-2.0
#include "shell/stale_reading.h"

namespace fabricd::shell {

bool StaleReading::Look(const sweep::ReaderTables& known, const RecordedTables& record, Guid master,
                        Instant now) {
  if (known.read == nullptr || now < next_ || !record.IsComplete()) return false;
  if (known.read == read_ && record.digests == digests_) return false;
  read_ = known.read;
  digests_ = record.digests;
  const auto vouched = Vouched(known, record, master);
  const size_t confirmed = vouched == nullptr ? 0 : vouched->rows.size();
  if ((digests_.size() - confirmed) * kShare <= digests_.size()) return false;
  next_ = now + kBetween;
  return true;
}

}  // namespace fabricd::shell
