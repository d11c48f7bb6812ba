// SPDX-License-Identifier: Apache-2.0
#include "policy/verdict/verdict_book.h"

#include <algorithm>

#include <fmt/format.h>

#include "policy/verdict/stored_time.h"

namespace fabricd::policy {
namespace {

constexpr Duration kLongestGap = std::chrono::minutes(5);
constexpr Duration kWeek = std::chrono::hours(24 * 7);

using std::chrono::duration_cast;
using std::chrono::milliseconds;

void TrackStrong(const LinkVerdict& found, Instant now, std::array<Instant, kRows>& since) {
  std::array<bool, kRows> is_strong{};
  for (const EvidenceRow& row : found.rows)
    if (row.IsAtLeast(Level::kStrong)) is_strong[static_cast<size_t>(row.row) - 1] = true;
  for (size_t i = 0; i < kRows; ++i) since[i] = !is_strong[i] ? kNever : std::min(since[i], now);
}

}  // namespace

std::string_view StageName(Stage stage) {
  switch (stage) {
    case Stage::kHealthy: return "HEALTHY";
    case Stage::kSuspect: return "SUSPECT";
    case Stage::kBad: return "BAD";
    case Stage::kRecovering: return "RECOVERING";
    case Stage::kUnknown: return "UNKNOWN";
  }
  return "?";
}

std::vector<std::string> Check(const BookClocks& clocks) {
  std::vector<std::string> faults;
  if (clocks.clean <= Duration::zero()) faults.push_back("clean: not above 0");
  if (clocks.max_clean < clocks.clean) faults.push_back("max_clean: below clean");
  if (clocks.relapse < Duration::zero()) faults.push_back("relapse: negative");
  if (clocks.observation < Duration::zero()) faults.push_back("observation: negative");
  if (clocks.releases_per_week > 2)
    faults.push_back(fmt::format("releases_per_week: {} is above 2", clocks.releases_per_week));
  return faults;
}

StrongFor VerdictBook::StrongForOf(const LinkKey& link, Instant now) const {
  StrongFor strong_for{};
  const auto found = entries_.find(link);
  if (found == entries_.end()) return strong_for;
  for (size_t i = 0; i < kRows; ++i) {
    const Instant since = found->second.strong_since[i];
    if (since != kNever) strong_for[i] = now - since;
  }
  return strong_for;
}

VerdictBook::Entry* VerdictBook::EntryOf(const LinkKey& link, const LinkVerdict& found,
                                         Instant now) {
  const auto known = entries_.find(link);
  if (known != entries_.end()) return &known->second;
  const bool is_kept = IsBad(found.verdict) || found.verdict == Verdict::kSuspect;
  if (!is_kept) return nullptr;
  if (entries_.size() >= max_links_) {
    ++not_kept_;
    return nullptr;
  }
  Entry& entry = entries_[link];
  entry.standing.since = now;
  entry.standing.clean_time = clocks_.clean;
  return &entry;
}

void VerdictBook::Enter(Entry& entry, Stage stage, Verdict verdict, Instant now) const {
  if (entry.standing.stage != stage || entry.standing.verdict != verdict)
    entry.standing.since = now;
  entry.standing.stage = stage;
  entry.standing.verdict = verdict;
}

Standing VerdictBook::Observe(const LinkKey& link, const LinkVerdict& found, Instant now) {
  const bool is_suspended = now < suspended_until_ || found.is_suspended;
  Entry* entry = is_suspended && !entries_.contains(link) ? nullptr : EntryOf(link, found, now);
  if (entry == nullptr) {
    Standing standing;
    standing.verdict = is_suspended ? Verdict::kUnknown : found.verdict;
    standing.is_known = standing.verdict != Verdict::kUnknown;
    standing.stage = !standing.is_known                   ? Stage::kUnknown
                     : IsBad(found.verdict)               ? Stage::kBad
                     : found.verdict == Verdict::kSuspect ? Stage::kSuspect
                                                          : Stage::kHealthy;
    standing.accusation = IsBad(found.verdict) ? found.accusation : Accusation();
    standing.since = now;
    return standing;
  }
  Standing& standing = entry->standing;
  if (is_suspended) return standing;
  if (now < entry->unknown_until) return standing;
  standing.is_known = found.verdict != Verdict::kUnknown;
  TrackStrong(found, now, entry->strong_since);
  if (IsBad(found.verdict)) {
    OnBad(*entry, found, now);
  } else if (!standing.is_known) {
    // It has to be seen clean.
    entry->below_half_since = entry->clean_since = kNever;
  } else if (standing.stage == Stage::kBad || standing.stage == Stage::kRecovering) {
    SkipGap(*entry, now);
    OnCleaner(*entry, found, now);
  } else {
    const bool is_suspect = found.verdict == Verdict::kSuspect;
    Enter(*entry, is_suspect ? Stage::kSuspect : Stage::kHealthy, found.verdict, now);
  }
  if (standing.is_known) entry->seen = now;
  const Standing result = standing;
  if (IsForgettable(*entry, now)) entries_.erase(link);
  return result;
}

// Time in which nobody looked was not clean.
void VerdictBook::SkipGap(Entry& entry, Instant now) const {
  const Duration gap = now - entry.seen;
  if (gap <= kLongestGap) return;
  if (entry.below_half_since != kNever) entry.below_half_since += gap;
  if (entry.clean_since != kNever) entry.clean_since += gap;
}

void VerdictBook::OnBad(Entry& entry, const LinkVerdict& found, Instant now) const {
  Standing& standing = entry.standing;
  if (standing.stage != Stage::kBad) {
    const bool is_relapse = entry.recovered != kNever && now - entry.recovered < clocks_.relapse;
    standing.clean_time =
        is_relapse ? std::min(standing.clean_time * 2, clocks_.max_clean) : clocks_.clean;
    entry.raised = 0;
    entry.detection_window = {};
    standing.accusation = found.accusation;
  } else {
    // A fault with other symptoms accuses by those.
    standing.accusation = standing.verdict == found.verdict
                              ? Join(standing.accusation, found.accusation)
                              : found.accusation;
  }
  Enter(entry, Stage::kBad, found.verdict, now);
  entry.raised |= found.raised;
  entry.detection_window = std::max(entry.detection_window, found.detection_window);
  entry.below_half_since = entry.clean_since = kNever;
  standing.needs_operator = false;
}

void VerdictBook::OnCleaner(Entry& entry, const LinkVerdict& found, Instant now) const {
  Standing& standing = entry.standing;
  // A signal that is not measured any more is not clean.
  const bool is_measured = (entry.raised & ~found.measured) == 0;
  if (standing.stage == Stage::kBad) {
    if (!found.is_below_half || !is_measured) {
      entry.below_half_since = kNever;
      return;
    }
    entry.below_half_since = std::min(entry.below_half_since, now);
    if (now - entry.below_half_since < 2 * entry.detection_window) return;
    Enter(entry, Stage::kRecovering, standing.verdict, now);
    entry.recovered = entry.clean_since = now;
    return;
  }
  if (found.verdict == Verdict::kSuspect || !is_measured) {
    entry.clean_since = kNever;
    standing.needs_operator = false;
    return;
  }
  entry.clean_since = std::min(entry.clean_since, now);
  if (now - entry.clean_since < standing.clean_time) return;
  standing.needs_operator = !MayRelease(entry, now);
  if (standing.needs_operator) return;
  Enter(entry, Stage::kHealthy, Verdict::kHealthy, now);
  entry.recovered = now;
  entry.releases = {now, entry.releases[0]};
}

bool VerdictBook::MayRelease(const Entry& entry, Instant now) const {
  const auto recent =
      std::count_if(entry.releases.begin(), entry.releases.end(),
                    [&](Instant release) { return release != kNever && now - release < kWeek; });
  return static_cast<uint64_t>(recent) < clocks_.releases_per_week;
}

bool VerdictBook::IsForgettable(const Entry& entry, Instant now) const {
  if (entry.standing.stage != Stage::kHealthy || now < entry.unknown_until) return false;
  const auto is_over = [&](Instant at, Duration after) {
    return at == kNever || now - at >= after;
  };
  return is_over(entry.recovered, clocks_.relapse) && is_over(entry.releases[0], kWeek);
}

void VerdictBook::OnReplaced(const LinkKey& link, Instant at) {
  if (!entries_.contains(link) && entries_.size() >= max_links_) {
    ++not_kept_;
    return;
  }
  Entry& entry = entries_[link] = Entry();
  entry.standing.clean_time = clocks_.clean;
  Enter(entry, Stage::kUnknown, Verdict::kUnknown, at);
  entry.standing.is_known = false;
  entry.unknown_until = at + clocks_.observation;
}

void VerdictBook::OnFailover(Instant now, Duration window) {
  suspended_until_ = now + window;
  // What was strong was so by counters of another process.
  for (auto& [link, entry] : entries_) entry.strong_since.fill(kNever);
}

bool VerdictBook::Release(const LinkKey& link, Instant now) {
  const auto found = entries_.find(link);
  if (found == entries_.end()) return false;
  Entry& entry = found->second;
  if (entry.standing.stage != Stage::kBad && entry.standing.stage != Stage::kRecovering)
    return false;
  Enter(entry, Stage::kHealthy, Verdict::kHealthy, now);
  entry.standing.needs_operator = false;
  entry.recovered = now;
  entry.strong_since.fill(kNever);
  return true;
}

std::optional<Standing> VerdictBook::Find(const LinkKey& link) const {
  const auto found = entries_.find(link);
  if (found == entries_.end()) return std::nullopt;
  return found->second.standing;
}

std::vector<StoredStanding> VerdictBook::Export(Instant now, WallMs wall) const {
  std::vector<StoredStanding> stored;
  stored.reserve(entries_.size());
  for (const auto& [link, entry] : entries_) {
    StoredStanding& each = stored.emplace_back();
    each.link = link;
    each.stage = entry.standing.stage;
    each.verdict = entry.standing.verdict;
    each.culprit = entry.standing.accusation.culprit;
    each.culprit_end = entry.standing.accusation.end;
    each.raised = entry.raised;
    each.detection_ms = duration_cast<milliseconds>(entry.detection_window).count();
    each.clean_time_ms = duration_cast<milliseconds>(entry.standing.clean_time).count();
    each.since = ToWall(entry.standing.since, now, wall);
    each.seen = ToWall(entry.seen, now, wall);
    each.below_half_since = ToWall(entry.below_half_since, now, wall);
    each.clean_since = ToWall(entry.clean_since, now, wall);
    each.recovered = ToWall(entry.recovered, now, wall);
    each.unknown_until = ToWall(entry.unknown_until, now, wall);
    for (size_t i = 0; i < each.releases.size(); ++i)
      each.releases[i] = ToWall(entry.releases[i], now, wall);
  }
  std::sort(stored.begin(), stored.end(),
            [](const auto& x, const auto& y) { return x.link < y.link; });
  return stored;
}

void VerdictBook::Import(const std::vector<StoredStanding>& stored, Instant now, WallMs wall) {
  entries_.clear();
  for (const StoredStanding& each : stored) {
    const bool is_bad = each.stage == Stage::kBad || each.stage == Stage::kRecovering;
    if (each.stage > Stage::kUnknown || each.verdict > Verdict::kUnknown ||
        each.culprit > Culprit::kUnknown || is_bad != IsBad(each.verdict) ||
        entries_.size() >= max_links_)
      continue;
    Entry& entry = entries_[each.link];
    const auto instant = [&](WallMs at, Instant never) { return FromWall(at, now, wall, never); };
    // What the clock calls the future has not happened yet.
    const auto past = [&](WallMs at) {
      const Instant when = instant(at, kNever);
      return when == kNever ? kNever : std::min(when, now);
    };
    entry.standing.stage = each.stage;
    entry.standing.verdict = each.verdict;
    entry.standing.accusation = {each.culprit, each.culprit_end, "found before a restart",
                                 "see what it shows now"};
    entry.standing.is_known = false;  // Until it is observed.
    entry.standing.since = std::min(instant(each.since, now), now);
    entry.standing.clean_time =
        std::clamp<Duration>(milliseconds(std::clamp<int64_t>(each.clean_time_ms, 0, kFarMs)),
                             clocks_.clean, clocks_.max_clean);
    entry.raised = each.raised;
    entry.detection_window = milliseconds(std::clamp<int64_t>(each.detection_ms, 0, kFarMs));
    entry.seen = std::min(instant(each.seen, Instant{}), now);
    entry.below_half_since = past(each.below_half_since);
    entry.clean_since = past(each.clean_since);
    entry.recovered = past(each.recovered);
    entry.unknown_until =
        std::min(instant(each.unknown_until, Instant{}), now + clocks_.observation);
    for (size_t i = 0; i < each.releases.size(); ++i) entry.releases[i] = past(each.releases[i]);
  }
}

}  // namespace fabricd::policy
