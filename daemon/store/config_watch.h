// SPDX-License-Identifier: Apache-2.0
// ConfigWatch: notices when nodes that share the durable state begin or cease to be configured
// differently. Pure; one thread. The problem ConfigDiffers of `get sm` is the same.
#pragma once

#include <algorithm>
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
  // The event of a change since the last call; nullopt: there was none. Other keys are one. The
  // first list with another node is one too: an earlier owner of the epoch may have raised it. A
  // list without this node says nothing: etcd has not answered yet.
  std::optional<fabric::FabricEvent> Look(const std::vector<SharingNode>& nodes, Instant now) {
    next_ = now + kInterval;
    const auto own =
        std::find_if(nodes.begin(), nodes.end(), [](const auto& node) { return node.is_this; });
    if (own == nodes.end() || (!last_ && nodes.size() < 2)) return std::nullopt;
    std::string differences;
    for (const SharingNode& node : nodes) {
      if (node.different_keys.empty()) continue;
      differences +=
          fmt::format("{}{} and {} are configured differently: {}", differences.empty() ? "" : "; ",
                      own->name, node.name, fmt::join(node.different_keys, ", "));
    }
    if (differences == last_) return std::nullopt;
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
  std::optional<std::string> last_;  // Empty: all were alike.
  Instant next_{};
};

}  // namespace fabricd::daemon
