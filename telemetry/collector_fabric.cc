// SPDX-License-Identifier: Apache-2.0
// Collector: nodes and ports as they come, change and go.
#include <algorithm>
#include <array>
#include <utility>

#include "telemetry/collector.h"

namespace fabricd::telemetry {
namespace {

LinkFacts FactsOf(const fabric::Port& port) {
  LinkFacts facts;
  if (!port.IsUp()) return facts;
  const int width = wire::ActiveWidth(port.info);
  facts.width = static_cast<uint8_t>(width);
  facts.bytes_per_second = static_cast<uint64_t>(port.Rate().data * 1e9 / 8);
  return facts;
}

}  // namespace

void Collector::On(const FabricChanged& event, Instant now, Effects& effects) {
  if (!options_.enabled || event.snapshot == nullptr) return;
  const Millis at = ToMillis(now);
  notified_state_ = event.state;
  const bool polls = notified_state_ == State::kPolling ||
                     (notified_state_ == State::kStandby && options_.as_standby);
  const bool began = state_ != State::kPolling && polls;
  if (began) polls_since_ = at;
  const auto before = std::exchange(snapshot_, event.snapshot);
  state_ = polls ? State::kPolling : notified_state_;
  records_.Fit(*snapshot_);
  devices_.resize(snapshot_->node_index_end());
  const fabric::FabricSnapshot none;
  const fabric::FabricSnapshot& old = before != nullptr ? *before : none;
  bool ports_changed = began || before == nullptr;
  snapshot_->ForEachNotShared(old, [&](NodeIndex index) {
    const fabric::Node* node = snapshot_->node(index);
    const fabric::Node* node_before = old.node(index);
    const auto ports = [](const fabric::Node* of) { return of != nullptr ? of->ports.size() : 0; };
    ports_changed = ports_changed || ports(node) != ports(node_before);
    if (node == nullptr) {
      for (const auto& [gone, port] : node_before->LinkPorts()) {
        if (records_.Has(gone) && records_.Find(gone) != nullptr) {
          records_.EnterState(gone, fabric::Port(), false, at);
        }
      }
      devices_[index.value()].ForgetAll();
      LeavePass(devices_[index.value()], at);
      return;
    }
    // What it was found not to have was before it left.
    if (node_before == nullptr) devices_[index.value()].Renew();
    UpdateNode(old, *node, at, effects);
  });
  if (state_ != State::kPolling) {
    for (Device& device : devices_) device.ForgetAll();
    smps_.clear();
    return;
  }
  if (ports_changed) SetPorts(at);
  FitInterval(at);
}

void Collector::UpdateNode(const fabric::FabricSnapshot& before, const fabric::Node& node,
                           Millis now, Effects& effects) {
  Device& device = devices_[node.index.value()];
  device.Fit(node.ports.size());
  device.vendor = VendorOf(node);
  const fabric::Node* old = before.node(node.index);
  const bool is_first = before.node_index_end() == 0;
  for (const auto& [ref, port] : node.LinkPorts()) {
    const bool was_there = old != nullptr && ref.port.value() < old->ports.size();
    UpdatePort(was_there ? &old->port(ref.port) : nullptr, port, ref, is_first, now, effects);
  }
}

void Collector::UpdatePort(const fabric::Port* before, const fabric::Port& port, PortRef ref,
                           bool is_first, Millis now, Effects& effects) {
  const PortRecord* known = records_.Find(ref);
  if (known == nullptr && !port.IsUp()) return;
  LinkFacts facts = FactsOf(port);
  PortRecord& record = records_.Port(ref);
  facts.tick = record.facts.tick;
  facts.knows_tick = record.facts.knows_tick;
  record.facts = facts;
  const PortRef last_peer = record.peer;
  records_.EnterState(ref, port, is_first, now);
  if (!port.IsUp()) {
    if (before != nullptr && before->IsUp()) record.down_at = now;
    devices_[ref.node.value()].Forget(ref.port);
    return;
  }
  if (!last_peer.IsNone() && !port.peer.IsNone() && last_peer != port.peer && record.epoch != 0) {
    records_.ReplaceLink(ref, now);
    effects.epochs.push_back({ref, EpochCause::kLinkReplaced});
  }
  if (before == nullptr) return;
  const bool came_up = before->info.port_state != wire::PortState::kActive &&
                       port.info.port_state == wire::PortState::kActive;
  if (!came_up || state_ != State::kPolling) return;
  Device& device = devices_[ref.node.value()];
  device.Renew();
  Want(ref,
       AskSet::Of({Ask::kExtended, Ask::kClassic, Ask::kLinkDown, Ask::kPhysical, Ask::kLinkDowns,
                   Ask::kModule, Ask::kOperational}),
       now);
}

Absence Collector::VendorOf(const fabric::Node& node) const {
  if (!options_.vendor) return Absence::kNotAllowed;
  return wire::HasNvidiaSmps(node.info.vendor_id) ? Absence::kNone : Absence::kOtherVendor;
}

void Collector::SetPorts(Millis now) {
  std::vector<PortRef> ports;
  snapshot_->ForEachNode([&](const fabric::Node& node) {
    for (const auto& [ref, port] : node.LinkPorts()) {
      ports.push_back(ref);
    }
  });
  schedule_.SetPorts(ports, now);
}

}  // namespace fabricd::telemetry
