// SPDX-License-Identifier: Apache-2.0
// ConfigWatch: notices when nodes that share the durable state begin or cease to be configured
// differently. Pure; one thread. The problem ConfigDiffers of `get sm` is the same.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/time.h"
#include "daemon/base/sharing_node.h"
#include "fabric/event.h"

namespace fabricd::daemon {

class ConfigWatch {
 public:
  static constexpr Duration kInterval = std::chrono::seconds(1);

  bool IsDue(Instant now) const { return now >= next_; }
  // The event of a change since the last call; nullopt: there was none. Other keys are one. A list
  // without this node says nothing: etcd has not answered yet.
  std::optional<fabric::FabricEvent> Look(const std::vector<SharingNode>& nodes, Instant now) {
    next_ = now + kInterval;
    bool has_this = false;
    std::string differences;
    for (const SharingNode& node : nodes) {
      has_this = has_this || node.is_this;
      if (node.different_keys.empty()) continue;
      differences += differences.empty() ? "" : "; ";
      differences += node.name + " " + Difference(node);
    }
    if (!has_this || differences == last_) return std::nullopt;
    last_ = differences;
    fabric::FabricEvent event;
    event.type = differences.empty() ? "ConditionCleared" : "ConditionRaised";
    event.severity = differences.empty() ? fabric::Severity::kInfo : fabric::Severity::kWarning;
    event.subject = "configuration";
    event.message = differences.empty() ? "all nodes are configured alike" : differences;
    event.facts = {{"condition", "ConfigDiffers"}};
    return event;
  }

  // REQUIRES: some differ.
  static std::string Difference(const SharingNode& node) {
    return fmt::format("is not configured as this node: {}", fmt::join(node.different_keys, ", "));
  }

 private:
  std::string last_;  // Empty: all were alike.
  Instant next_{};
};

}  // namespace fabricd::daemon
