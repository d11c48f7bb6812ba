// SPDX-License-Identifier: Apache-2.0
// Damping: a decaying penalty for each link that goes down, as in route-flap damping (RFC 2439). A
// link whose penalty reaches the suppress threshold is kept out of routes until it has decayed
// below the reuse threshold. Pure: time comes in; the same calls give the same answers.
//
// An event costs a hash look-up and a place in an ordered set of bounded size. Where there is no
// more room, the link that would be forgotten next makes it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "common/ids.h"
#include "common/time.h"
#include "policy/options.h"
#include "policy/policy_view.h"

namespace fabricd::policy {

// A cable between two ports; a < b.
struct LinkId {
  PortRef a, b;
  LinkId(PortRef one, PortRef other) : a(std::min(one, other)), b(std::max(one, other)) {}
  friend auto operator<=>(const LinkId&, const LinkId&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const LinkId& id) {
    return H::combine(std::move(h), id.a, id.b);
  }
};

class Damping {
 public:
  static constexpr size_t kMaxLinks = 4096;

  explicit Damping(const DampingOptions& options) : options_(options) {}
  // What is known is judged by these from now on.
  void SetOptions(const DampingOptions& options, Instant now);

  enum class Verdict : uint8_t {
    kCounted,
    kSuppressed,  // It has just come to be suppressed.
    kOverLimit,   // It would have, but so many are already: reported only.
  };
  // The link has gone down, other than by our own doing.
  Verdict OnFlap(LinkId link, Instant now);

  // At NextDeadline(): the links that are not bad any more, suppressed ones and those over the
  // limit.
  std::vector<LinkId> OnTimer(Instant now);
  Instant NextDeadline() const;
  // Forgets what is known of the links with this end. Those that were bad.
  std::vector<LinkId> Clear(PortRef end);

  size_t suppressed_count() const { return suppressed_; }
  std::vector<LinkId> Suppressed() const;  // Sorted.
  struct Suppression {
    LinkId link;
    double penalty = 0;  // At `at`, the last flap.
    Instant at;
    uint32_t flaps = 0;
  };
  std::vector<Suppression> Suppressions() const;  // Those of Suppressed().
  // Whether a link with this penalty would still be suppressed.
  bool LastsUntil(double penalty, Instant at, Instant now) const {
    return options_.enabled && PenaltyAt({.penalty = penalty, .at = at}, now) > options_.reuse;
  }
  // Goes on with what an earlier start knew. False: the link has flapped since, or its penalty has
  // decayed, or too many are suppressed.
  bool Restore(Suppression before, Instant now);
  bool IsSuppressed(LinkId link) const;
  // By `a`, then `b`; penalties as of `now`. `needed` is left false.
  std::vector<DampedLink> List(Instant now) const;

 private:
  struct Entry {
    double penalty = 0;
    Instant at;
    uint32_t flaps = 0;
    bool suppressed = false;
    bool over_limit = false;
    Instant deadline;
    bool IsBad() const { return suppressed || over_limit; }
  };
  using Queue = std::set<std::pair<Instant, LinkId>>;

  double Cap() const;
  double PenaltyAt(const Entry& entry, Instant now) const;
  Instant TimeOf(const Entry& entry, double penalty) const;
  Queue& QueueOf(const Entry& entry) { return entry.IsBad() ? bad_ : good_; }
  void Schedule(LinkId link, Entry& entry);
  void Unschedule(LinkId link, const Entry& entry) { QueueOf(entry).erase({entry.deadline, link}); }
  void MakeRoom();
  std::string ReasonOf(const Entry& entry) const;

  DampingOptions options_;
  absl::flat_hash_map<LinkId, Entry> links_;
  Queue bad_;   // By release.
  Queue good_;  // By when they are forgotten.
  size_t suppressed_ = 0;
};

}  // namespace fabricd::policy
