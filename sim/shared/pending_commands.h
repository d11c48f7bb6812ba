// SPDX-License-Identifier: Apache-2.0
// PendingCommands: what clients have asked of a node, by command, until it answers. Perhaps it
// never does.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "common/status.h"
#include "sim/shared/shared_world.h"
#include "sweep/interface/events.h"

namespace fabricd::sim {

template <typename Asked>
class PendingCommands {
 public:
  // `first`: number of the first command. No two clients share a number.
  PendingCommands(const SharedWorld& world, uint64_t first) : world_(world), next_(first) {}

  // The number of the new command.
  uint64_t Add(Asked asked) {
    asked_.emplace(next_, std::move(asked));
    return next_++;
  }
  // The command that has succeeded. nullopt: it was refused, or is not in this list.
  std::optional<Asked> TakeDone(const sweep::FinishedCommand& finished) {
    auto asked = asked_.extract(finished.command);
    if (asked.empty()) return std::nullopt;
    if (!finished.status.ok()) {
      world_.Tell(fmt::format("refused: {}", Message(finished.status)));
      return std::nullopt;
    }
    return std::move(asked.mapped());
  }
  uint64_t next() const { return next_; }

 private:
  const SharedWorld& world_;
  uint64_t next_;
  std::map<uint64_t, Asked> asked_;
};

}  // namespace fabricd::sim
