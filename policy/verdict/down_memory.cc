// SPDX-License-Identifier: Apache-2.0
#include "policy/verdict/down_memory.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "policy/verdict/stored_time.h"

namespace fabricd::policy {
namespace {

constexpr auto kDownsIndex = static_cast<size_t>(Signal::kLinkDowns);
constexpr auto kDayWindow = static_cast<size_t>(Window::k24h);

Duration DayLength() { return LengthOf(Window::k24h); }

// Both ends count each of them, so the larger number is taken.
struct Counted {
  uint64_t count = 0;    // Without those of restarts.
  bool is_whole = true;  // Both ends are measured. Else it is a lower bound.
};

Counted CountIn(const LinkEvidence& link) {
  Counted counted;
  for (const EndEvidence* end : {&link.a, &link.b}) {
    if (!end->is_fresh || !end->signals[kDownsIndex]) {
      counted.is_whole = false;
      continue;
    }
    const uint64_t count = (*end->signals[kDownsIndex])[kDayWindow].count;
    counted.count =
        std::max(counted.count, count - std::min(count, link.excused_downs[kDayWindow]));
  }
  return counted;
}

template <typename Downs>
void AppendDowns(std::vector<Downs>& list, Downs downs) {
  list.push_back(downs);
  if (list.size() <= DownMemory::kMaxEntries) return;
  list[1].count += list[0].count;
  list.erase(list.begin());
}

}  // namespace

void DownMemory::Import(const std::vector<StoredStanding>& stored, Instant now, WallMs wall) {
  entries_.clear();
  for (const StoredStanding& standing : stored) {
    if (entries_.size() >= kMaxLinks) return;
    std::vector<Downs> earlier;
    for (const CountedDowns& each : standing.downs) {
      const Instant at = std::min(now, FromWall(each.at, now, wall, Instant()));
      if (now - at < DayLength()) AppendDowns(earlier, Downs{at, each.count});
    }
    if (!earlier.empty()) entries_[standing.link].earlier = std::move(earlier);
  }
}

void DownMemory::Note(const LinkEvidence& own, Instant now) {
  const Counted counted = CountIn(own);
  const LinkKey link(own);
  auto found = entries_.find(link);
  if (found == entries_.end()) {
    if (counted.count == 0) return;
    if (entries_.size() >= kMaxLinks) DropOld(now);
    if (entries_.size() >= kMaxLinks) return;
    found = entries_.emplace(link, Entry()).first;
  }
  Entry& entry = found->second;
  const Instant begin = now - std::min(DayLength(), own.replaced_for.value_or(DayLength()));
  std::erase_if(entry.earlier, [&](const Downs& each) { return each.at <= begin; });
  const uint64_t excused = own.excused_downs[kDayWindow];
  uint64_t restarts = excused - std::min(excused, std::exchange(entry.excused, excused));
  uint64_t sum = 0;
  for (const Downs& each : entry.own) sum += each.count;
  if (counted.count > sum) AppendDowns(entry.own, Downs{now, counted.count - sum});
  // The newest turned out to be of a restart; the oldest have left the counters' window.
  while (counted.is_whole && sum > counted.count) {
    const bool is_restart = restarts > 0;
    const auto taken = is_restart ? entry.own.end() - 1 : entry.own.begin();
    const uint64_t most = is_restart ? std::min(restarts, taken->count) : taken->count;
    const uint64_t over = std::min(sum - counted.count, most);
    taken->count -= over;
    sum -= over;
    if (is_restart) restarts -= over;
    if (taken->count == 0) entry.own.erase(taken);
  }
  if (entry.earlier.empty() && entry.own.empty()) entries_.erase(found);
}

void DownMemory::DropOld(Instant now) {
  absl::erase_if(entries_, [&](const auto& each) {
    const auto is_old = [&](const std::vector<Downs>& list) {
      return list.empty() || now - list.back().at >= DayLength();
    };
    return is_old(each.second.earlier) && is_old(each.second.own);
  });
}

bool DownMemory::HasEarlier(const LinkKey& link) const {
  const auto found = entries_.find(link);
  return found != entries_.end() && !found->second.earlier.empty();
}

void DownMemory::AddEarlier(LinkEvidence& link, Instant now) const {
  const auto found = entries_.find(LinkKey(link));
  if (found == entries_.end()) return;
  for (EndEvidence* end : {&link.a, &link.b}) {
    if (!end->signals[kDownsIndex]) continue;
    for (const Downs& downs : found->second.earlier) {
      for (size_t window = 0; window < kWindows; ++window) {
        if (now - downs.at >= LengthOf(static_cast<Window>(window))) continue;
        WindowCount& into = (*end->signals[kDownsIndex])[window];
        into.count += downs.count;
        if (into.readings < std::numeric_limits<uint16_t>::max()) ++into.readings;
      }
    }
  }
}

std::vector<CountedDowns> DownMemory::Export(const LinkKey& link, Instant now, WallMs wall) const {
  std::vector<CountedDowns> all;
  const auto found = entries_.find(link);
  if (found == entries_.end()) return all;
  constexpr uint64_t kMost = std::numeric_limits<uint32_t>::max();
  for (const auto* list : {&found->second.earlier, &found->second.own})
    for (const Downs& each : *list)
      if (now - each.at < DayLength())
        all.push_back(
            {ToWall(each.at, now, wall), static_cast<uint32_t>(std::min(each.count, kMost))});
  return all;
}

}  // namespace fabricd::policy
