// SPDX-License-Identifier: Apache-2.0
// HoldBook: all holds that stand, and the rules by which they come and go. A change is first worked
// out as a value, made durable by the caller, and only then applied, so that nothing is in force
// that a restart would forget. Pure; one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <absl/status/statusor.h>

#include "policy/hold.h"

namespace fabricd::policy {

// Of what people write.
inline constexpr size_t kMaxOwnerBytes = 256, kMaxReasonBytes = 1024, kMaxRequestIdBytes = 128;

// All or none of it is done.
struct HoldChange {
  std::vector<Hold> put;  // New or replaced.
  std::vector<uint64_t> remove;
  bool empty() const { return put.empty() && remove.empty(); }
};

class HoldBook {
 public:
  HoldBook() = default;
  // As stored; `highest_id` is the highest that was ever given, also to holds that are gone.
  HoldBook(std::vector<Hold> holds, uint64_t highest_id);

  // By id, the lifted ones not among them.
  const std::map<uint64_t, Hold>& standing() const { return standing_; }
  // Taken back, but their ports may still be down.
  const std::map<uint64_t, Hold>& lifted() const { return lifted_; }
  // Over: the last kMaxEnded that came or went by a request with a request_id.
  static constexpr size_t kMaxEnded = 1024;
  const std::map<uint64_t, Hold>& ended() const { return ended_; }
  // nullptr: none stands by this id.
  const Hold* Find(uint64_t id) const;
  // Whatever has become of it.
  const Hold* FindAny(uint64_t id) const;
  size_t Count(HoldKind kind) const;

  // The hold that answers `wanted` already: made with the same request_id, also when it is over,
  // or of the same owner, kind, mode and target. nullptr: there is none. kAlreadyExists: the
  // request_id was used for something else, by the fingerprints. A repeated request may differ in
  // its expiry, which counts from when it is sent.
  absl::StatusOr<const Hold*> FindExisting(const Hold& wanted) const;

  // `put` has the hold with its id and time of creation. kInvalidArgument: no owner, reason or
  // target, a text too long, or an expiry that has passed. kResourceExhausted: `max_holds` stand.
  absl::StatusOr<HoldChange> Create(Hold wanted, WallMs now, size_t max_holds) const;
  // The hold with this id ends then. REQUIRES: it stands.
  HoldChange Renew(uint64_t id, std::optional<WallMs> expires) const;
  struct DeleteRequest {
    uint64_t id = 0;
    std::string owner;  // Must be the hold's, or:
    bool any_owner = false;
    std::string request_id = {};
  };
  // A disable hold becomes lifted, the others go. Empty when it was taken back by the same
  // request_id before. kNotFound; kPermissionDenied: another owner's; kAlreadyExists: the
  // request_id took another hold back.
  absl::StatusOr<HoldChange> Delete(const DeleteRequest& request, WallMs now) const;
  // By `asker`: for holds of its own (MaySpeakFor), and for those that fabricd makes by itself.
  // Empty when it is acknowledged already. kNotFound; kPermissionDenied.
  absl::StatusOr<HoldChange> Acknowledge(uint64_t id, const std::string& asker, bool any_owner,
                                         WallMs now) const;
  // What has expired, deleted.
  HoldChange Expire(WallMs now) const;
  std::optional<WallMs> NextExpiry() const;  // nullopt: none expires.
  // The times of all holds, `shift` later: the wall clock was set by that much. What would then
  // have been made in the future, because the clock was set back while this program did not run,
  // is moved back to `now`, so that no hold lasts longer than it was asked for.
  HoldChange Retime(WallMs shift, WallMs now) const;
  // The ports of these lifted holds are enabled again.
  HoldChange Forget(const std::vector<uint64_t>& lifted, WallMs now) const;

  void Apply(const HoldChange& change);

 private:
  void PutAway(Hold hold, WallMs now, HoldChange& change) const;
  void End(Hold hold, WallMs now, HoldChange& change) const;
  HoldChange Bounded(HoldChange change) const;

  std::map<uint64_t, Hold> standing_, lifted_, ended_;
  uint64_t highest_id_ = 0;
};

// Whether `asker` may act for this owner without being an operator: owners are its name, or begin
// with it and a slash.
bool MaySpeakFor(const std::string& asker, const std::string& owner);
// The same part of the fabric, whatever its names are now.
bool IsSameTarget(const HoldTarget& a, const HoldTarget& b);

}  // namespace fabricd::policy
