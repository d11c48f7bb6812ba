// SPDX-License-Identifier: Apache-2.0
#include "policy/conditions.h"

#include <algorithm>
#include <numeric>

namespace fabricd::policy {

std::string_view ConditionTypeOf(Rule rule) {
  switch (rule) {
    case Rule::kNoisyTraps:
    case Rule::kTrapStorm: return "NoisyTraps";
    case Rule::kUnresponsive: return "Unresponsive";
    case Rule::kSetErrors: return "SetErrors";
  }
  return "";
}

void SlidingCount::MoveTo(Instant now, Duration window) {
  const int64_t slice = now.time_since_epoch() / std::max(window / kSlices, Duration(1));
  if (slice - slice_ >= kSlices || slice < slice_) {
    slices_.fill(0);
  } else {
    for (int64_t i = slice_ + 1; i <= slice; ++i) slices_[static_cast<size_t>(i % kSlices)] = 0;
  }
  slice_ = slice;
}

void SlidingCount::Add(uint64_t count, Instant now, Duration window) {
  MoveTo(now, window);
  slices_[static_cast<size_t>(slice_ % kSlices)] += count;
}

uint64_t SlidingCount::Total(Instant now, Duration window) {
  MoveTo(now, window);
  return std::accumulate(slices_.begin(), slices_.end(), uint64_t{0});
}

const RateRule& Conditions::RuleOf(Rule rule) const {
  switch (rule) {
    case Rule::kNoisyTraps: return options_.noisy_traps;
    case Rule::kTrapStorm: return options_.trap_storm;
    case Rule::kUnresponsive: return options_.unresponsive;
    case Rule::kSetErrors: break;
  }
  return options_.set_errors;
}

// Out of its queue, until the caller knows its deadline.
Conditions::Entry& Conditions::EntryOf(Source source, Instant now) {
  if (const auto found = sources_.find(source); found != sources_.end()) {
    Entry& entry = found->second;
    (entry.raised ? raised_ : quiet_).erase({entry.deadline, source});
    return entry;
  }
  if (sources_.size() >= kMaxSources) {
    Queue& queue = quiet_.empty() ? raised_ : quiet_;
    sources_.erase(queue.begin()->second);
    queue.erase(queue.begin());
  }
  Entry& entry = sources_[source];
  entry.deadline = now;
  return entry;
}

const Conditions::Raised* Conditions::Count(Source source, uint64_t count, std::string_view what,
                                            Instant now) {
  const RateRule& rule = RuleOf(source.rule);
  Entry& entry = EntryOf(source, now);
  entry.recent.Add(count, now, rule.window);
  const uint64_t total = entry.recent.Total(now, rule.window);
  const bool bad = total >= rule.threshold;
  const bool was_raised = entry.raised.has_value();
  if (bad && !was_raised) entry.raised = Raised{source, now, 0, total - count, {}};
  if (entry.raised) {
    entry.raised->count = std::max(entry.raised->count, total);
    entry.raised->total += count;
    entry.raised->last = what;
  }
  if (bad)
    entry.deadline = now + 2 * rule.window;
  else if (!was_raised)
    entry.deadline = now + rule.window;
  (entry.raised ? raised_ : quiet_).insert({entry.deadline, source});
  return bad && !was_raised ? &*entry.raised : nullptr;
}

std::vector<Conditions::Source> Conditions::OnTimer(Instant now) {
  std::vector<Source> cleared;
  for (Queue* queue : {&raised_, &quiet_})
    while (!queue->empty() && queue->begin()->first <= now) {
      if (queue == &raised_) cleared.push_back(queue->begin()->second);
      sources_.erase(queue->begin()->second);
      queue->erase(queue->begin());
    }
  std::sort(cleared.begin(), cleared.end());
  return cleared;
}

Instant Conditions::NextDeadline() const {
  Instant next = kNever;
  for (const Queue* queue : {&raised_, &quiet_})
    if (!queue->empty()) next = std::min(next, queue->begin()->first);
  return next;
}

std::vector<Conditions::Raised> Conditions::List() const {
  std::vector<Raised> list;
  for (const auto& [time, source] : raised_) list.push_back(*sources_.at(source).raised);
  std::sort(list.begin(), list.end(),
            [](const Raised& x, const Raised& y) { return x.source < y.source; });
  return list;
}

}  // namespace fabricd::policy
