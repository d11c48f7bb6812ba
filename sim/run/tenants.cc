// SPDX-License-Identifier: Apache-2.0
#include "sim/run/tenants.h"

#include <utility>

#include <fmt/format.h>

#include "common/status.h"
#include "sim/faults/draw.h"

namespace fabricd::sim {

using policy::PartitionRequest;
using policy::PortClass;
using Verb = PartitionRequest::Verb;

namespace {
constexpr uint64_t kPartitions = 6;  // Numbers that they take.
}

void Tenants::Plan() {
  const Duration phase = Seconds(faults_.phase_s);
  for (int i = 0; i < Count(faults_.tenants); ++i)
    simulation_.At(simulation_.now() + UpTo(phase, rng_), [this] { Ask(); });
}

void Tenants::Ask() {
  if (stopped_) return;
  for (size_t i = 0; i < simulation_.manager_count(); ++i) {
    const Manager& manager = simulation_.manager(i);
    if (!manager.core || manager.core->sm_state() != wire::SmState::kMaster) continue;
    sweep::ChangePartitions command;
    command.command = next_command_++;
    command.request = Draw(manager.view->partitions->partitions);
    note_(fmt::format("partition {:#06x} is to be changed", command.request.partition.number));
    asked_[command.command] = i;
    simulation_.Post(i, std::move(command));
    return;
  }
}

policy::Member Tenants::DrawMember() {
  policy::Member member;
  member.membership = static_cast<policy::Membership>(1 + rng_.Below(3));
  if (rng_.Chance(0.2)) {
    member.ports = static_cast<PortClass>(1 + rng_.Below(6));
    return member;
  }
  const SimFabric& fabric = simulation_.fabric();
  const SimDevice& device = *fabric.device(OneOf(places_.nodes(), rng_));
  const PortNum port = device.IsSwitch() ? PortNum(0) : PortNum(1);
  member.guid = device.port(port).guid;
  if (!member.guid) member.guid = Guid(1 + rng_.Below(100));  // Of nobody.
  return member;
}

PartitionRequest Tenants::Draw(const policy::Partitions& now) {
  PartitionRequest request;
  request.verb = static_cast<Verb>(1 + rng_.Below(5));
  policy::Partition& partition = request.partition;
  partition.number = static_cast<uint16_t>(1 + rng_.Below(kPartitions));
  if (rng_.Chance(0.1)) partition.number = policy::kDefaultPartition;
  partition.index0 = rng_.Chance(0.2);
  const uint64_t members = 1 + rng_.Below(6);
  for (uint64_t i = 0; i < members; ++i) partition.members.push_back(DrawMember());
  request.fields = static_cast<uint8_t>(rng_.Below(32) & ~uint64_t{PartitionRequest::kName});
  const bool is_there = now.Find(partition.number) != nullptr;
  if (is_there && request.verb == Verb::kCreate) request.verb = Verb::kAddMembers;
  if (!is_there && rng_.Chance(0.8)) request.verb = Verb::kCreate;
  return request;
}

void Tenants::OnFinished(const sweep::FinishedCommand& finished) {
  const auto asked = asked_.find(finished.command);
  if (asked == asked_.end()) return;
  if (finished.status.ok() && finished.partitions)
    confirmed_[asked->second] = finished.partitions->after;
  asked_.erase(asked);
}

// A change whose answer died with the manager may have come after what was confirmed.
std::vector<std::string> Tenants::Findings(size_t number) const {
  const auto found = confirmed_.find(number);
  if (found == confirmed_.end()) return {};
  const policy::PartitionState& confirmed = *found->second;
  const policy::PartitionState& shown = *simulation_.manager(number).view->partitions;
  if (shown.revision < confirmed.revision ||
      (shown.revision == confirmed.revision && shown.partitions != confirmed.partitions))
    return {fmt::format("revision {} was confirmed, {} is in force", confirmed.revision,
                        shown.revision)};
  return {};
}

}  // namespace fabricd::sim
