// SPDX-License-Identifier: Apache-2.0
#include "shell/stop_notice.h"

#include <algorithm>

#include <fmt/format.h>

namespace fabricd::shell {
namespace {

constexpr std::string_view kWord = "stopped ";

}  // namespace

std::string StopNotice(std::chrono::nanoseconds stopped_for) {
  if (stopped_for == stopped_for.zero()) return "";
  return fmt::format("{}{}\n", kWord, stopped_for.count());
}

// Empty: there is none.
std::string_view StopNotices::NoticeIn(std::string_view about) {
  while (!about.empty()) {
    const std::string_view line = about.substr(0, about.find('\n'));
    if (line.starts_with(kWord)) return line.substr(kWord.size());
    about.remove_prefix(std::min(line.size() + 1, about.size()));
  }
  return {};
}

bool StopNotices::HasNew(const store::etcd::SharedStore& shared, Instant now) {
  if (now < next_) return false;
  next_ = now + kInterval;
  bool has_new = false;
  for (const store::etcd::Node& node : shared.nodes()) {
    const std::string_view notice = NoticeIn(node.statement.about);
    if (notice.empty() || node.instance == shared.instance()) continue;
    std::string& seen = seen_[node.instance];
    has_new = has_new || seen != notice;
    seen = notice;
  }
  return has_new;
}

}  // namespace fabricd::shell
