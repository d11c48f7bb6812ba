// SPDX-License-Identifier: Apache-2.0
// Collector: what is asked of ports and devices, and when.
#include <algorithm>

#include "telemetry/collector.h"

namespace fabricd::telemetry {
namespace {

using std::chrono::milliseconds;

constexpr Millis kIdentifyAgain = 24u * 3600 * 1000;
constexpr Millis kProbeAfter = 30 * 1000;

}  // namespace

AskSet Collector::AsksOf(PortRef port, uint32_t pass, Millis now) const {
  const Device& device = devices_[port.node.value()];
  AskSet asks;
  // Slower attributes have their passes spread over the ports.
  const auto is_turn = [&](Duration interval) {
    const auto millis =
        static_cast<Millis>(std::chrono::duration_cast<milliseconds>(interval).count());
    const uint32_t every =
        std::max<uint32_t>(1, (millis + schedule_.interval() / 2) / schedule_.interval());
    return (pass + port.port.value() + port.node.value()) % every == 0;
  };
  const bool extended = HasExtended(device, now);
  if (extended) asks.Add(Ask::kExtended);
  const PortRecord* record = records_.Find(port);
  const bool has_baseline =
      record != nullptr && record->read_at[static_cast<size_t>(Source::kPortCounters)] != 0;
  const fabric::Node* node = snapshot_->node(port.node);
  const bool complete = extended && (device.capability_mask2 & wire::kPerf2ExtendedErrors) != 0 &&
                        node != nullptr && node->IsSwitch();
  if (!extended || (!complete && (!has_baseline || is_turn(options_.classic_interval)))) {
    asks.Add(Ask::kClassic);
  }
  if (device.has_registers && device.vendor == Absence::kNone) {
    if (is_turn(options_.ber_interval)) asks.Add(Ask::kBer);
    const auto watched = watched_.find(port);
    if (watched != watched_.end() && now < watched->second)
      asks.Add(AskSet::Of({Ask::kBer, Ask::kPhysical}));
    if (is_turn(options_.module_interval) || records_.FindInventory(port) == nullptr) {
      asks.Add(AskSet::Of({Ask::kModule, Ask::kOperational, Ask::kMonitor, Ask::kPhysical}));
      // Its baseline: it is read when a link was down, and tells of that only by an increase.
      if (record == nullptr || record->read_at[static_cast<size_t>(Source::kPpcntLinkDowns)] == 0) {
        asks.Add(Ask::kLinkDowns);
      }
    }
  }
  return asks;
}

void Collector::TakeTurn(PortRef port, uint32_t pass, Millis now) {
  if (state_ != State::kPolling) return;
  const fabric::Node* node = snapshot_->node(port.node);
  if (node == nullptr || port.port.value() >= node->ports.size() || !IsPolled(*node, port.port)) {
    return;
  }
  Device& device = devices_[port.node.value()];
  if (now - device.identified_at > kIdentifyAgain || !device.knows_capabilities) {
    WantOfDevice(port.node, AskSet::Of({Ask::kClassPortInfo}), now);
  }
  if (!device.knows_capabilities) {
    Want(port, AskSet::Of({Ask::kExtended, Ask::kClassic}), now);
    return;
  }
  ProbeIfDue(port.node, now);
  Want(port, AsksOf(port, pass, now), now);
  // Through the SMA, one at a time: VL15 has no flow control.
  constexpr size_t kMostSmps = 4096;
  if (device.has_ext_port_info && device.vendor == Absence::kNone && smps_.size() < kMostSmps) {
    const PortInventory* inventory = records_.FindInventory(port);
    const auto every = static_cast<Millis>(
        std::chrono::duration_cast<milliseconds>(options_.module_interval).count());
    if (inventory == nullptr || now - inventory->ext_at >= every) {
      smps_.push_back({port.node, {Ask::kExtPortInfo, port.port}});
    }
  }
}

// Devices may drop what they need not have. A fabric that comes up is not asked for it at once: so
// many timeouts would look like loss.
void Collector::ProbeIfDue(NodeIndex node, Millis now) {
  Device& device = devices_[node.value()];
  if (now - device.identified_at < std::min(schedule_.interval(), kProbeAfter)) return;
  AskSet probes;
  if (!device.knows_tick) probes.Add(Ask::kTick);
  if (!device.knows_registers) probes.Add(Ask::kVendorInfo);
  // Whoever has the attributes that it announces has class 0x0A too. SMPs go one at a time: each
  // that times out holds up the others.
  const bool has_class = device.knows_registers || device.HasAnswered(Ask::kVendorKey);
  if (has_class && !device.is_smp_asked) {
    device.is_smp_asked = true;
    probes.Add(Ask::kSmpInfo);
  }
  WantOfDevice(node, probes, now);
}

void Collector::Want(PortRef port, AskSet asks, Millis now) {
  Device& device = devices_[port.node.value()];
  if (device.knows_capabilities) {
    if (!HasExtended(device, now)) asks.Remove(Ask::kExtended);
    if (!device.has_registers || device.vendor != Absence::kNone) {
      for (Ask ask : {Ask::kBer, Ask::kPhysical, Ask::kLinkDowns, Ask::kLinkDown, Ask::kModule,
                      Ask::kOperational, Ask::kMonitor}) {
        asks.Remove(ask);
      }
    }
  } else {
    WantOfDevice(port.node, AskSet::Of({Ask::kClassPortInfo}), now);
  }
  device.Want(port.port, asks);
  Queue(port.node);
}

void Collector::WantOfDevice(NodeIndex node, AskSet asks, Millis now) {
  Device& device = devices_[node.value()];
  for (; !asks.IsEmpty(); asks.Remove(asks.First())) {
    const Ask ask = asks.First();
    if (device.absence(ask, now) != Absence::kNone) continue;
    if (IsSmp(ask)) {
      smps_.push_back({node, {ask, PortNum(0)}});
    } else {
      device.Want(ask);
    }
  }
  Queue(node);
}

void Collector::Queue(NodeIndex node) {
  Device& device = devices_[node.value()];
  if (device.is_queued || !device.WantsAny()) return;
  device.is_queued = true;
  queue_.push_back(node.value());
}

void Collector::WantCauses(PortRef port, Millis now) {
  const AskSet causes = AskSet::Of({Ask::kExtended, Ask::kClassic, Ask::kRcvErrorDetails,
                                    Ask::kPhysical, Ask::kLinkDowns, Ask::kLinkDown});
  Want(port, causes, now);
  const PortRef peer = snapshot_->port(port)->peer;
  if (!peer.IsNone() && records_.Has(peer) && IsPolled(*snapshot_->node(peer.node), peer.port)) {
    Want(peer, causes, now);
  }
}

}  // namespace fabricd::telemetry
