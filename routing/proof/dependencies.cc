// SPDX-License-Identifier: Apache-2.0
#include "routing/proof/dependencies.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace fabricd::routing {
namespace {
constexpr size_t kMaxLoopShown = 12;
}  // namespace

std::vector<size_t> FindCycle(const Wiring& wiring, const Dependencies& dependencies) {
  constexpr size_t kNoChannel = std::numeric_limits<size_t>::max();
  const size_t channels = dependencies.channels();
  std::vector<uint32_t> waiting(channels, 0);  // Channels that wait for this one.
  for (size_t c = 0; c < channels; ++c)
    dependencies.ForEachNext(wiring, c, [&](size_t next) { ++waiting[next]; });
  std::vector<size_t> free;
  for (size_t c = 0; c < channels; ++c)
    if (waiting[c] == 0) free.push_back(c);
  size_t removed = 0;
  while (!free.empty()) {
    const size_t c = free.back();
    free.pop_back();
    ++removed;
    dependencies.ForEachNext(wiring, c, [&](size_t next) {
      if (--waiting[next] == 0) free.push_back(next);
    });
  }
  if (removed == channels) return {};
  // Every channel that is left has a waiter that is left: go back until one comes again.
  std::vector<size_t> waiter(channels, kNoChannel);
  size_t at = kNoChannel;
  for (size_t c = channels; c-- > 0;) {
    if (waiting[c] == 0) continue;
    at = c;
    dependencies.ForEachNext(wiring, c, [&](size_t next) {
      if (waiting[next] != 0) waiter[next] = c;
    });
  }
  std::vector<uint8_t> seen(channels, 0);
  for (; !seen[at]; at = waiter[at]) seen[at] = 1;
  std::vector<size_t> cycle{at};
  for (size_t c = waiter[at]; c != at; c = waiter[c]) cycle.push_back(c);
  std::reverse(cycle.begin(), cycle.end());
  return cycle;
}

std::string CycleText(const Wiring& wiring, const Dependencies& dependencies,
                      const std::vector<size_t>& cycle) {
  std::string text = fmt::format("credit loop over {} links:", cycle.size());
  for (size_t i = 0; i < cycle.size() && i < kMaxLoopShown; ++i)
    text +=
        fmt::format("{} {} port {}", i ? " ->" : "", wiring.Name(dependencies.SwitchOf(cycle[i])),
                    dependencies.PortOf(cycle[i]));
  return text + (cycle.size() > kMaxLoopShown ? " -> ..." : " -> back");
}

}  // namespace fabricd::routing
