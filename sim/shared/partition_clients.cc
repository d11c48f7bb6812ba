// SPDX-License-Identifier: Apache-2.0
#include "sim/shared/partition_clients.h"

#include <utility>

#include <fmt/format.h>

#include "sim/faults/draw.h"

namespace fabricd::sim {

using std::chrono::seconds;
using Verb = policy::PartitionRequest::Verb;

void PartitionClients::Plan(Duration phase) {
  for (uint64_t count = 2 + rng_.Below(6); count > 0; --count) {
    const Instant when = world_.now() + seconds(2) + UpTo(phase - seconds(2), rng_);
    const bool deletes = rng_.Chance(0.3);
    world_.threads().At(when, [this, deletes] { deletes ? Delete() : Create(); });
  }
}

// The lowest free number is asked for.
void PartitionClients::Create() {
  ManagementNode* const master = master_();
  if (master == nullptr || !master->view().subnet_up) return;
  policy::PartitionRequest request;
  request.verb = Verb::kCreate;
  request.partition.name = fmt::format("tenant{}", commands_.next());
  for (uint64_t count = rng_.Below(3); count > 0; --count) {
    const SimDevice& device = *world_.fabric().device(OneOf(places_.nodes(), rng_));
    if (device.IsSwitch()) continue;
    request.partition.members = {
        {device.port(PortNum(1)).guid, policy::PortClass::kNone, policy::Membership::kFull}};
  }
  const uint64_t command = commands_.Add({request.partition.name});
  master->Post(sweep::ChangePartitions{command, std::move(request)});
}

void PartitionClients::Delete() {
  ManagementNode* const master = master_();
  if (master == nullptr || stands_.empty()) return;
  auto which = stands_.begin();
  std::advance(which, static_cast<std::ptrdiff_t>(rng_.Below(stands_.size())));
  policy::PartitionRequest request;
  request.verb = Verb::kDelete;
  request.partition.number = which->first;
  deleting_.insert(which->first);
  const uint64_t command = commands_.Add({which->second, which->first});
  master->Post(sweep::ChangePartitions{command, std::move(request)});
}

void PartitionClients::OnFinished(const sweep::FinishedCommand& finished) {
  const std::optional<Asked> asked = commands_.TakeDone(finished);
  if (!asked) return;
  if (asked->number != 0) {
    // Another may have it since a deletion whose answer was lost.
    const auto stands = stands_.find(asked->number);
    if (stands != stands_.end() && stands->second == asked->name) stands_.erase(stands);
    return;
  }
  if (finished.partitions == nullptr) return;
  const uint16_t number = finished.partitions->number;
  world_.Tell(fmt::format("partition {:#06x} of {} is acknowledged", number, asked->name));
  const auto [stands, is_new] = stands_.try_emplace(number, asked->name);
  if (!is_new && !deleting_.contains(number))
    say_(fmt::format("{:#06x} was given to {} while it was that of {}", number, asked->name,
                     stands->second));
  stands->second = asked->name;
  deleting_.erase(number);
  ++acknowledged_;
}

void PartitionClients::CheckKnown(const ManagementNode& node, const sweep::FabricView& view) {
  for (const auto& [number, name] : stands_) {
    if (deleting_.contains(number)) continue;
    const policy::Partition* const shown = view.partitions->partitions.Find(number);
    if (shown != nullptr && shown->name == name) continue;
    say_(
        fmt::format("{:#06x} of {} was acknowledged, and node {}, which is master, does not know "
                    "it",
                    number, name, node.number()));
    deleting_.insert(number);  // Once is enough.
  }
}

}  // namespace fabricd::sim
