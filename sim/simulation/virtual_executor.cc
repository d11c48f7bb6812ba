// SPDX-License-Identifier: Apache-2.0
#include "sim/simulation/virtual_executor.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace fabricd::sim {

using shell::Queue;

bool VirtualExecutor::Post(Queue which, Job job) {
  std::deque<Waiting>& waiting = queue(which);
  if (waiting.size() >= capacity[static_cast<size_t>(which)]) return false;
  const Duration time = which == Queue::kStore ? store_time : plan_time;
  waiting.push_back({in_job_ ? now_ : now_ + time, ++posted_, std::move(job)});
  return true;
}

Instant VirtualExecutor::NextDue() const {
  Instant next = kNever;
  for (const std::deque<Waiting>& queue : queues_)
    if (!queue.empty()) next = std::min(next, queue.front().due);
  return next;
}

std::deque<VirtualExecutor::Waiting>* VirtualExecutor::FindDue() {
  std::deque<Waiting>* first = nullptr;
  const auto order = [](const Waiting& each) { return std::tuple(each.due, each.number); };
  for (std::deque<Waiting>& queue : queues_) {
    if (queue.empty() || queue.front().due > now_) continue;
    if (&queue == queues_.data()) return &queue;  // Writes.
    if (first == nullptr || order(queue.front()) < order(first->front())) first = &queue;
  }
  return first;
}

bool VirtualExecutor::RunDue(const std::function<void(Queue)>& entering) {
  bool any = false;
  while (std::deque<Waiting>* const queue = FindDue()) {
    entering(static_cast<Queue>(queue - queues_.data()));
    RunFirst(*queue);
    any = true;
  }
  return any;
}

void VirtualExecutor::RunFirst(std::deque<Waiting>& queue) {
  const Job job = std::move(queue.front().job);
  queue.pop_front();
  in_job_ = true;
  job();
  in_job_ = false;
}

void VirtualExecutor::Die(bool write_survives) {
  if (write_survives && !queue(Queue::kStore).empty()) RunFirst(queue(Queue::kStore));
  for (std::deque<Waiting>& queue : queues_) queue.clear();
}

}  // namespace fabricd::sim
