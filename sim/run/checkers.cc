// SPDX-License-Identifier: Apache-2.0
#include "sim/run/checkers.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "common/p_key.h"

namespace fabricd::sim {
namespace {

struct EndPort {
  PortRef ref;
  Guid guid;
  Lid base;
  int lids = 1;
};

std::string NameOf(const SimFabric& fabric, PortRef port) {
  return fmt::format("{}/{}", fabric.device(port.node)->description(), port.port);
}

// Switch port 0s, and CA and router ports with a link.
std::vector<EndPort> EndPorts(const SimFabric& fabric) {
  std::vector<EndPort> ports;
  for (uint32_t i = 0; i < fabric.node_index_end(); ++i) {
    const SimDevice* device = fabric.device(NodeIndex(i));
    if (device == nullptr) continue;
    const int first = device->IsSwitch() ? 0 : 1;
    const int last = device->IsSwitch() ? 0 : device->last_port().value();
    for (int num = first; num <= last; ++num) {
      const PortRef ref{NodeIndex(i), PortNum(static_cast<uint8_t>(num))};
      if (!device->IsSwitch() && fabric.LinkedPeer(ref).IsNone()) continue;
      const SimPort& port = device->port(ref.port);
      ports.push_back({ref, port.guid, port.info.lid, 1 << port.info.lmc});
    }
  }
  return ports;
}

// What each switch does with one LID, found once per switch: all ways of a LID end alike. Takes the
// LIDs in ascending order: a block of all tables and the links are copied to where they lie close
// together, which makes 48,000 LIDs on 4,000 switches a matter of seconds.
class Walk {
 public:
  enum class End : uint8_t { kUnknown, kUnderWay, kArrives, kDropped, kCircle };

  explicit Walk(const SimFabric& fabric)
      : fabric_(fabric), number_(fabric.node_index_end(), kNoSwitch) {
    for (uint32_t i = 0; i < fabric.node_index_end(); ++i) {
      const SimDevice* device = fabric.device(NodeIndex(i));
      if (device == nullptr || !device->IsSwitch()) continue;
      number_[i] = static_cast<uint32_t>(switches_.size());
      switches_.push_back({NodeIndex(i), device, static_cast<uint32_t>(links_.size())});
      for (int num = 0; num <= device->last_port().value(); ++num)
        links_.push_back(FarEnd({NodeIndex(i), PortNum(static_cast<uint8_t>(num))}));
    }
    ends_.resize(switches_.size());
    block_.resize(switches_.size());
  }

  void Begin(Lid lid) {
    lid_ = lid;
    std::fill(ends_.begin(), ends_.end(), End::kUnknown);
    const uint32_t first = lid.value() / kBlock * kBlock;
    if (std::exchange(block_begin_, first) == first) return;
    for (size_t i = 0; i < switches_.size(); ++i)
      for (uint32_t at = 0; at < kBlock; ++at)
        block_[i][at] = switches_[i].device->LftPort(Lid(static_cast<uint16_t>(first + at)));
  }
  // From a switch onwards, to whatever owns the LID.
  End From(NodeIndex node) {
    way_.clear();
    End end = End::kUnknown;
    uint32_t at = number_[node.value()];
    while (end == End::kUnknown) {
      End& known = ends_[at];
      if (known != End::kUnknown) {
        end = known == End::kUnderWay ? End::kCircle : known;
        break;
      }
      known = End::kUnderWay;
      way_.push_back(at);
      end = Leave(at);
    }
    for (uint32_t passed : way_) ends_[passed] = end;
    return end;
  }

 private:
  static constexpr uint32_t kBlock = 64;
  static constexpr uint32_t kNoSwitch = 0xFFFFFFFF;
  struct Switch {
    NodeIndex node;
    const SimDevice* device;
    uint32_t first_link;  // In links_, by port.
  };

  // Where data that leaves by this port comes in; none: it does not.
  PortRef FarEnd(PortRef egress) const {
    if (fabric_.device(egress.node)->port(egress.port).info.port_state != wire::PortState::kActive)
      return {};
    const PortRef peer = fabric_.LinkedPeer(egress);
    if (peer.IsNone()) return {};
    const wire::PortInfo& ingress = fabric_.device(peer.node)->port(peer.port).info;
    return ingress.port_state < wire::PortState::kArmed ? PortRef{} : peer;
  }

  // kUnknown: `at` is the next switch now.
  End Leave(uint32_t& at) const {
    const Switch& here = switches_[at];
    const uint8_t egress = block_[at][lid_.value() % kBlock];
    if (egress > here.device->last_port().value()) return End::kDropped;
    PortRef far = links_[here.first_link + egress];
    if (egress == 0) far = {here.node, PortNum(0)};
    if (far.IsNone()) return End::kDropped;
    if (egress != 0 && number_[far.node.value()] != kNoSwitch) {
      at = number_[far.node.value()];
      return End::kUnknown;
    }
    return fabric_.device(far.node)->OwnsLid(far.port, lid_) ? End::kArrives : End::kDropped;
  }

  const SimFabric& fabric_;
  std::vector<uint32_t> number_;  // [NodeIndex] → in switches_; kNoSwitch: it is none.
  std::vector<Switch> switches_;
  std::vector<PortRef> links_;                      // Far ends of all switches' ports.
  std::vector<End> ends_;                           // By switch.
  std::vector<std::array<uint8_t, kBlock>> block_;  // Of each switch's table, from block_begin_.
  uint32_t block_begin_ = kNoSwitch;
  std::vector<uint32_t> way_;
  Lid lid_;
};

// Number of each node's part of the fabric: nodes that links which are up connect. A CA forwards
// nothing, so it joins no parts; each of its ports belongs to the part of its neighbour.
std::vector<uint32_t> SwitchParts(const SimFabric& fabric) {
  std::vector<uint32_t> part(fabric.node_index_end(), 0);
  uint32_t count = 0;
  for (uint32_t i = 0; i < part.size(); ++i) {
    const SimDevice* start = fabric.device(NodeIndex(i));
    if (start == nullptr || !start->IsSwitch() || part[i] != 0) continue;
    std::vector<NodeIndex> open{NodeIndex(i)};
    part[i] = ++count;
    while (!open.empty()) {
      const NodeIndex node = open.back();
      open.pop_back();
      for (int num = 1; num <= fabric.device(node)->last_port().value(); ++num) {
        const PortRef peer = fabric.LinkedPeer({node, PortNum(static_cast<uint8_t>(num))});
        if (peer.IsNone() || !fabric.device(peer.node)->IsSwitch()) continue;
        if (std::exchange(part[peer.node.value()], count) == 0) open.push_back(peer.node);
      }
    }
  }
  return part;
}

NodeIndex SwitchOf(const SimFabric& fabric, const EndPort& port) {
  if (fabric.device(port.ref.node)->IsSwitch()) return port.ref.node;
  const NodeIndex peer = fabric.LinkedPeer(port.ref).node;
  return fabric.device(peer)->IsSwitch() ? peer : NodeIndex::None();
}

double Seconds(Instant at) { return std::chrono::duration<double>(at.time_since_epoch()).count(); }

uint64_t Mix(uint64_t digest, uint64_t value) {
  digest = (digest ^ value) * 0x9E3779B97F4A7C15u;
  return digest ^ (digest >> 29);
}

}  // namespace

std::vector<std::string> PortsNotActive(const SimFabric& fabric, size_t limit) {
  std::vector<std::string> names;
  for (uint32_t i = 0; i < fabric.node_index_end(); ++i) {
    const SimDevice* device = fabric.device(NodeIndex(i));
    if (device == nullptr) continue;
    for (int num = 1; num <= device->last_port().value() && names.size() < limit; ++num) {
      const PortRef port{NodeIndex(i), PortNum(static_cast<uint8_t>(num))};
      if (fabric.LinkedPeer(port).IsNone()) continue;
      if (device->port(port.port).info.port_state != wire::PortState::kActive)
        names.push_back(NameOf(fabric, port));
    }
  }
  return names;
}

std::vector<std::string> BrokenPairs(const SimFabric& fabric, size_t limit) {
  const std::vector<EndPort> ports = EndPorts(fabric);
  const std::vector<uint32_t> part = SwitchParts(fabric);
  struct Source {
    const EndPort* port;
    NodeIndex start;
    bool leaves;
  };
  std::vector<Source> sources;
  std::vector<std::pair<Lid, const EndPort*>> destinations;
  for (const EndPort& port : ports) {
    if (!port.base) continue;
    const SimDevice& device = *fabric.device(port.ref.node);
    const NodeIndex start = SwitchOf(fabric, port);
    const bool leaves =
        device.IsSwitch() || device.port(port.ref.port).info.port_state == wire::PortState::kActive;
    if (!start.IsNone()) sources.push_back({&port, start, leaves});
    for (int path = 0; !start.IsNone() && path < port.lids; ++path)
      destinations.emplace_back(static_cast<uint16_t>(port.base.value() + path), &port);
  }
  std::stable_sort(destinations.begin(), destinations.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  // Ports of one switch share their way: once for each switch is enough while all is well.
  std::vector<Source> firsts;
  absl::flat_hash_set<std::pair<NodeIndex, bool>> starts;
  for (const Source& source : sources)
    if (starts.emplace(source.start, source.leaves).second) firsts.push_back(source);

  std::vector<std::string> broken;
  Walk walk(fabric);
  for (const auto& [lid, to] : destinations) {
    walk.Begin(lid);
    const uint32_t here = part[SwitchOf(fabric, *to).value()];
    const auto is_broken = [&](const Source& from) {
      if (part[from.start.value()] != here) return false;
      return !from.leaves || walk.From(from.start) != Walk::End::kArrives;
    };
    if (std::none_of(firsts.begin(), firsts.end(), is_broken)) continue;
    for (const Source& from : sources) {
      if (from.port == to || !is_broken(from)) continue;
      broken.push_back(fmt::format("{} -> LID {} of {}", NameOf(fabric, from.port->ref), lid,
                                   NameOf(fabric, to->ref)));
      if (broken.size() >= limit) return broken;
    }
  }
  return broken;
}

std::vector<std::string> Loops(const SimFabric& fabric, size_t limit) {
  std::vector<std::string> loops;
  std::vector<NodeIndex> switches;
  for (uint32_t i = 0; i < fabric.node_index_end(); ++i)
    if (fabric.device(NodeIndex(i)) != nullptr && fabric.device(NodeIndex(i))->IsSwitch())
      switches.emplace_back(i);
  Walk walk(fabric);
  for (uint32_t lid = 1; lid <= kMaxUnicastLid.value(); ++lid) {
    bool known = false;
    for (NodeIndex node : switches) {
      const SimDevice& device = *fabric.device(node);
      if (lid > device.switch_info().linear_fdb_top) continue;
      if (!std::exchange(known, true)) walk.Begin(Lid(static_cast<uint16_t>(lid)));
      if (walk.From(node) != Walk::End::kCircle) continue;
      loops.push_back(fmt::format("LID {} at {}", lid, device.description()));
      if (loops.size() >= limit) return loops;
      break;
    }
    if (!known) break;  // Above every LinearFDBTop.
  }
  return loops;
}

namespace {

// Channel dependencies of packets: (switch, egress port, VL) waits for the next of its kind.
class LaneWalks {
 public:
  using Channel = std::tuple<NodeIndex, uint8_t, uint8_t>;
  explicit LaneWalks(const SimFabric& fabric) : fabric_(fabric) {}

  void Add(NodeIndex start, PortNum in, Lid lid, uint8_t level) {
    std::optional<Channel> before;
    for (size_t hops = 0; hops <= fabric_.node_index_end(); ++hops) {
      const SimDevice& device = *fabric_.device(start);
      const PortNum out(device.LftPort(lid));
      if (!device.IsSwitch() || out == PortNum(0) || !device.HasPort(out)) return;
      const Channel channel{start, out.value(), device.SlToVl(in, out).vl[level]};
      if (before) waits_[*before].insert(channel);
      before = channel;
      const PortRef peer = device.port(out).cable;
      if (peer.IsNone() || !fabric_.device(peer.node)->IsSwitch()) return;
      start = peer.node, in = peer.port;
    }
  }
  // One channel of a circle.
  std::optional<Channel> FindCircle() {
    for (const auto& [channel, next] : waits_)
      if (Visit(channel)) return channel;
    return std::nullopt;
  }

 private:
  bool Visit(const Channel& channel) {
    char& state = state_[channel];
    if (state != 0) return state == 1;
    state = 1;
    for (const Channel& next : waits_[channel])
      if (Visit(next)) return true;
    state_[channel] = 2;
    return false;
  }
  const SimFabric& fabric_;
  std::map<Channel, std::set<Channel>> waits_;
  std::map<Channel, char> state_;
};

}  // namespace

std::vector<std::string> CreditLoops(const SimFabric& fabric,
                                     const fabric::FabricSnapshot& snapshot,
                                     const routing::RoutingPlan& plan) {
  LaneWalks walks(fabric);
  for (const EndPort& from : EndPorts(fabric)) {
    const NodeIndex start = SwitchOf(fabric, from);
    if (start.IsNone()) continue;
    const SimDevice& device = *fabric.device(from.ref.node);
    const NodeIndex source = snapshot.FindIndex(fabric.device(start)->guid());
    const PortNum in = device.IsSwitch() ? PortNum(0) : device.port(from.ref.port).cable.port;
    for (uint32_t lid = 1; !source.IsNone() && lid <= plan.lid_top.value(); ++lid) {
      const Lid to(static_cast<uint16_t>(lid));
      walks.Add(start, in, to, plan.ServiceLevel(source, to));
    }
  }
  const auto circle = walks.FindCircle();
  if (!circle) return {};
  const auto [node, port, lane] = *circle;
  return {fmt::format("VL {} at {} port {}", lane, fabric.device(node)->description(), port)};
}

std::vector<std::string> LidFaults(const SimFabric& fabric, size_t limit) {
  std::vector<std::string> faults;
  std::map<int, PortRef> owner;
  for (const EndPort& port : EndPorts(fabric)) {
    if (faults.size() >= limit) break;
    if (!port.base) {
      faults.push_back(NameOf(fabric, port.ref) + " has no LID");
      continue;
    }
    for (int path = 0; path < port.lids; ++path)
      if (!owner.emplace(port.base.value() + path, port.ref).second)
        faults.push_back(fmt::format("LID {} of {} is held twice", port.base.value() + path,
                                     NameOf(fabric, port.ref)));
  }
  return faults;
}

std::vector<std::string> TablesUnlikePlan(const SimFabric& fabric,
                                          const fabric::FabricSnapshot& snapshot,
                                          const routing::RoutingPlan& plan, size_t limit) {
  std::vector<std::string> unlike;
  for (uint32_t i = 0; i < fabric.node_index_end(); ++i) {
    const SimDevice* device = fabric.device(NodeIndex(i));
    if (device == nullptr || !device->IsSwitch()) continue;
    const fabric::Node* node = snapshot.FindNode(device->guid());
    if (node == nullptr || !plan.HasRow(node->index)) continue;
    for (uint32_t lid = 1; lid <= plan.lid_top.value() && unlike.size() < limit; ++lid) {
      const uint8_t wanted = plan.EgressPort(node->index, Lid(static_cast<uint16_t>(lid)));
      const uint8_t held = device->LftPort(Lid(static_cast<uint16_t>(lid)));
      if (wanted == held) continue;
      unlike.push_back(fmt::format("{} block {}: LID {} leaves by {}, the plan says {}",
                                   device->description(), lid / 64, lid, held, wanted));
      lid |= 63;  // One finding of each block.
    }
  }
  return unlike;
}

std::vector<std::string> PKeyFaults(const SimFabric& fabric, size_t limit) {
  std::vector<std::string> faults;
  for (const EndPort& end : EndPorts(fabric)) {
    if (faults.size() >= limit) break;
    const SimDevice& device = *fabric.device(end.ref.node);
    const int cap = device.IsSwitch() ? 1 : device.node_info().partition_cap;
    int full = 0, strange = 0;
    for (int block = 0; block * 32 < cap; ++block) {
      for (PKey key : device.PKeyBlock(end.ref.port, static_cast<uint16_t>(block)).keys) {
        if (key == kDefaultFullPKey)
          ++full;
        else if (PartitionOf(key) != 0)
          ++strange;
      }
    }
    if (full != 1 || strange != 0)
      faults.push_back(fmt::format("{} holds 0xffff {} times and {} other keys",
                                   NameOf(fabric, end.ref), full, strange));
  }
  return faults;
}

// ---- Watch

void Watch::Fault(std::string text) {
  constexpr size_t kMost = 100;
  if (faults_.size() < kMost) faults_.push_back(std::move(text));
}

void Watch::OnRestart(PortRef host) {
  programs_[host] = Program();
  programs_[host].judged = true;
}

void Watch::SetApart(Instant now, bool apart) {
  if (apart_ && !apart) together_since_ = now;
  apart_ = apart;
}

NodeIndex Watch::DestinationOf(PortRef host, const wire::Smp& smp) const {
  NodeIndex node = host.node;
  for (size_t hop = 0; smp.path && hop < smp.path->hops(); ++hop) {
    const PortRef peer = fabric_.LinkedPeer({node, PortNum((*smp.path)[hop])});
    if (peer.IsNone()) return NodeIndex::None();
    node = peer.node;
  }
  return node;
}

void Watch::OnSend(Instant now, PortRef host, const mad::OutgoingMad& mad) {
  ++mads_;
  digest_ = Mix(Mix(digest_, static_cast<uint64_t>(now.time_since_epoch().count())),
                host.node.value() << 8 | host.port.value());
  for (size_t at = 0; at + 8 <= mad.payload.size(); at += 8) {
    uint64_t word = 0;
    for (size_t i = 0; i < 8; ++i) word = word << 8 | mad.payload[at + i];
    digest_ = Mix(digest_, word);
  }
  if (mad.agent != mad::Agent::kSmpDirected || mad.timeout == Duration::zero()) return;
  const auto smp = wire::Smp::Decode(
      std::span<const uint8_t, wire::kMadBytes>(mad.payload.data(), wire::kMadBytes));
  if (!smp) return;
  if (smp->method == wire::Method::kSet && smp->attribute != wire::AttributeId::kSmInfo)
    CheckWriters(now, host);
  Program& program = programs_[host];
  const Flying flying{DestinationOf(host, *smp), smp->attribute == wire::AttributeId::kNodeInfo};
  program.flying[smp->transaction_id()] = flying;
  if (program.flying.size() > options_.window_max)
    Fault(fmt::format("window: {} requests in flight", program.flying.size()));
  if (flying.device.IsNone()) return;
  // A probe goes over a cable whose far end is not known yet: each cable may carry one.
  if (flying.probe) return;
  const uint32_t at_device = ++program.at_device[flying.device];
  if (at_device > options_.device_limit)
    Fault(fmt::format("window: {} requests in flight to {}", at_device,
                      fabric_.device(flying.device)->description()));
}

void Watch::OnDelivery(const Delivery& delivery) {
  const auto* mad = std::get_if<mad::IncomingMad>(&delivery.what);
  if (mad == nullptr || mad->agent != mad::Agent::kSmpDirected) return;
  Program& program = programs_[delivery.host];
  const uint64_t id = wire::MadHeader::Decode(std::span<const uint8_t, wire::kMadBytes>(
                                                  mad->payload.data(), wire::kMadBytes))
                          .transaction_id;
  const auto flying = program.flying.find(id);
  if (flying == program.flying.end()) return;  // No answer to a request.
  if (!flying->second.probe && !flying->second.device.IsNone())
    --program.at_device[flying->second.device];
  program.flying.erase(flying);
  const auto asked = program.answers.find(id);
  if (asked == program.answers.end()) return;
  if (mad->kind == mad::IncomingMad::Kind::kReceived) {
    const auto [key, data] = asked->second;
    program.told[key] = data;
    // A switch without a LinearFDBTop says that it has lost its tables, whatever it told before.
    if (key.attribute == wire::AttributeId::kSwitchInfo &&
        wire::SwitchInfo::Decode(data).linear_fdb_top == 0)
      absl::erase_if(program.told, [node = key.node](const auto& told) {
        return told.first.node == node &&
               told.first.attribute == wire::AttributeId::kLinearForwardingTable;
      });
  }
  program.answers.erase(asked);
}

void Watch::OnServed(const Served& served) {
  const bool set = served.request.method == wire::Method::kSet;
  if (set) ++sets_;
  if (served.answer.status != wire::kStatusOk) return;
  // A CA's attributes are those of the port that was asked, a switch's are the node's; PortInfo
  // names its port, and 0 is the port asked at a CA.
  const bool is_switch = fabric_.device(served.ingress.node)->IsSwitch();
  const PortNum named(static_cast<uint8_t>(served.request.modifier));
  PortNum port = is_switch ? PortNum(0) : served.ingress.port;
  if (served.request.attribute == wire::AttributeId::kPortInfo &&
      (is_switch || named != PortNum(0)))
    port = named;
  const Key key{served.ingress.node, port, served.request.attribute, served.request.modifier};
  Program& program = programs_[served.sender];
  const uint64_t id = served.request.transaction_id();
  if (set) {
    if (served.changed)  // Whatever anybody was told before holds no longer.
      for (auto& [host, each] : programs_) each.told.erase(key);
    if (program.served_sets.insert(id).second) CheckIdle(served, key, program);
    if (served.request.attribute == wire::AttributeId::kPortInfo) CheckLids(served, port);
  }
  program.answers[id] = {key, served.answer.data};
}

// A Set that left every register as it was, from a program that had been told exactly what it got
// back now. (A repeat of a Set whose answer was lost was told something older.)
void Watch::CheckIdle(const Served& served, const Key& key, const Program& program) {
  if (served.changed || !program.judged) return;
  // What odd firmware holds nobody can know; a Set that it never takes must not come in the second
  // sweep.
  if (fabric_.device(key.node)->oddities() != nullptr) return;
  const auto told = program.told.find(key);
  if (told == program.told.end() || told->second != served.answer.data) return;
  Fault(fmt::format("idle Set: {} {} of {} port {} changes nothing, at {:.6f} s",
                    wire::AttributeName(key.attribute), key.modifier,
                    fabric_.device(key.node)->description(), key.port, Seconds(served.at)));
}

void Watch::CheckLids(const Served& served, PortNum number) {
  if (!options_.lids_are_stable) return;
  const SimDevice& device = *fabric_.device(served.ingress.node);
  if (device.ManagementPort(number) != number) return;
  const SimPort& port = device.port(number);
  if (!port.info.lid) return;
  const auto [of, fresh] = lid_of_.try_emplace(port.guid, port.info.lid);
  if (!fresh && of->second != port.info.lid) {
    Fault(fmt::format("LIDs: {}/{} had LID {} and gets {}", device.description(), number,
                      of->second, port.info.lid));
    of->second = port.info.lid;
  }
  for (int path = 0; path < 1 << port.info.lmc; ++path) {
    const Lid lid(static_cast<uint16_t>(port.info.lid.value() + path));
    const auto [owner, first] = owner_of_.try_emplace(lid, port.guid);
    if (first || owner->second == port.guid) continue;
    Fault(fmt::format("LIDs: {} was that of port {} and is given to {}/{}", lid, owner->second,
                      device.description(), number));
  }
}

// One that wrote, then another, then the first again, in less time than any takeover needs: two
// masters at work.
void Watch::CheckWriters(Instant now, PortRef host) {
  Program& program = programs_[host];
  const bool turn = last_setter_ != host;
  const bool from_the_start = together_since_ == Instant::min();
  const bool aware = !apart_ && (from_the_start ? now.time_since_epoch() > options_.first_awareness
                                                : now - together_since_ > options_.awareness);
  if (turn && program.judged && program.last_set != Instant::min() && aware &&
      now - program.last_set < options_.takeover_min)
    Fault(fmt::format("two writers: {} and {} write at the same time, at {:.6f} s",
                      fabric_.device(last_setter_.node)->description(),
                      fabric_.device(host.node)->description(), Seconds(now)));
  last_setter_ = host;
  program.last_set = now;
}

}  // namespace fabricd::sim
