// SPDX-License-Identifier: Apache-2.0
#include "telemetry/error_log.h"

#include <algorithm>
#include <limits>

namespace fabricd::telemetry {
namespace {

constexpr Millis kMinute = 60 * 1000, kHour = 60 * kMinute;

bool SameCounter(const ErrorEntry& a, const ErrorEntry& b) {
  return a.port == b.port && a.counter == b.counter && a.epoch == b.epoch &&
         a.at_change == b.at_change;
}

void Join(ErrorEntry& into, const ErrorEntry& from) {
  const uint64_t sum = uint64_t{into.count} + from.count;
  into.count = static_cast<uint32_t>(std::min<uint64_t>(sum, std::numeric_limits<uint32_t>::max()));
  into.at = std::max(into.at, from.at);
  into.readings = static_cast<uint16_t>(
      std::min<int>(into.readings + from.readings, ErrorEntry::kMostReadings) & 0xF);
}

}  // namespace

void ErrorLog::Add(const ErrorEntry& entry) {
  for (size_t i = entries_.size(); i-- > 0;) {
    if (entries_[i].at / kMinute != entry.at / kMinute) break;
    if (SameCounter(entries_[i], entry)) {
      Join(entries_[i], entry);
      // Entries stay in the order of their times.
      std::rotate(entries_.begin() + static_cast<ptrdiff_t>(i),
                  entries_.begin() + static_cast<ptrdiff_t>(i) + 1, entries_.end());
      return;
    }
  }
  if (entries_.size() >= max_entries_) Shorten(entry.at);
  entries_.push_back(entry);
}

void ErrorLog::MarkChange(PortNum port, Millis since) {
  for (size_t i = entries_.size(); i-- > 0 && entries_[i].at > since;) {
    if (entries_[i].port == port) entries_[i].at_change = 1;
  }
}

void ErrorLog::Forget(PortNum port) {
  std::erase_if(entries_, [&](const ErrorEntry& entry) { return entry.port == port; });
}

void ErrorLog::Shorten(Millis now) {
  const Millis oldest = now > kSpan ? now - kSpan : 0;
  std::erase_if(entries_, [&](const ErrorEntry& e) { return e.at < oldest; });
  covered_since_ = std::max(covered_since_, oldest);
  std::vector<ErrorEntry> kept;
  kept.reserve(max_entries_);
  for (const ErrorEntry& entry : entries_) {
    bool joined = false;
    if (entry.at + kHour < now) {
      for (size_t i = kept.size(); i-- > 0 && kept[i].at / kHour == entry.at / kHour;) {
        if ((joined = SameCounter(kept[i], entry))) {
          Join(kept[i], entry);
          break;
        }
      }
    }
    if (!joined) kept.push_back(entry);
  }
  std::ranges::stable_sort(kept, {}, &ErrorEntry::at);
  // A quarter at a time: each shortening costs the whole log.
  const size_t room = std::max<size_t>(1, max_entries_ / 4);
  if (kept.size() + room > max_entries_) {
    const size_t drop = std::min(kept.size(), kept.size() + room - max_entries_);
    if (drop > 0) covered_since_ = std::max(covered_since_, kept[drop - 1].at);
    kept.erase(kept.begin(), kept.begin() + static_cast<ptrdiff_t>(drop));
  }
  entries_ = std::move(kept);
}

uint64_t ErrorLog::Sum(PortNum port, Counter counter, Millis since) const {
  uint64_t sum = 0;
  for (const ErrorEntry& entry : entries_) {
    if (entry.at > since && entry.port == port && entry.counter == counter) sum += entry.count;
  }
  return sum;
}

}  // namespace fabricd::telemetry
