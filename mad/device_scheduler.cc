// SPDX-License-Identifier: Apache-2.0
#include "mad/device_scheduler.h"

#include <algorithm>

#include "common/check.h"

namespace fabricd::mad {

DeviceScheduler::DeviceScheduler(const EngineOptions& options, RequestSlots& slots,
                                 DeviceQueues& queues, const SuspectDevices& suspects,
                                 uint32_t suspect_limit)
    : options_(options),
      slots_(slots),
      queues_(queues),
      suspects_(suspects),
      suspect_limit_(suspect_limit) {
  FABRICD_CHECK(options.device_limit >= 1 && options.subtree_limit >= 1 && suspect_limit >= 1);
}

// ---- where a device stands

uint32_t DeviceScheduler::DeviceLimit(DeviceId device) const {
  const bool on_trial = options_.first_contact && suspects_.answers(device) < options_.device_trial;
  return on_trial || suspects_.IsSuspect(device) ? 1 : options_.device_limit;
}

uint32_t DeviceScheduler::LimitOf(const Gate& gate) const {
  return &gate == &suspect_gate_ ? suspect_limit_ : options_.subtree_limit;
}

void DeviceScheduler::Link(DeviceId device, IndexList& list, uint8_t priority, bool front) {
  Standing& standing = standings_[device];
  standing.list = &list;
  standing.list_priority = priority;
  list.Insert(device, front, [this](DeviceId each) -> Standing& { return standings_[each]; });
}

void DeviceScheduler::Unlink(DeviceId device) {
  Standing& standing = standings_[device];
  if (standing.list == nullptr) return;
  standing.list->Remove(device, [this](DeviceId each) -> Standing& { return standings_[each]; });
  standing.list = nullptr;
  standing.waiting_at = nullptr;
}

void DeviceScheduler::OnQueueChange(DeviceId device) {
  const Standing& standing = standings_[device];
  const uint8_t priority = queues_.TopPriority(device);
  if (priority == kPriorities || standing.in_flight >= DeviceLimit(device)) {
    Unlink(device);
    ReturnToken(device);
  } else if (standing.list == nullptr || standing.list_priority != priority) {
    // From a gate too: the request that is first now need not pass that gate.
    Unlink(device);
    Link(device, ready_[priority], priority, /*front=*/false);
  }
}

void DeviceScheduler::OnRouteChange(DeviceId device) {
  if (standings_[device].waiting_at != nullptr) Unlink(device);
  OnQueueChange(device);
}

void DeviceScheduler::OnSuspectChange(DeviceId device) {
  if (standings_[device].waiting_at == &suspect_gate_) Unlink(device);
  OnQueueChange(device);
}

void DeviceScheduler::SetSuspectLimit(uint32_t limit) {
  if (limit == suspect_limit_) return;
  suspect_limit_ = limit;
  Balance(suspect_gate_);
}

// ---- gates

Gate* DeviceScheduler::SubtreeOf(const RequestSlot& slot) {
  if (slot.request.lid) return nullptr;
  const wire::DirectedPath& path = slot.path();
  if (path.hops() < 2) return nullptr;
  std::unique_ptr<std::array<Gate, 256>>& by_second_hop = subtrees_[path[0]];
  if (by_second_hop == nullptr) by_second_hop = std::make_unique<std::array<Gate, 256>>();
  return &(*by_second_hop)[path[1]];
}

void DeviceScheduler::WaitAt(DeviceId device, Gate& gate, bool front) {
  const uint8_t priority = queues_.TopPriority(device);
  Link(device, gate.waiting[priority], priority, front);
  standings_[device].waiting_at = &gate;
}

void DeviceScheduler::ReturnToken(DeviceId device) {
  Gate* const gate = standings_[device].woken_by;
  if (gate == nullptr) return;
  standings_[device].woken_by = nullptr;
  --gate->woken;
  Balance(*gate);
}

// Wakes one waiting device for each free place. Every change of a gate's count, tokens or limit
// ends here, so a device never waits at a gate with room.
void DeviceScheduler::Balance(Gate& gate) {
  const uint32_t limit = LimitOf(gate);
  for (uint8_t priority = 0; priority < kPriorities;) {
    if (gate.in_flight + gate.woken >= limit) return;
    const DeviceId device = gate.waiting[priority].head;
    if (device == kNoIndex) {
      ++priority;
      continue;
    }
    Unlink(device);
    standings_[device].woken_by = &gate;
    ++gate.woken;
    // To the front: it has waited.
    Link(device, ready_[priority], priority, /*front=*/true);
  }
}

// ---- sending

DeviceId DeviceScheduler::PopReady() {
  for (const IndexList& list : ready_) {
    if (list.empty()) continue;
    const DeviceId device = list.head;
    Unlink(device);
    return device;
  }
  return kNoIndex;
}

SlotIndex DeviceScheduler::TakeNext() {
  for (DeviceId device = PopReady(); device != kNoIndex; device = PopReady()) {
    const SlotIndex index = queues_.First(device);
    RequestSlot& slot = slots_.At(index);
    slot.on_alternative = slot.request.alternative && slot.timeouts >= options_.alternative_after;
    slot.gates = {suspects_.IsSuspect(device) ? &suspect_gate_ : nullptr, SubtreeOf(slot)};
    const auto full = std::find_if(slot.gates.begin(), slot.gates.end(), [this](const Gate* gate) {
      return gate != nullptr && gate->in_flight >= LimitOf(*gate);
    });
    if (full == slot.gates.end()) {
      queues_.Dequeue(index);
      ++standings_[device].in_flight;
      for (Gate* gate : slot.gates)
        if (gate != nullptr) ++gate->in_flight;
      ReturnToken(device);
      OnQueueChange(device);
      return index;
    }
    WaitAt(device, **full, /*front=*/*full == standings_[device].woken_by);
    ReturnToken(device);
  }
  return kNoIndex;
}

void DeviceScheduler::Release(const RequestSlot& slot) {
  --standings_[slot.request.device].in_flight;
  for (auto gate = slot.gates.rbegin(); gate != slot.gates.rend(); ++gate) {
    if (*gate == nullptr) continue;
    --(*gate)->in_flight;
    Balance(**gate);
  }
  OnQueueChange(slot.request.device);
}

}  // namespace fabricd::mad
