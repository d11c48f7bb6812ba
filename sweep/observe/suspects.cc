// SPDX-License-Identifier: Apache-2.0
#include "sweep/observe/suspects.h"

#include <algorithm>

namespace fabricd::sweep {
namespace {
constexpr Duration kShortestWait = std::chrono::milliseconds(1);
constexpr Duration kShortestPace = std::chrono::milliseconds(100);
constexpr Duration kLongestPace = std::chrono::seconds(1);
constexpr Duration kForgottenAfter = std::chrono::seconds(10);
constexpr uint32_t kFreeLooks = 3;
constexpr uint32_t kMostLooks = 200;  // In kForgottenAfter; then even changes do not avoid a pause.
// The longest pause after kMostLooks. Longer than devices are known to return old values.
constexpr Duration kLongestPause = std::chrono::seconds(5);
// Some devices return old values for a while.
constexpr Duration kSecondLookAfter = std::chrono::seconds(5);

Duration Doubled(Duration once, uint32_t times, Duration longest) {
  return std::min(once * (1 << std::min(times, 10u)), longest);
}

}  // namespace

void Suspects::Add(NodeIndex node, const std::string& cause, Instant now, bool thorough) {
  AddReport({node, PortNum(0)}, cause, thorough, now);
}

void Suspects::AddPort(PortRef port, const std::string& cause, Instant now) {
  AddReport(port, cause, /*thorough=*/false, now);
}

void Suspects::AddReport(PortRef port, const std::string& cause, bool thorough, Instant now) {
  const auto known = reports_.find(port);
  if (known != reports_.end() && !known->second.is_second) {  // Repeated in a storm of traps.
    known->second.thorough |= thorough;
    return;
  }
  const auto pace = paces_.find(port.node);
  const Instant earliest = pace == paces_.end() ? now : std::max(now, pace->second.until);
  // The report joins a window that is already open.
  Instant end = earliest + window_;
  for (const auto& [other, report] : reports_)
    if (report.due >= earliest) end = std::min(end, report.due);
  reports_.insert_or_assign(port, Report{port, cause, now, end, false, thorough});
}

Instant Suspects::due() const {
  Instant first = kNever;
  for (const auto& [port, report] : reports_) first = std::min(first, report.due);
  return first;
}

SurveyTask Suspects::Take(const IsAt& is_at, Instant now) {
  SurveyTask task;
  for (auto it = reports_.begin(); it != reports_.end();) {
    Report& report = it->second;
    const bool whole = report.port.port == PortNum(0);
    if (report.due <= now && whole && is_at(report.port.node))
      report.due = now + std::max(window_, kShortestWait);
    if (report.due > now) {
      ++it;
      continue;
    }
    // Of reports with the same time, the lower cause wins, so that hash order has no effect.
    if (report.is_second) looked_twice_.insert(report.port.node);
    task.thorough |= report.thorough;
    if (report.since < task.since || (report.since == task.since && report.cause < task.cause)) {
      task.since = report.since;
      task.cause = report.cause;
    }
    if (whole)
      task.switches.push_back(report.port.node);
    else
      task.ports.push_back(report.port);
    reports_.erase(it++);
  }
  std::sort(task.switches.begin(), task.switches.end());
  std::sort(task.ports.begin(), task.ports.end());
  return task;
}

void Suspects::OnLooked(NodeIndex node, bool changed, Instant now) {
  const bool was_second = looked_twice_.erase(node) > 0;
  const PortRef whole{node, PortNum(0)};
  if (!changed && !was_second)
    reports_.emplace(whole, Report{whole, "a second look", now, now + kSecondLookAfter, true});
  Pace& pace = paces_[node];
  if (now > pace.counted_from + kForgottenAfter) {
    pace.looks = 0;
    pace.counted_from = now;
  }
  if (changed || now > pace.last + kForgottenAfter) pace.vain = 0;
  pace.last = now;
  if (++pace.looks > kMostLooks)
    pace.until = now + Doubled(kShortestPace, pace.looks - kMostLooks - 1, kLongestPause);
  if (!changed && ++pace.vain > kFreeLooks) {
    // Both ends of a link report it, so a few surveys without a change are normal.
    pace.until = std::max(pace.until,
                          now + Doubled(kShortestPace, pace.vain - kFreeLooks - 1, kLongestPace));
  }
}

}  // namespace fabricd::sweep
