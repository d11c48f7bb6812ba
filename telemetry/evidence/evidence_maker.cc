// SPDX-License-Identifier: Apache-2.0
#include "telemetry/evidence/evidence_maker.h"

#include <algorithm>

#include <absl/container/flat_hash_map.h>

#include "telemetry/evidence/port_evidence.h"

namespace fabricd::telemetry {
namespace {

using policy::EndRole;
using policy::LinkEvidence;

constexpr Millis kTogether = 60 * 1000;
// A port that could not be reached is read some time after its link came back.
constexpr Millis kLongestLate = 3 * 60 * 1000;
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

// Of what the port supports, what it may use. Who has disabled a width has it so on purpose.
wire::PortInfo Enabled(wire::PortInfo info) {
  const auto restrict = [](uint8_t& supported, uint8_t enabled) {
    if ((supported & enabled) != 0) supported &= enabled;
  };
  restrict(info.link_width_supported, info.link_width_enabled);
  restrict(info.link_speed_ext_supported, info.link_speed_ext_enabled);
  return info;
}

bool IsBelowCapability(const fabric::Port& a, const fabric::Port& b) {
  const wire::PortInfo x = Enabled(a.info), y = Enabled(b.info);
  const int width = std::min(wire::BestSupportedWidth(x), wire::BestSupportedWidth(y));
  const wire::LinkSpeed speed = std::min(wire::BestSupportedSpeed(x), wire::BestSupportedSpeed(y));
  return wire::ActiveWidth(a.info) < width || a.Speed() < speed;
}

// Which links changed their state together, within the last day: all logs of link downs at both
// ends, and the last change that a sweep saw. A switch that restarts counts nothing of it itself.
class Restarts {
 public:
  Restarts(const TelemetryView& view, const fabric::HostTable* hosts, const ErrorsByPort& errors)
      : view_(view), hosts_(hosts) {
    for (const auto& record : view.ports) {
      if (record == nullptr || view.snapshot->node(record->port.node) == nullptr) continue;
      const PortRef port = record->port;
      // A link that is up for the first time has not restarted.
      const bool is_first = record->down_at == 0 && record->changed_at == record->up_since;
      const Millis changed = is_first ? 0 : record->changed_at;
      if (changed != 0 && view.at - std::min(view.at, changed) < kDay) Note(*record, changed);
      for (const ErrorEntry* entry : errors.Of((*view.slots)[port.node.value()].Of(port.port)))
        if (IsLinkDown(*entry)) Note(*record, entry->at);
    }
    for (auto& [node, changes] : of_switch_) FindSpans(changes, LinksOf(node), kLeastOfSwitch, 4);
    for (auto& [host, changes] : of_host_) FindSpans(changes, LinksOf(*host), kLeastOfHost, 1);
  }

  // Whether a quarter of the links of this switch, or all of the host of this adapter, changed at
  // about that time. `late`: how much later it was read.
  bool IsAt(NodeIndex node, Millis at, Millis late) const {
    const Changes* changes = Find(node);
    if (changes == nullptr) return false;
    return std::ranges::any_of(changes->spans, [&](const Span& span) {
      return at + kTogether >= span.from && at <= span.to + kTogether + late;
    });
  }

 private:
  struct Span {
    Millis from = 0, to = 0;
  };
  struct Changes {
    std::vector<std::pair<Millis, PortRef>> at;  // The port of the switch or host.
    std::vector<Span> spans;
  };

  void Note(const PortRecord& record, Millis at) {
    for (const PortRef port : {record.port, record.peer}) {
      const fabric::Node* node = port.IsNone() ? nullptr : view_.snapshot->node(port.node);
      if (node == nullptr) continue;
      if (node->IsSwitch()) {
        of_switch_[port.node].at.emplace_back(at, port);
      } else if (const fabric::Host* host = HostOf(port.node)) {
        of_host_[host].at.emplace_back(at, port);
      }
    }
  }

  size_t LinksOf(NodeIndex node) const {
    const PortSlots& slots = (*view_.slots)[node.value()];
    size_t links = 0;
    for (uint32_t i = 0; i < slots.ports; ++i) {
      const PortRecord* record = view_.ports[slots.first + i].get();
      links += record != nullptr && !record->peer.IsNone();
    }
    return links;
  }

  size_t LinksOf(const fabric::Host& host) const {
    return static_cast<size_t>(std::ranges::count_if(host.ports, [&](const auto& port) {
      const PortRecord* record = view_.Find(port.port);
      return record != nullptr && !record->peer.IsNone();
    }));
  }

  // Where at least 1 / `part` of the links, and `least`, changed within the time of two readings.
  void FindSpans(Changes& changes, size_t links, size_t least, size_t part) const {
    auto& at = changes.at;
    std::ranges::sort(at);
    const Millis together = kTogether + view_.interval;
    absl::flat_hash_map<PortRef, size_t> in_window;
    size_t first = 0;
    for (const auto& [now, port] : at) {
      ++in_window[port];
      for (; at[first].first + together < now; ++first) {
        const auto left = in_window.find(at[first].second);
        if (--left->second == 0) in_window.erase(left);
      }
      if (in_window.size() < least || in_window.size() * part < links) continue;
      if (changes.spans.empty() || changes.spans.back().to < at[first].first)
        changes.spans.push_back({at[first].first, now});
      changes.spans.back().to = now;
    }
  }

  const fabric::Host* HostOf(NodeIndex node) const {
    return hosts_ != nullptr ? hosts_->HostOf(node) : nullptr;
  }
  const Changes* Find(NodeIndex node) const {
    if (const auto found = of_switch_.find(node); found != of_switch_.end()) return &found->second;
    const auto found = of_host_.find(HostOf(node));
    return found != of_host_.end() ? &found->second : nullptr;
  }

  const TelemetryView& view_;
  const fabric::HostTable* hosts_;
  absl::flat_hash_map<NodeIndex, Changes> of_switch_;
  absl::flat_hash_map<const fabric::Host*, Changes> of_host_;
};

class Maker {
 public:
  Maker(const TelemetryView& view, const fabric::HostTable* hosts)
      : view_(view), snapshot_(*view.snapshot), errors_(view), restarts_(view, hosts, errors_) {}

  void Visit(absl::FunctionRef<void(const LinkEvidence&)> visit) {
    snapshot_.ForEachNode([&](const fabric::Node& node) {
      for (const auto& [low, port] : node.LinkPorts()) {
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

  // What changed with the switches or hosts at the ends.
  void FillRestarts(const PortFacts& a, const PortFacts& b) {
    link_.is_with_its_switch = link_.is_with_its_host = false;
    for (const PortFacts* end : {&a, &b}) {
      const Millis at = end->record->changed_at;
      if (at == 0 || view_.at > at + kTogether || !restarts_.IsAt(end->ref.node, at, 0)) continue;
      (end->node->IsSwitch() ? link_.is_with_its_switch : link_.is_with_its_host) = true;
    }
    const auto is_excused = [&](Millis at) {
      return restarts_.IsAt(a.ref.node, at, kLongestLate) ||
             restarts_.IsAt(b.ref.node, at, kLongestLate);
    };
    const auto of_a = CountExcusedDowns(view_, a, is_excused);
    const auto of_b = CountExcusedDowns(view_, b, is_excused);
    for (size_t i = 0; i < policy::kWindows; ++i)
      link_.excused_downs[i] = std::max(of_a[i], of_b[i]);
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
    link_.replaced_for.reset();
    for (const PortFacts* end : {&a, &b}) {
      const PortRecord& record = *end->record;
      if (record.epoch_cause != EpochCause::kLinkReplaced) continue;
      const std::chrono::milliseconds ago(view_.at - std::min(view_.at, record.epoch_since));
      link_.replaced_for = std::min<Duration>(link_.replaced_for.value_or(ago), ago);
    }
    link_.gigabits = link_.is_up ? own.Rate().nominal : 0;
    link_.lane_gigabits = link_.gigabits / std::max(1, wire::ActiveWidth(own.info));
    link_.is_below_capability = link_.is_up && IsBelowCapability(own, other);
    link_.fec = policy::FecClass::kUnknown;
    link_.media = policy::Media::kUnknown;
    for (const PortFacts* end : {&b, &a}) {
      if (end->inventory == nullptr) continue;
      if (end->inventory->operational_at != 0) link_.fec = FecClassOf(end->inventory->fec);
      const policy::Media media = MediaOf(*end->inventory, end->record->module, link_.is_up);
      if (media != policy::Media::kUnknown) link_.media = media;
    }
  }

  void Fill(PortRef a, PortRef b) {
    const PortFacts own = FactsOf(a), other = FactsOf(b);
    FillIdentity(own, b, link_.a);
    FillIdentity(other, a, link_.b);
    FillEnd(view_, own, link_.a);
    FillEnd(view_, other, link_.b);
    FillLink(own, other);
    FillRestarts(own, other);
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
