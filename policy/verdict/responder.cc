// SPDX-License-Identifier: Apache-2.0
#include "policy/verdict/responder.h"

#include <algorithm>
#include <utility>

#include "common/status.h"

namespace fabricd::policy {
namespace {

bool Stands(const Standing& standing) {
  return standing.stage == Stage::kBad || standing.stage == Stage::kRecovering;
}

HoldKind RecommendedFor(bool is_host_link) {
  return is_host_link ? HoldKind::kCordon : HoldKind::kDrain;
}

HoldKind KindOf(Action action, bool is_host_link) {
  if (!is_host_link) return HoldKind::kDrain;
  return action == Action::kIsolate ? HoldKind::kIsolate : HoldKind::kCordon;
}

}  // namespace

size_t Responder::BudgetFor(size_t host_ports) const {
  return BudgetOf(options_.actions, host_ports);
}

ResponseEffects Responder::Pass(const ResponsePass& pass) {
  ResponseEffects effects;
  const bool was_open = breaker_.is_open();
  in_effect_ = pass.standing;
  for (auto& [link, entry] : entries_) {
    entry.is_current = false;
    in_effect_ += entry.asked && !pass.holds.contains(link);
  }
  // Where the budget does not suffice, what is most certain comes first.
  std::vector<size_t> undecided;
  for (size_t i = 0; i < pass.links.size(); ++i) {
    const Assessment& each = pass.links[i];
    const bool stands = Stands(each.standing);
    const auto known = entries_.find(each.link);
    if (known == entries_.end() && !stands && !pass.holds.contains(each.link)) continue;
    // Where nothing is known, what was decided stays.
    const bool is_kept = stands || each.standing.stage == Stage::kUnknown;
    if (!is_kept) continue;
    Entry& entry = entries_[each.link];
    entry.is_current = true;
    NoteHold(entry, pass, each.link);
    if (!stands) continue;
    if (entry.response.hold != 0)
      KeepHold(i, entry, pass, effects);
    else
      undecided.push_back(i);
  }
  std::stable_sort(undecided.begin(), undecided.end(), [&](size_t x, size_t y) {
    return pass.links[x].verdict.confidence > pass.links[y].verdict.confidence;
  });
  for (const size_t i : undecided) Decide(i, entries_.at(pass.links[i].link), pass, effects);
  Forget(pass, effects);
  effects.breaker_opened = breaker_.is_open() && !was_open;
  return effects;
}

void Responder::NoteHold(Entry& entry, const ResponsePass& pass, const LinkKey& link) const {
  LinkResponse& response = entry.response;
  const auto standing = pass.holds.find(link);
  if (standing != pass.holds.end()) {
    response.hold = standing->second.id;
    const bool is_cordon = standing->second.kind == HoldKind::kCordon;
    response.action = is_cordon ? Action::kCordon : Action::kIsolate;
    entry.is_seen = true;
    entry.expires = standing->second.expires.value_or(0);
    return;
  }
  if (!pass.may_act || response.hold == 0) return;
  // One that was made a moment ago may not be in the view yet.
  if (!entry.is_seen) return;
  const bool is_expired = entry.expires != 0 && entry.expires <= pass.wall;
  if (!entry.is_removed && !is_expired && !response.overruled)
    response.overruled = VerdictRemark{
        "", fmt::format("hold {} was taken back by somebody else", response.hold), pass.wall, {}};
  response.hold = 0;
  entry.is_seen = entry.is_removed = false;
}

bool Responder::IsOverruled(Entry& entry, WallMs wall) const {
  std::optional<VerdictRemark>& overruled = entry.response.overruled;
  if (overruled && overruled->until && *overruled->until <= wall) overruled.reset();
  return overruled.has_value();
}

void Responder::Remove(Entry& entry, ResponseEffects& effects) const {
  if (entry.response.hold == 0 || std::exchange(entry.is_removed, true)) return;
  effects.remove.push_back(entry.response.hold);
}

void Responder::KeepHold(size_t index, Entry& entry, const ResponsePass& pass,
                         ResponseEffects& effects) {
  const Assessment& each = pass.links[index];
  const LinkFacts facts = pass.facts(index);
  entry.response.recommended = RecommendedFor(facts.is_host_link);
  if (!pass.may_act) return;
  if (IsOverruled(entry, pass.wall)) return Remove(entry, effects);
  const auto standing = pass.holds.find(each.link);
  if (standing == pass.holds.end() || !standing->second.expires) return;
  const Duration left = std::chrono::milliseconds(*standing->second.expires - pass.wall);
  // As long as the evidence is stale, it runs out: nobody knows whether it is still right.
  if (left * 2 > options_.hold_ttl || !each.standing.is_known || entry.asked) return;
  // Who has set actions back to "recommend" wants no new ones; what stands ends by itself.
  if (options_.actions.configured <= Action::kRecommend) return;
  entry.asked = standing->second.kind;
  effects.create.push_back({each.link, *entry.asked, facts.reason, true});
}

void Responder::Decide(size_t index, Entry& entry, const ResponsePass& pass,
                       ResponseEffects& effects) {
  const Assessment& each = pass.links[index];
  const LinkFacts known = pass.facts(index);
  LinkResponse& response = entry.response;
  response.recommended = RecommendedFor(known.is_host_link);
  response.held_back.clear();
  ActionFacts facts;
  facts.is_host_link = known.is_host_link;
  facts.is_own_path = known.is_own_path;
  facts.is_redundant = known.is_redundant;
  facts.is_excluded = known.is_excluded;
  facts.is_family_frozen = known.is_family_frozen;
  facts.has_common_cause = each.forbids_action && !known.is_family_frozen;
  facts.is_blackout = pass.is_blackout;
  facts.in_effect = in_effect_;
  facts.hosts = pass.host_ports;
  const ActionDecision decision =
      policy::Decide(each.standing, each.verdict, facts, options_.actions, breaker_);
  response.action = decision.action;
  response.held_back = std::string(decision.refused_by);
  if (decision.action <= Action::kRecommend) return;
  if (IsOverruled(entry, pass.wall)) {
    response.action = Action::kRecommend;
    response.held_back = "overruled";
    return;
  }
  if (!pass.may_act || entry.asked || effects.create.size() >= kMostAsked) return;
  if (pass.now < entry.refused_until) {
    response.action = Action::kRecommend;
    response.held_back = entry.refused;
    return;
  }
  entry.asked = KindOf(decision.action, known.is_host_link);
  ++in_effect_;
  breaker_.Count(pass.now, pass.host_ports, options_.actions);
  effects.create.push_back({each.link, *entry.asked, known.reason, false});
}

void Responder::OnAnswer(const LinkKey& link, const absl::StatusOr<uint64_t>& hold, Instant now) {
  const auto found = entries_.find(link);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  entry.asked.reset();
  if (hold.ok()) {
    entry.response.hold = *hold;
    return;
  }
  if (entry.response.hold != 0) return;  // A renewal: there is time for another.
  entry.refused = Message(hold.status());
  entry.refused_until = now + kRetry;
  entry.response.action = Action::kRecommend;
  entry.response.held_back = entry.refused;
}

// What no verdict stands for any more. Holds of links that nobody assesses end by themselves.
void Responder::Forget(const ResponsePass& pass, ResponseEffects& effects) {
  for (const Assessment& each : pass.links) {
    const auto found = entries_.find(each.link);
    const bool is_over = !Stands(each.standing) && each.standing.stage != Stage::kUnknown;
    if (!is_over) continue;
    const auto standing = pass.holds.find(each.link);
    if (found == entries_.end()) {
      if (pass.may_act && standing != pass.holds.end())
        effects.remove.push_back(standing->second.id);
      continue;
    }
    Entry& entry = found->second;
    entry.is_current = true;
    NoteHold(entry, pass, each.link);
    if (entry.response.hold == 0 && !entry.asked) {
      entries_.erase(found);
      continue;
    }
    entry.response = {.hold = entry.response.hold};
    if (pass.may_act) Remove(entry, effects);
  }
  absl::erase_if(entries_, [&](const auto& each) {
    const Entry& entry = each.second;
    return !entry.is_current && !entry.asked && !pass.holds.contains(each.first);
  });
}

bool Responder::Acknowledge(const LinkKey& link, VerdictRemark remark) {
  const auto found = entries_.find(link);
  if (found == entries_.end() || !found->second.response.recommended) return false;
  found->second.response.acknowledged = std::move(remark);
  return true;
}

bool Responder::Overrule(const LinkKey& link, VerdictRemark remark) {
  const auto found = entries_.find(link);
  if (found == entries_.end() || !found->second.response.recommended) return false;
  found->second.response.overruled = std::move(remark);
  return true;
}

LinkResponse Responder::Find(const LinkKey& link) const {
  const auto found = entries_.find(link);
  return found == entries_.end() ? LinkResponse() : found->second.response;
}

StoredResponses Responder::Export(Instant now, WallMs wall) const {
  StoredResponses stored;
  stored.breaker = breaker_.Export(now, wall);
  for (const auto& [link, entry] : entries_) {
    const LinkResponse& response = entry.response;
    if (response.hold == 0 && !response.acknowledged && !response.overruled) continue;
    stored.links.push_back(
        {link, response.hold, entry.expires, response.acknowledged, response.overruled});
  }
  std::sort(stored.links.begin(), stored.links.end(),
            [](const auto& x, const auto& y) { return x.link < y.link; });
  return stored;
}

void Responder::Import(const StoredResponses& stored, Instant now, WallMs wall) {
  breaker_.Import(stored.breaker, now, wall);
  entries_.clear();
  for (const StoredResponse& each : stored.links) {
    Entry& entry = entries_[each.link];
    entry.response.hold = each.hold;
    entry.response.acknowledged = each.acknowledged;
    entry.response.overruled = each.overruled;
    // Remarks were about a verdict; what it recommends is found in the next pass.
    entry.is_seen = each.hold != 0;
    entry.expires = each.expires;
  }
}

}  // namespace fabricd::policy
