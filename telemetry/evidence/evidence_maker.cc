// SPDX-License-Identifier: Apache-2.0
#include "telemetry/evidence/evidence_maker.h"

#include <algorithm>

#include "telemetry/evidence/port_evidence.h"

namespace fabricd::telemetry {
namespace {

using policy::EndRole;
using policy::LinkEvidence;

constexpr Millis kTogether = 60 * 1000;
constexpr Millis kDay = 24u * 60 * 60 * 1000;
// Fewer links of a switch, or one of a host, may change for reasons of their own.
constexpr size_t kLeastOfSwitch = 3, kLeastOfHost = 2;

// The entries of all logs, by the slot of their port.
class ErrorsByPort {
 public:
  explicit ErrorsByPort(const TelemetryView& view) : ends_(view.ports.size() + 1) {
    ForEach(view, [&](size_t slot, const ErrorEntry&) { ++ends_[slot + 1]; });
    for (size_t i = 1; i < ends_.size(); ++i) ends_[i] += ends_[i - 1];
    entries_.resize(ends_.back());
    std::vector<uint32_t> next(ends_.begin(), ends_.end() - 1);
    ForEach(view, [&](size_t slot, const ErrorEntry& entry) { entries_[next[slot]++] = &entry; });
  }

  std::span<const ErrorEntry* const> Of(size_t slot) const {
    return {entries_.data() + ends_[slot], entries_.data() + ends_[slot + 1]};
  }

 private:
  template <typename Visit>
  static void ForEach(const TelemetryView& view, Visit&& visit) {
    for (size_t node = 0; node < view.devices.size(); ++node) {
      if (view.devices[node] == nullptr) continue;
      const PortSlots& slots = (*view.slots)[node];
      for (const ErrorEntry& entry : view.devices[node]->errors.entries()) {
        if (slots.Has(entry.port) && view.at - std::min(view.at, entry.at) < kDay) {
          visit(slots.Of(entry.port), entry);
        }
      }
    }
  }

  std::vector<uint32_t> ends_;  // [slot + 1]
  std::vector<const ErrorEntry*> entries_;
};

// Which links changed their state together.
class Restarts {
 public:
  Restarts(const TelemetryView& view, const fabric::HostTable* hosts)
      : view_(view), hosts_(hosts), of_switch_(view.slots->size()) {}

  // Whether a quarter of the links of this switch changed within a minute of `at`.
  bool IsOfSwitch(NodeIndex node, Millis at) {
    Known& known = of_switch_[node.value()];
    if (known.at == at) return known.is_restart;
    Tally tally;
    const PortSlots& slots = (*view_.slots)[node.value()];
    for (uint32_t i = 0; i < slots.ports; ++i) Count(view_.ports[slots.first + i].get(), at, tally);
    known = {at, tally.changed >= kLeastOfSwitch && tally.changed * 4 >= tally.links};
    return known.is_restart;
  }

  // Whether all links of this adapter's host did.
  bool IsOfHost(NodeIndex node, Millis at) const {
    const fabric::Host* host = hosts_ != nullptr ? hosts_->HostOf(node) : nullptr;
    if (host == nullptr) return false;
    Tally tally;
    for (const fabric::HostPort& port : host->ports) Count(view_.Find(port.port), at, tally);
    return tally.links >= kLeastOfHost && tally.changed == tally.links;
  }

 private:
  struct Tally {
    size_t links = 0, changed = 0;
  };
  struct Known {
    Millis at = 0;
    bool is_restart = false;
  };
  static void Count(const PortRecord* record, Millis at, Tally& tally) {
    if (record == nullptr || record->peer.IsNone()) return;
    ++tally.links;
    const Millis changed = record->changed_at;
    tally.changed += changed != 0 && changed + kTogether >= at && changed <= at + kTogether;
  }

  const TelemetryView& view_;
  const fabric::HostTable* hosts_;
  std::vector<Known> of_switch_;  // By NodeIndex: the last question and its answer.
};

class Maker {
 public:
  Maker(const TelemetryView& view, const fabric::HostTable* hosts)
      : view_(view), snapshot_(*view.snapshot), errors_(view), restarts_(view, hosts) {}

  void Visit(absl::FunctionRef<void(const LinkEvidence&)> visit) {
    snapshot_.ForEachNode([&](const fabric::Node& node) {
      for (size_t i = 1; i < node.ports.size(); ++i) {
        const PortRef low{node.index, PortNum(static_cast<uint8_t>(i))};
        const PortRef high = PeerOf(low);
        if (high.IsNone() || high < low) continue;
        const EndRole role = RoleOf(snapshot_, high, low);
        Fill(role == EndRole::kHost ? high : low, role == EndRole::kHost ? low : high);
        visit(link_);
      }
    });
  }

 private:
  // None: no link at the port that there is evidence of.
  PortRef PeerOf(PortRef port) const {
    const PortRecord* own = view_.Find(port);
    if (own == nullptr) return {};
    const bool was_up = own->changed_at != 0 && view_.at - own->changed_at < kDay;
    if (own->up_since == 0 && !was_up) return {};
    const PortRef peer = snapshot_.port(port)->peer;
    if (!peer.IsNone()) return view_.Find(peer) != nullptr ? peer : PortRef();
    // Its link is down: that of the last peer, where that has no other since.
    const fabric::Port* other = own->peer.IsNone() ? nullptr : snapshot_.port(own->peer);
    if (other == nullptr || !other->peer.IsNone()) return {};
    const PortRecord* record = view_.Find(own->peer);
    return record != nullptr && record->peer == port ? own->peer : PortRef();
  }

  PortFacts FactsOf(PortRef port) const {
    PortFacts facts;
    facts.ref = port;
    facts.node = snapshot_.node(port.node);
    facts.record = view_.Find(port);
    facts.inventory = view_.FindInventory(port);
    facts.errors = errors_.Of((*view_.slots)[port.node.value()].Of(port.port));
    if (const DeviceRecord* device = view_.FindDevice(port.node)) {
      facts.incidents = device->incidents.entries();
    }
    return facts;
  }

  void FillIdentity(const PortFacts& port, PortRef peer, policy::EndEvidence& end) const {
    const wire::NodeInfo& info = port.node->info;
    end.node = info.node_guid;
    end.port = port.ref.port;
    end.role = RoleOf(snapshot_, port.ref, peer);
    end.family = {info.vendor_id, info.device_id, info.revision};
  }

  // The link's last change, where it came with others; 0: it did not, or there was none.
  Millis RestartOf(const PortFacts& a, const PortFacts& b) {
    Millis restart = 0;
    link_.is_with_its_switch = link_.is_with_its_host = false;
    for (const PortFacts* end : {&a, &b}) {
      const Millis at = end->record->changed_at;
      if (at == 0 || view_.at - std::min(view_.at, at) >= kDay) continue;
      const bool of_switch = end->node->IsSwitch() && restarts_.IsOfSwitch(end->ref.node, at);
      const bool of_host = !end->node->IsSwitch() && restarts_.IsOfHost(end->ref.node, at);
      if (!of_switch && !of_host) continue;
      restart = std::max(restart, at);
      if (view_.at > at + kTogether) continue;
      link_.is_with_its_switch |= of_switch;
      link_.is_with_its_host |= of_host;
    }
    return restart;
  }

  void FillLink(const PortFacts& a, const PortFacts& b) {
    const fabric::Port& own = *snapshot_.port(a.ref);
    const fabric::Port& other = *snapshot_.port(b.ref);
    link_.is_up = a.record->up_since != 0 && b.record->up_since != 0;
    link_.up_for = {};
    if (link_.is_up) {
      const Millis since = std::max(a.record->up_since, b.record->up_since);
      link_.up_for = std::chrono::milliseconds(view_.at - std::min(view_.at, since));
    }
    link_.gigabits = link_.is_up ? own.DataGigabits() : 0;
    link_.lane_gigabits = link_.gigabits / std::max(1, wire::ActiveWidth(own.info));
    const auto below = [](const auto& best_of, const fabric::Port& x, const fabric::Port& y,
                          auto active) {
      const auto x_best = best_of(x.info), y_best = best_of(y.info);
      return active < std::min(x_best, y_best);
    };
    link_.is_below_capability =
        link_.is_up && (below(wire::BestSupportedWidth, own, other, wire::ActiveWidth(own.info)) ||
                        below(wire::BestSupportedSpeed, own, other, own.Speed()));
    link_.fec = policy::FecClass::kUnknown;
    link_.media = policy::Media::kUnknown;
    for (const PortFacts* end : {&b, &a}) {
      if (end->inventory == nullptr) continue;
      if (end->inventory->operational_at != 0) link_.fec = FecClassOf(end->inventory->fec);
      const policy::Media media = MediaOf(*end->inventory, end->record->module);
      if (media != policy::Media::kUnknown) link_.media = media;
    }
  }

  void Fill(PortRef a, PortRef b) {
    PortFacts own = FactsOf(a), other = FactsOf(b);
    own.restart_at = other.restart_at = RestartOf(own, other);
    FillIdentity(own, b, link_.a);
    FillIdentity(other, a, link_.b);
    FillEnd(view_, own, link_.a);
    FillEnd(view_, other, link_.b);
    FillLink(own, other);
  }

  const TelemetryView& view_;
  const fabric::FabricSnapshot& snapshot_;
  const ErrorsByPort errors_;
  Restarts restarts_;
  LinkEvidence link_;  // One for all links, of 4 kB.
};

}  // namespace

void VisitEvidence(const TelemetryView& view, const fabric::HostTable* hosts,
                   absl::FunctionRef<void(const LinkEvidence&)> visit) {
  if (view.snapshot == nullptr || view.slots == nullptr) return;
  Maker(view, hosts).Visit(visit);
}

std::vector<LinkEvidence> MakeEvidence(const TelemetryView& view, const fabric::HostTable* hosts) {
  std::vector<LinkEvidence> links;
  links.reserve(view.ports.size() / 2);
  VisitEvidence(view, hosts, [&](const LinkEvidence& link) { links.push_back(link); });
  return links;
}

}  // namespace fabricd::telemetry
