// SPDX-License-Identifier: Apache-2.0
#include "shell/stop_notice.h"

#include <fmt/format.h>

#include "shell/statement_lines.h"

namespace fabricd::shell {
namespace {

constexpr std::string_view kStopped = "stopped";

}  // namespace

std::string StopNotice(std::chrono::nanoseconds stopped_for) {
  if (stopped_for == stopped_for.zero()) return "";
  return fmt::format("{} {}\n", kStopped, stopped_for.count());
}

bool StopNotices::HasNew(const store::etcd::SharedStore& shared, Instant now) {
  if (now < next_) return false;
  next_ = now + kInterval;
  bool has_new = false;
  for (const store::etcd::Node& node : shared.nodes()) {
    const std::string_view notice = FindValue(node.statement.about, kStopped);
    if (notice.empty() || node.instance == shared.instance()) continue;
    std::string& seen = seen_[node.instance];
    has_new = has_new || seen != notice;
    seen = notice;
  }
  return has_new;
}

}  // namespace fabricd::shell
