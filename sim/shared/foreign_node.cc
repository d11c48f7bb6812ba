// SPDX-License-Identifier: Apache-2.0
#include "sim/shared/foreign_node.h"

#include <algorithm>
#include <utility>

#include "sim/checkers/end_ports.h"

namespace fabricd::sim {

ForeignNode::ForeignNode(SharedWorld& world, const ManagementNodes& nodes, PortRef host,
                         uint8_t priority, uint64_t seed)
    : world_(world),
      nodes_(nodes),
      sm_(world.fabric(), host, priority, seed, [this] { return FindPeers(); }) {
  world_.fabric().Attach(host);
  world_.Listen(host, [this](mad::Incoming what) {
    sm_.OnDelivery(world_.now(), {world_.now(), sm_.host(), std::move(what)});
    Schedule();
  });
}

// Its discovery finds those that answer.
std::vector<ForeignSm::Peer> ForeignNode::FindPeers() const {
  std::vector<ForeignSm::Peer> peers;
  const auto beyond = PortsBeyond(world_.fabric(), host());
  for (const auto& node : nodes_) {
    if (node->core() == nullptr || node->is_paused() || beyond.contains(node->host())) continue;
    peers.push_back(
        {node->host(), node->port_guid(), node->view().sm.priority, node->core()->sm_state()});
  }
  return peers;
}

void ForeignNode::Appear() {
  if (runs()) return;
  world_.Tell("the foreign SM appears");
  sm_.Appear(world_.now());
  Schedule();
}

void ForeignNode::Leave() {
  if (!runs()) return;
  world_.Tell("the foreign SM ends");
  sm_.Leave(world_.now());
  sm_.SetBusy(world_.now());
  Schedule();
}

void ForeignNode::Work(Duration time) {
  if (is_master())
    BeginWork(time);
  else
    next_work_ = time;
}

void ForeignNode::BeginWork(Duration time) {
  world_.Tell("the foreign SM answers nothing for a while");
  busy_since_ = world_.now();
  sm_.SetBusy(world_.now() + time);
}

bool ForeignNode::is_unknown_master() const {
  return is_master() && is_busy() && !givers_.empty() &&
         std::all_of(givers_.begin(), givers_.end(),
                     [](const Giver& giver) { return giver.node->process() != giver.process; });
}

// After each event: the fabric has what it has sent.
void ForeignNode::Schedule() {
  world_.Schedule();
  const bool is_given =
      std::exchange(state_, sm_.state()) == wire::SmState::kStandby && is_master();
  if (!is_master()) givers_.clear();
  if (is_given) {
    for (const auto& node : nodes_)
      if (node->is_master()) givers_.push_back({node.get(), node->process()});
    if (next_work_ != Duration::zero()) BeginWork(std::exchange(next_work_, Duration::zero()));
  }
  if (sm_.NextDeadline() >= next_) return;
  next_ = sm_.NextDeadline();
  world_.threads().At(next_, [this] {
    next_ = kNever;
    if (world_.now() >= sm_.NextDeadline()) sm_.OnTimer(world_.now());
    Schedule();
  });
}

}  // namespace fabricd::sim
