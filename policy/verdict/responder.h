// SPDX-License-Identifier: Apache-2.0
// Responder: what follows from verdicts, as holds with owner kTelemetryHoldOwner. In each pass the
// holds that are wanted are compared with those that stand: what is missing is asked for, what is
// not wanted any more is taken back, and what ends soon is renewed. Pure; one thread.
//
// - A hold is wanted while the verdict is BAD or RECOVERING. It stays while nothing is known.
// - A hold that somebody else took back overrules the verdict until that ends.
// - Bounds: an entry for each link with a bad verdict (VerdictBook::kMaxLinks); in a pass at most
//   kMostAsked holds are asked for; what was refused is asked for again after kRetry.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include <absl/functional/function_ref.h>
#include <absl/status/statusor.h>

#include "common/time.h"
#include "policy/hold.h"
#include "policy/verdict/action_guards.h"
#include "policy/verdict/assessor.h"
#include "policy/verdict/response.h"

namespace fabricd::policy {

struct ResponderOptions {
  ActionOptions actions;
  Duration hold_ttl = std::chrono::hours(24);
};

// What the rest of fabricd knows of a link whose verdict is bad.
struct LinkFacts {
  bool is_host_link = true;
  bool is_own_path = false;       // Of the SM's port.
  bool is_redundant = false;      // A trunk link that leaves enough others.
  bool is_excluded = false;       // The configuration has its node excluded.
  bool is_family_frozen = false;  // FamilyWatch.
  std::string reason;             // For the hold: the verdict and its evidence in one sentence.
};

// A hold of owner kTelemetryHoldOwner that stands.
struct StandingHold {
  uint64_t id = 0;
  HoldKind kind = HoldKind::kCordon;
  std::optional<WallMs> expires;
};

struct ResponsePass {
  std::span<const Assessment> links;           // All of them.
  absl::FunctionRef<LinkFacts(size_t)> facts;  // By index of `links`. Asked of bad ones.
  const absl::flat_hash_map<LinkKey, StandingHold>& holds;
  size_t standing = 0;  // Holds of the owner, also those that are not about one of these links.
  size_t host_ports = 0;
  bool is_blackout = false;
  // This SM is the master and its holds are known. Else nothing follows from anything.
  bool may_act = false;
  Instant now;
  WallMs wall = 0;  // `now` on the wall clock.
};

// A hold to be made, or to be renewed where it stands.
struct HoldRequest {
  LinkKey link;
  HoldKind kind = HoldKind::kCordon;
  std::string reason;
  bool is_renewal = false;
};

struct ResponseEffects {
  std::vector<HoldRequest> create;  // Each is answered by OnAnswer().
  std::vector<uint64_t> remove;
  bool breaker_opened = false;
};

// As the store keeps it.
struct StoredResponse {
  LinkKey link;
  uint64_t hold = 0;
  WallMs expires = 0;  // Of the hold; 0: never, or not known.
  std::optional<VerdictRemark> acknowledged, overruled;
  friend bool operator==(const StoredResponse&, const StoredResponse&) = default;
};
struct StoredResponses {
  std::vector<StoredResponse> links;  // By link.
  StoredBreaker breaker;
  friend bool operator==(const StoredResponses&, const StoredResponses&) = default;
};

class Responder {
 public:
  static constexpr size_t kMostAsked = 32;
  static constexpr Duration kRetry = std::chrono::minutes(10);

  explicit Responder(const ResponderOptions& options) : options_(options) {}
  void SetOptions(const ResponderOptions& options) { options_ = options; }

  ResponseEffects Pass(const ResponsePass& pass);
  // The result of a HoldRequest: the id of the hold, or why there is none.
  void OnAnswer(const LinkKey& link, const absl::StatusOr<uint64_t>& hold, Instant now);

  // False: no bad verdict stands about the link.
  bool Acknowledge(const LinkKey& link, VerdictRemark remark);
  bool Overrule(const LinkKey& link, VerdictRemark remark);
  void ResetBreaker() { breaker_.Reset(); }

  // Of a link without a bad verdict: nothing.
  LinkResponse Find(const LinkKey& link) const;
  size_t in_effect() const { return in_effect_; }
  bool is_breaker_open() const { return breaker_.is_open(); }
  size_t BudgetFor(size_t host_ports) const;

  StoredResponses Export(Instant now, WallMs wall) const;
  void Import(const StoredResponses& stored, Instant now, WallMs wall);

 private:
  struct Entry {
    LinkResponse response;
    std::optional<HoldKind> asked;  // A hold is being made.
    bool is_seen = false;           // The hold stood in an earlier pass,
    WallMs expires = 0;             // and ends then; 0: never.
    bool is_removed = false;        // And was taken back by this.
    std::string refused;            // The result of the last request,
    Instant refused_until{};        // which is not repeated before.
    bool is_current = false;        // In the present pass.
  };

  void NoteHold(Entry& entry, const ResponsePass& pass, const LinkKey& link) const;
  bool IsOverruled(Entry& entry, WallMs wall) const;
  void KeepHold(size_t index, Entry& entry, const ResponsePass& pass, ResponseEffects& effects);
  void Decide(size_t index, Entry& entry, const ResponsePass& pass, ResponseEffects& effects);
  void Remove(Entry& entry, ResponseEffects& effects) const;
  void Forget(const ResponsePass& pass, ResponseEffects& effects);

  ResponderOptions options_;
  ActionBreaker breaker_;
  absl::flat_hash_map<LinkKey, Entry> entries_;
  size_t in_effect_ = 0;
};

}  // namespace fabricd::policy
