// SPDX-License-Identifier: Apache-2.0
#include "telemetry/incident_log.h"

#include <algorithm>
#include <limits>

namespace fabricd::telemetry {

void IncidentLog::Add(PortNum port, Incident what, Millis at) {
  constexpr Millis kJoined = 60 * 1000;
  for (size_t i = entries_.size(); i-- > 0 && entries_[i].at / kJoined == at / kJoined;) {
    IncidentEntry& entry = entries_[i];
    if (entry.port != port || entry.what != what) continue;
    entry.at = at;
    if (entry.count < std::numeric_limits<uint16_t>::max()) ++entry.count;
    std::rotate(entries_.begin() + static_cast<ptrdiff_t>(i),
                entries_.begin() + static_cast<ptrdiff_t>(i) + 1, entries_.end());
    return;
  }
  std::erase_if(entries_, [&](const IncidentEntry& e) { return e.at + kSpan < at; });
  if (entries_.size() >= kMaxEntries) entries_.erase(entries_.begin());
  entries_.push_back({at, 1, port, what});
}

}  // namespace fabricd::telemetry
