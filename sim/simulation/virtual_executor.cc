// SPDX-License-Identifier: Apache-2.0
#include "sim/simulation/virtual_executor.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace fabricd::sim {

using shell::Lane;

bool VirtualExecutor::Post(Lane which, Job job) {
  std::deque<Waiting>& waiting = lane(which);
  if (waiting.size() >= capacity[static_cast<size_t>(which)]) return false;
  const Duration time = which == Lane::kStore ? store_time : plan_time;
  waiting.push_back({in_job_ ? now_ : now_ + time, ++posted_, std::move(job)});
  return true;
}

Instant VirtualExecutor::NextDue() const {
  Instant next = kNever;
  for (const std::deque<Waiting>& lane : lanes_)
    if (!lane.empty()) next = std::min(next, lane.front().due);
  return next;
}

std::deque<VirtualExecutor::Waiting>* VirtualExecutor::FindDue() {
  std::deque<Waiting>* first = nullptr;
  const auto order = [](const Waiting& each) { return std::tuple(each.due, each.number); };
  for (std::deque<Waiting>& lane : lanes_) {
    if (lane.empty() || lane.front().due > now_) continue;
    if (&lane == lanes_.data()) return &lane;  // Writes.
    if (first == nullptr || order(lane.front()) < order(first->front())) first = &lane;
  }
  return first;
}

bool VirtualExecutor::RunDue(const std::function<void(Lane)>& entering) {
  bool any = false;
  while (std::deque<Waiting>* const lane = FindDue()) {
    entering(static_cast<Lane>(lane - lanes_.data()));
    RunFirst(*lane);
    any = true;
  }
  return any;
}

void VirtualExecutor::RunFirst(std::deque<Waiting>& lane) {
  const Job job = std::move(lane.front().job);
  lane.pop_front();
  in_job_ = true;
  job();
  in_job_ = false;
}

void VirtualExecutor::Die(bool write_survives) {
  if (write_survives && !lane(Lane::kStore).empty()) RunFirst(lane(Lane::kStore));
  for (std::deque<Waiting>& lane : lanes_) lane.clear();
}

}  // namespace fabricd::sim
