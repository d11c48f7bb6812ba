// SPDX-License-Identifier: Apache-2.0
#include "daemon/record/log_gate.h"

#include <algorithm>
#include <utility>

namespace fabricd::daemon {
namespace {

// Enough to tell kinds apart, whatever a line carries.
constexpr size_t kLongestKind = 160;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

LogGate::LogGate(Limits limits) : limits_(limits), all_(limits.burst, limits.interval) {}

void LogGate::Bucket::Refill(Instant now) {
  if (now - filled_ < interval_) return;
  const auto intervals = (now - filled_) / interval_;
  if (static_cast<size_t>(intervals) >= most_ - tokens_) {
    tokens_ = most_;
    filled_ = now;
  } else {
    tokens_ += static_cast<size_t>(intervals);
    filled_ += intervals * interval_;
  }
}

std::string LogGate::KindOf(std::string_view text) {
  std::string kind;
  while (!text.empty() && kind.size() < kLongestKind) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    if (std::any_of(word.begin(), word.end(), IsDigit))
      kind += '#';
    else
      kind += word;
    kind += ' ';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return kind;
}

LogGate::Kind& LogGate::Find(int level, std::string_view text) {
  const std::string name = std::to_string(level) + ' ' + KindOf(text);
  const auto known = kinds_.find(name);
  if (known != kinds_.end()) return known->second;
  const bool room = kinds_.size() < limits_.kinds;
  return kinds_.try_emplace(room ? name : "", Kind{{limits_.kind_burst, limits_.kind_interval}, {}})
      .first->second;
}

LogGate::Verdict LogGate::Admit(int level, std::string_view text, Instant now) {
  Kind& kind = Find(level, text);
  if (kind.bucket.Has(now) && all_.Has(now)) {
    kind.bucket.Take();
    all_.Take();
    return {true, std::exchange(kind.held.left_out, 0)};
  }
  ++kind.held.left_out;
  kind.held.level = level;
  kind.held.last = text;
  return {};
}

std::vector<LogGate::Summary> LogGate::TakeSummaries(Instant now) {
  std::vector<Summary> summaries;
  for (auto at = kinds_.begin(); at != kinds_.end();) {
    Kind& kind = at->second;
    if (kind.held.left_out > 0 && kind.bucket.Has(now) && all_.Has(now)) {
      kind.bucket.Take();
      all_.Take();
      summaries.push_back(std::exchange(kind.held, {}));
    }
    const bool at_rest = kind.held.left_out == 0 && kind.bucket.IsFull(now);
    at = at_rest ? kinds_.erase(at) : std::next(at);
  }
  return summaries;
}

}  // namespace fabricd::daemon
