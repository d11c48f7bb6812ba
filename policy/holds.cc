// SPDX-License-Identifier: Apache-2.0
#include "policy/holds.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "common/status.h"
#include "policy/target.h"

namespace fabricd::policy {
namespace {

bool IsSameWish(const Hold& a, const Hold& b) {
  return std::tie(a.owner, a.kind, a.mode) == std::tie(b.owner, b.kind, b.mode) &&
         IsSameTarget(a.target, b.target);
}

absl::Status CheckText(const char* what, const std::string& text, size_t max) {
  if (text.size() <= max) return absl::OkStatus();
  return InvalidArgument("the {} has {} bytes, the most is {}", what, text.size(), max);
}

absl::Status CheckWish(const Hold& wanted, WallMs now) {
  if (wanted.owner.empty()) return InvalidArgument("a hold needs an owner");
  if (wanted.reason.empty()) return InvalidArgument("a hold needs a reason");
  if (wanted.target.nodes.empty() && wanted.target.ports.empty())
    return InvalidArgument("a hold needs a target");
  FABRICD_RETURN_IF_ERROR(CheckText("owner", wanted.owner, kMaxOwnerBytes));
  FABRICD_RETURN_IF_ERROR(CheckText("reason", wanted.reason, kMaxReasonBytes));
  FABRICD_RETURN_IF_ERROR(CheckText("request_id", wanted.request_id, kMaxRequestIdBytes));
  if (wanted.kind == HoldKind::kDisable && wanted.target.facing.empty())
    return InvalidArgument("no switch port faces {} \"{}\": there is nothing to disable",
                           TargetKindName(wanted.target.kind), wanted.target.name);
  if (wanted.expires && *wanted.expires <= now)
    return InvalidArgument("the hold would have expired already");
  return absl::OkStatus();
}

}  // namespace

bool MaySpeakFor(const std::string& asker, const std::string& owner) {
  return owner == asker || (!asker.empty() && owner.starts_with(asker + "/"));
}

bool IsSameTarget(const HoldTarget& a, const HoldTarget& b) {
  return std::tie(a.kind, a.nodes, a.ports) == std::tie(b.kind, b.nodes, b.ports);
}

HoldBook::HoldBook(std::vector<Hold> holds, uint64_t highest_id) : highest_id_(highest_id) {
  Apply({std::move(holds), {}});
}

const Hold* HoldBook::Find(uint64_t id) const {
  const auto found = standing_.find(id);
  return found == standing_.end() ? nullptr : &found->second;
}

size_t HoldBook::Count(HoldKind kind) const {
  return static_cast<size_t>(
      std::count_if(standing_.begin(), standing_.end(),
                    [kind](const auto& entry) { return entry.second.kind == kind; }));
}

const Hold* HoldBook::FindAny(uint64_t id) const {
  for (const auto* holds : {&standing_, &lifted_, &ended_})
    if (const auto found = holds->find(id); found != holds->end()) return &found->second;
  return nullptr;
}

absl::StatusOr<const Hold*> HoldBook::FindExisting(const Hold& wanted) const {
  const auto is_same_request = [&](const Hold& hold) {
    if (hold.fingerprint != 0 && wanted.fingerprint != 0)
      return hold.fingerprint == wanted.fingerprint;
    return IsSameWish(hold, wanted) && hold.reason == wanted.reason && hold.forced == wanted.forced;
  };
  if (!wanted.request_id.empty())
    for (const auto* holds : {&standing_, &lifted_, &ended_})
      for (const auto& [id, hold] : *holds) {
        if (hold.request_id != wanted.request_id) continue;
        if (is_same_request(hold)) return &hold;
        return MakeStatus(absl::StatusCode::kAlreadyExists,
                          "request_id \"{}\" was used for hold {}, {} of {} \"{}\"",
                          hold.request_id, id, HoldKindText(hold), TargetKindName(hold.target.kind),
                          hold.target.name);
      }
  for (const auto& [id, hold] : standing_)
    if (IsSameWish(hold, wanted)) return &hold;
  return nullptr;
}

absl::StatusOr<HoldChange> HoldBook::Create(Hold wanted, WallMs now, size_t max_holds) const {
  FABRICD_RETURN_IF_ERROR(CheckWish(wanted, now));
  if (standing_.size() >= max_holds)
    return MakeStatus(absl::StatusCode::kResourceExhausted,
                      "{} holds stand already, the most is {}", standing_.size(), max_holds);
  wanted.id = highest_id_ + 1;
  wanted.created = now;
  wanted.acknowledged.reset();
  wanted.lifted = false;
  wanted.ended.reset();
  return HoldChange{{std::move(wanted)}, {}};
}

// What is disabled has to be enabled before it may be forgotten.
void HoldBook::PutAway(Hold hold, WallMs now, HoldChange& change) const {
  if (hold.kind != HoldKind::kDisable) return End(std::move(hold), now, change);
  hold.lifted = true;
  change.put.push_back(std::move(hold));
}

void HoldBook::End(Hold hold, WallMs now, HoldChange& change) const {
  if (hold.request_id.empty() && hold.delete_request_id.empty()) {
    change.remove.push_back(hold.id);
    return;
  }
  hold.ended = now;
  hold.lifted = false;
  change.put.push_back(std::move(hold));
}

// Of what is kept although it is over, the oldest make room.
HoldChange HoldBook::Bounded(HoldChange change) const {
  size_t kept = ended_.size();
  for (const Hold& hold : change.put) kept += hold.ended.has_value();
  for (auto oldest = ended_.begin(); kept > kMaxEnded && oldest != ended_.end(); ++oldest, --kept)
    change.remove.push_back(oldest->first);
  return change;
}

HoldChange HoldBook::Renew(uint64_t id, std::optional<WallMs> expires) const {
  Hold hold = standing_.at(id);
  hold.expires = expires;
  return HoldChange{{std::move(hold)}, {}};
}

absl::StatusOr<HoldChange> HoldBook::Delete(const DeleteRequest& request, WallMs now) const {
  if (!request.request_id.empty())
    for (const auto* holds : {&lifted_, &ended_})
      for (const auto& [id, hold] : *holds) {
        if (hold.delete_request_id != request.request_id) continue;
        if (id == request.id) return HoldChange();
        return MakeStatus(absl::StatusCode::kAlreadyExists,
                          "request_id \"{}\" was used to take hold {} back", request.request_id,
                          id);
      }
  FABRICD_RETURN_IF_ERROR(CheckText("request_id", request.request_id, kMaxRequestIdBytes));
  const Hold* hold = Find(request.id);
  if (hold == nullptr) return NotFound("no hold {}", request.id);
  if (!request.any_owner && hold->owner != request.owner)
    return MakeStatus(absl::StatusCode::kPermissionDenied, "hold {} is {}'s, not {}'s", request.id,
                      hold->owner, request.owner.empty() ? "nobody" : request.owner);
  HoldChange change;
  Hold gone = *hold;
  gone.delete_request_id = request.request_id;
  PutAway(std::move(gone), now, change);
  return Bounded(std::move(change));
}

absl::StatusOr<HoldChange> HoldBook::Acknowledge(uint64_t id, const std::string& asker,
                                                 bool any_owner, WallMs now) const {
  const Hold* hold = Find(id);
  if (hold == nullptr) return NotFound("no hold {}", id);
  const bool is_own = hold->owner == kOwnHoldOwner || hold->owner == kTelemetryHoldOwner;
  if (!any_owner && !is_own && !MaySpeakFor(asker, hold->owner))
    return MakeStatus(absl::StatusCode::kPermissionDenied,
                      "hold {} is {}'s: {} may acknowledge its own holds and those of {}", id,
                      hold->owner, asker.empty() ? "an unknown caller" : asker, kOwnHoldOwner);
  HoldChange change;
  if (hold->acknowledged) return change;
  change.put.push_back(*hold);
  change.put.back().acknowledged = now;
  return change;
}

HoldChange HoldBook::Expire(WallMs now) const {
  HoldChange change;
  for (const auto& [id, hold] : standing_)
    if (hold.expires && *hold.expires <= now) PutAway(hold, now, change);
  return Bounded(std::move(change));
}

std::optional<WallMs> HoldBook::NextExpiry() const {
  std::optional<WallMs> next;
  for (const auto& [id, hold] : standing_)
    if (hold.expires && (!next || *hold.expires < *next)) next = hold.expires;
  return next;
}

HoldChange HoldBook::Retime(WallMs shift, WallMs now) const {
  HoldChange change;
  for (const auto& [id, hold] : standing_) {
    const WallMs by = std::min(shift, now - hold.created);
    if (by == 0) continue;
    Hold& moved = change.put.emplace_back(hold);
    moved.created += by;
    if (moved.expires) *moved.expires += by;
    if (moved.acknowledged) *moved.acknowledged += by;
  }
  return change;
}

HoldChange HoldBook::Forget(const std::vector<uint64_t>& lifted, WallMs now) const {
  HoldChange change;
  for (uint64_t id : lifted)
    if (const auto found = lifted_.find(id); found != lifted_.end())
      End(found->second, now, change);
  return Bounded(std::move(change));
}

void HoldBook::Apply(const HoldChange& change) {
  const auto erase = [this](uint64_t id) {
    for (auto* holds : {&standing_, &lifted_, &ended_}) holds->erase(id);
  };
  for (uint64_t id : change.remove) erase(id);
  for (const Hold& hold : change.put) {
    erase(hold.id);
    (hold.ended ? ended_ : hold.lifted ? lifted_ : standing_)[hold.id] = hold;
    highest_id_ = std::max(highest_id_, hold.id);
  }
}

}  // namespace fabricd::policy
