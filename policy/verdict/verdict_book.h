// SPDX-License-Identifier: Apache-2.0
// Verdict book: the verdict about each link over time. A verdict comes at once and goes slowly:
// RECOVERING when every signal has been below half of its limit for two detection windows, HEALTHY
// when it stayed clean after that. Pure: time comes in.
//
// It has an entry only of links that are or were bad, suspect or replaced: their number is bounded.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "common/ids.h"
#include "common/time.h"
#include "policy/hold.h"
#include "policy/verdict/link_verdict.h"

namespace fabricd::policy {

// Both ends of a link; a < b, whatever end is called `a` in the evidence.
struct LinkKey {
  HeldPort a, b;
  LinkKey() = default;
  LinkKey(HeldPort one, HeldPort other) : a(std::min(one, other)), b(std::max(one, other)) {}
  explicit LinkKey(const LinkEvidence& link)
      : LinkKey(HeldPort{link.a.node, link.a.port}, HeldPort{link.b.node, link.b.port}) {}
  friend auto operator<=>(const LinkKey&, const LinkKey&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const LinkKey& key) {
    return H::combine(std::move(h), key.a, key.b);
  }
};

struct BookClocks {
  Duration clean = std::chrono::minutes(125);        // From RECOVERING to HEALTHY.
  Duration max_clean = std::chrono::hours(24);       // Relapses double it up to here.
  Duration relapse = std::chrono::hours(24);         // After recovery; later it is a new fault.
  Duration observation = std::chrono::minutes(125);  // Of a new cable.
  uint32_t releases_per_week = 2;                    // Automatic ones; then an operator decides.
};
std::vector<std::string> Check(const BookClocks& clocks);

enum class Stage : uint8_t { kHealthy, kSuspect, kBad, kRecovering, kUnknown };
std::string_view StageName(Stage stage);  // "RECOVERING"

// What is published of a link.
struct Standing {
  Stage stage = Stage::kHealthy;
  // Of kBad and kRecovering the one that is remembered, even while nothing is known.
  Verdict verdict = Verdict::kHealthy;
  // Of the same: whom. It does not change with what the last evidence happens to show.
  Accusation accusation;
  bool is_known = true;         // False: the evidence is stale. No action follows.
  bool needs_operator = false;  // Clean, but released too often: Release().
  Instant since{};              // Of the stage.
  Duration clean_time{};        // What RECOVERING takes.
};

// Link downs that an assessment has found, without those of restarts.
struct CountedDowns {
  WallMs at = 0;
  uint32_t count = 0;
  friend bool operator==(const CountedDowns&, const CountedDowns&) = default;
};

// As the store keeps an entry: wall clock, 0: never.
struct StoredStanding {
  LinkKey link;
  Stage stage = Stage::kHealthy;
  Verdict verdict = Verdict::kHealthy;
  Culprit culprit = Culprit::kNone;
  HeldPort culprit_end;
  RowMask raised = 0;
  int64_t detection_ms = 0, clean_time_ms = 0;
  WallMs since = 0, seen = 0, below_half_since = 0, clean_since = 0, recovered = 0;
  WallMs unknown_until = 0;
  std::array<WallMs, 2> releases{};
  std::vector<CountedDowns> downs;  // DownMemory's.
  friend bool operator==(const StoredStanding&, const StoredStanding&) = default;
};

class VerdictBook {
 public:
  static constexpr size_t kMaxLinks = 16'384;

  explicit VerdictBook(const BookClocks& clocks, size_t max_links = kMaxLinks)
      : clocks_(clocks), max_links_(max_links) {}

  // What Evaluate() has to know of earlier verdicts.
  StrongFor StrongForOf(const LinkKey& link, Instant now) const;
  // A verdict was found, after common causes were considered.
  Standing Observe(const LinkKey& link, const LinkVerdict& found, Instant now);
  // Another cable, module or peer since `at`: what was known of the link means nothing. It may be
  // repeated.
  void OnReplaced(const LinkKey& link, Instant at);
  // Counters have a new epoch everywhere: nothing changes until a window is full again.
  void OnFailover(Instant now, Duration window = std::chrono::seconds(720));
  // An operator calls the link healthy, and it is so for the time of observation: until errors of
  // before are in no window of ratios any more. False: it has no bad verdict.
  bool Release(const LinkKey& link, Instant now);

  std::optional<Standing> Find(const LinkKey& link) const;
  size_t size() const { return entries_.size(); }
  uint64_t not_kept() const { return not_kept_; }  // Verdicts for which there was no room.

  // By link. `wall` is `now` on the wall clock.
  std::vector<StoredStanding> Export(Instant now, WallMs wall) const;
  // Replaces everything. What no book exported is left out.
  void Import(const std::vector<StoredStanding>& stored, Instant now, WallMs wall);

 private:
  struct Entry {
    Standing standing;
    RowMask raised = 0;  // Rows that made the verdict: they have to be seen clean.
    Duration detection_window{};
    Instant seen{};  // The last verdict that was not UNKNOWN.
    Instant below_half_since = kNever, clean_since = kNever;
    Instant recovered = kNever;  // The last time it went to RECOVERING.
    Instant unknown_until{};
    std::array<Instant, 2> releases{kNever, kNever};  // The newest first.
    std::array<Instant, kRows> strong_since;
    Entry() { strong_since.fill(kNever); }
  };
  Entry* EntryOf(const LinkKey& link, const LinkVerdict& found, Instant now);
  void SkipGap(Entry& entry, Instant now) const;
  void Enter(Entry& entry, Stage stage, Verdict verdict, Instant now) const;
  void OnBad(Entry& entry, const LinkVerdict& found, Instant now) const;
  void OnCleaner(Entry& entry, const LinkVerdict& found, Instant now) const;
  bool MayRelease(const Entry& entry, Instant now) const;
  bool IsForgettable(const Entry& entry, Instant now) const;

  BookClocks clocks_;
  size_t max_links_;
  absl::flat_hash_map<LinkKey, Entry> entries_;
  Instant suspended_until_{};
  uint64_t not_kept_ = 0;
};

}  // namespace fabricd::policy
