// SPDX-License-Identifier: Apache-2.0
#include "policy/damping.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include <fmt/format.h>

namespace fabricd::policy {
namespace {

double InHalfLives(Duration time, Duration half_life) {
  return std::chrono::duration<double>(time) / std::chrono::duration<double>(half_life);
}

}  // namespace

double Damping::PenaltyAt(const Entry& entry, Instant now) const {
  return entry.penalty * std::exp2(-InHalfLives(now - entry.at, options_.half_life));
}

// When it will have decayed to `penalty`, rounded up.
Instant Damping::TimeOf(const Entry& entry, double penalty) const {
  if (entry.penalty <= penalty) return entry.at;
  const double seconds = std::log2(entry.penalty / penalty) *
                         std::chrono::duration<double>(options_.half_life).count();
  return entry.at + Duration(static_cast<int64_t>(std::ceil(seconds * 1e9)));
}

void Damping::Schedule(LinkId link, Entry& entry) {
  const double goal = entry.IsBad() ? options_.reuse : options_.reuse / 2.0;
  entry.deadline = TimeOf(entry, goal);
  QueueOf(entry).insert({entry.deadline, link});
}

// It leaves no link suppressed for longer than max_suppress after its last flap.
double Damping::Cap() const {
  return options_.reuse * std::exp2(InHalfLives(options_.max_suppress, options_.half_life));
}

Damping::Verdict Damping::OnFlap(LinkId link, Instant now) {
  if (!options_.enabled) return Verdict::kCounted;
  auto found = links_.find(link);
  if (found == links_.end()) {
    MakeRoom();
    found = links_.emplace(link, Entry{0, now, 0, false, false, now}).first;
  } else {
    Unschedule(link, found->second);
  }
  Entry& entry = found->second;
  entry.penalty = std::min(PenaltyAt(entry, now) + options_.penalty, Cap());
  entry.at = now;
  ++entry.flaps;
  Verdict verdict = Verdict::kCounted;
  if (!entry.suppressed && entry.penalty >= options_.suppress) {
    if (suppressed_ < options_.max_suppressed) {
      entry.over_limit = false;
      entry.suppressed = true;
      ++suppressed_;
      verdict = Verdict::kSuppressed;
    } else if (!entry.over_limit) {
      entry.over_limit = true;
      verdict = Verdict::kOverLimit;
    }
  }
  Schedule(link, entry);
  return verdict;
}

// A clock that was set back must not make the suppression longer.
bool Damping::Restore(Suppression before, Instant now) {
  before.at = std::min(before.at, now);
  before.penalty = std::min(before.penalty, Cap());
  if (suppressed_ >= options_.max_suppressed || links_.contains(before.link) ||
      !LastsUntil(before.penalty, before.at, now))
    return false;
  MakeRoom();
  Entry& entry = links_[before.link];
  entry = {before.penalty, before.at, before.flaps, /*suppressed=*/true, false, now};
  ++suppressed_;
  Schedule(before.link, entry);
  return true;
}

void Damping::MakeRoom() {
  if (links_.size() < kMaxLinks) return;
  Queue& queue = good_.empty() ? bad_ : good_;
  const LinkId next = queue.begin()->second;
  suppressed_ -= links_.at(next).suppressed;
  queue.erase(queue.begin());
  links_.erase(next);
}

std::vector<LinkId> Damping::OnTimer(Instant now) {
  std::vector<LinkId> released;
  while (!bad_.empty() && bad_.begin()->first <= now) {
    const LinkId link = bad_.begin()->second;
    bad_.erase(bad_.begin());
    Entry& entry = links_.at(link);
    suppressed_ -= std::exchange(entry.suppressed, false);
    entry.over_limit = false;
    released.push_back(link);
    Schedule(link, entry);
  }
  while (!good_.empty() && good_.begin()->first <= now) {
    links_.erase(good_.begin()->second);
    good_.erase(good_.begin());
  }
  std::sort(released.begin(), released.end());
  return released;
}

std::vector<LinkId> Damping::Clear(PortRef end) {
  std::vector<LinkId> released;
  for (const auto& [link, entry] : links_) {
    if (link.a != end && link.b != end) continue;
    Unschedule(link, entry);
    suppressed_ -= entry.suppressed;
    if (entry.IsBad()) released.push_back(link);
  }
  absl::erase_if(links_,
                 [end](const auto& each) { return each.first.a == end || each.first.b == end; });
  std::sort(released.begin(), released.end());
  return released;
}

Instant Damping::NextDeadline() const {
  Instant next = kNever;
  for (const Queue* queue : {&bad_, &good_})
    if (!queue->empty()) next = std::min(next, queue->begin()->first);
  return next;
}

void Damping::SetOptions(const DampingOptions& options, Instant now) {
  for (auto& [link, entry] : links_) {
    entry.penalty = PenaltyAt(entry, now);
    entry.at = now;
  }
  options_ = options;
  bad_.clear();
  good_.clear();
  if (!options_.enabled)
    for (auto& [link, entry] : links_) entry.penalty = 0;  // All are due now.
  for (auto& [link, entry] : links_) Schedule(link, entry);
}

std::vector<LinkId> Damping::Suppressed() const {
  std::vector<LinkId> links;
  for (const auto& [time, link] : bad_)
    if (links_.at(link).suppressed) links.push_back(link);
  std::sort(links.begin(), links.end());
  return links;
}

std::vector<Damping::Suppression> Damping::Suppressions() const {
  std::vector<Suppression> list;
  for (const LinkId link : Suppressed()) {
    const Entry& entry = links_.at(link);
    list.push_back({link, entry.penalty, entry.at, entry.flaps});
  }
  return list;
}

bool Damping::IsSuppressed(LinkId link) const {
  const auto found = links_.find(link);
  return found != links_.end() && found->second.suppressed;
}

std::string Damping::ReasonOf(const Entry& entry) const {
  if (entry.suppressed)
    return fmt::format("{} flaps: penalty {:.0f} reached {}", entry.flaps, entry.penalty,
                       options_.suppress);
  if (entry.over_limit)
    return fmt::format("{} flaps: penalty {:.0f} reached {}, but {} links are suppressed already",
                       entry.flaps, entry.penalty, options_.suppress, options_.max_suppressed);
  return fmt::format("{} flaps: suppressed at a penalty of {}", entry.flaps, options_.suppress);
}

std::vector<DampedLink> Damping::List(Instant now) const {
  std::vector<DampedLink> list;
  for (const auto& [link, entry] : links_) {
    DampedLink& shown = list.emplace_back();
    shown.a = link.a;
    shown.b = link.b;
    shown.penalty = PenaltyAt(entry, now);
    shown.at = now;
    shown.flaps = entry.flaps;
    shown.suppressed = entry.suppressed;
    if (entry.suppressed) shown.release = entry.deadline;
    shown.reason = ReasonOf(entry);
  }
  std::sort(list.begin(), list.end(), [](const DampedLink& x, const DampedLink& y) {
    return std::tie(x.a, x.b) < std::tie(y.a, y.b);
  });
  return list;
}

}  // namespace fabricd::policy
