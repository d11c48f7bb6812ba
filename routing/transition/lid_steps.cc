// SPDX-License-Identifier: Apache-2.0
#include "routing/transition/lid_steps.h"

#include <algorithm>
#include <utility>

#include "routing/plan/link_map.h"

namespace fabricd::routing {
namespace {

// Whether all are written that change on its new way.
bool IsNext(const PushView& view, uint32_t s, uint32_t block, uint32_t i,
            const std::vector<uint8_t>& step) {
  FarEnd far = view.links().far(s, view.Desired(s, block)[i]);
  for (uint32_t hops = 0; far.IsSwitch() && hops <= view.links().size(); ++hops) {
    if (step[far.head] != 2) return false;
    far = view.links().far(far.head, view.Desired(far.head, block)[i]);
  }
  return true;
}

}  // namespace

std::vector<std::vector<uint32_t>> FindLidSteps(const PushView& view, const BlockChange& group,
                                                uint32_t i, const ChannelDependencyGraph& others,
                                                uint64_t most_steps, uint64_t& steps_taken) {
  std::vector<std::vector<uint32_t>> steps;
  std::vector<uint32_t> open;
  for (const PushView::Changed* one = group.begin; one != group.end; ++one)
    if (one->lids >> i & 1) open.push_back(one->at);
  std::vector<uint8_t> step(view.links().size(), 2);
  for (uint32_t s : open) step[s] = 0;
  while (!open.empty() && steps_taken < most_steps) {
    std::vector<uint32_t> moving;
    for (uint32_t s : open)
      if (IsNext(view, s, group.block, i, step)) moving.push_back(s);
    std::vector<uint32_t> taken;
    for (uint32_t s : moving) {
      step[s] = 1;
      ChannelDependencyGraph with = others;
      with.AddStep(group, i, step);
      steps_taken += with.size() + view.links().size();
      if (with.IsFreeOfCycles())
        taken.push_back(s);
      else
        step[s] = 0;
    }
    if (taken.empty()) return {};
    for (uint32_t s : taken) step[s] = 2;
    open.erase(std::remove_if(open.begin(), open.end(), [&](uint32_t s) { return step[s] == 2; }),
               open.end());
    steps.push_back(std::move(taken));
  }
  if (!open.empty()) steps.clear();
  return steps;
}

}  // namespace fabricd::routing
