// SPDX-License-Identifier: Apache-2.0
#include "sim/checkers/table_watch.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "common/sort_unique.h"
#include "sim/checkers/end_ports.h"

namespace fabricd::sim {
namespace {

size_t PortsOf(const SimFabric& fabric) {
  size_t most = 0;
  for (uint32_t i = 0; i < fabric.node_index_end(); ++i) {
    const SimDevice* device = fabric.device(NodeIndex(i));
    if (device != nullptr && device->IsSwitch())
      most = std::max<size_t>(most, device->last_port().value());
  }
  return most + 1;
}

size_t SwitchCount(const SimFabric& fabric) {
  size_t count = 0;
  for (uint32_t i = 0; i < fabric.node_index_end(); ++i) {
    const SimDevice* device = fabric.device(NodeIndex(i));
    count += device != nullptr && device->IsSwitch() ? 1 : 0;
  }
  return count;
}

double Seconds(Instant at) { return std::chrono::duration<double>(at.time_since_epoch()).count(); }

}  // namespace

TableWatch::TableWatch(const SimFabric& fabric, Options options)
    : fabric_(fabric),
      options_(options),
      number_(fabric.node_index_end(), kNoSwitch),
      ports_(PortsOf(fabric)),
      dependencies_(SwitchCount(fabric), ports_) {
  for (uint32_t i = 0; i < fabric.node_index_end(); ++i) {
    const SimDevice* device = fabric.device(NodeIndex(i));
    if (device == nullptr || !device->IsSwitch()) continue;
    number_[i] = static_cast<uint32_t>(switches_.size());
    switches_.push_back({NodeIndex(i), device});
  }
  far_.resize(switches_.size() * ports_);
  died_at_.assign(far_.size(), Instant::min());
  known_.resize(switches_.size());
  LayCables();
}

// ---- what happens

void TableWatch::OnNodeChanged(Instant now, NodeIndex node) {
  now_ = now;
  if (dirty_.empty() || dirty_.back() != node) dirty_.push_back(node);
}

void TableWatch::OnServed(const Served& served) {
  if (!served.changed || served.request.method != wire::Method::kSet) return;
  const NodeIndex node = served.ingress.node;
  const uint32_t at = number_[node.value()];
  Look();
  now_ = served.at;
  by_set_ = true;
  what_ = fmt::format("Set {} {} of {}", wire::AttributeName(served.request.attribute),
                      served.request.modifier, fabric_.device(node)->description());
  switch (served.request.attribute) {
    case wire::AttributeId::kLinearForwardingTable:
      ++statistics_.sets;
      TakeBlock(at, served.request.modifier);
      break;
    case wire::AttributeId::kSwitchInfo: TakeRow(at); break;
    case wire::AttributeId::kPortInfo:
      dirty_.push_back(node);
      LookAtDirty();
      break;
    default: break;
  }
  JudgeLids();
  JudgeDependencies();
  by_set_ = false;
}

void TableWatch::Look() {
  if (dirty_.empty()) return;
  what_ = "a change of links";
  LookAtDirty();
  JudgeLids();
  JudgeDependencies();
}

void TableWatch::SetUnwanted(PortRef end_port, bool unwanted) {
  if (unwanted)
    unwanted_.insert(end_port);
  else
    unwanted_.erase(end_port);
}

// ---- links

TableWatch::Far TableWatch::LookBeyond(PortRef port) const {
  const SimDevice& device = *fabric_.device(port.node);
  if (!device.HasPort(port.port) || port.port == PortNum(0)) return {};
  if (device.port(port.port).info.port_state != wire::PortState::kActive) return {};
  const PortRef peer = fabric_.LinkedPeer(port);
  if (peer.IsNone()) return {};
  const SimDevice& other = *fabric_.device(peer.node);
  // Data takes an ARMED port along.
  if (other.port(peer.port).info.port_state < wire::PortState::kArmed) return {};
  return {peer, number_[peer.node.value()]};
}

// Of all cables, whatever their state: entries are counted as dependencies by where they would
// lead, so that a link that comes and goes changes no count.
void TableWatch::LayCables() {
  std::vector<PortRef> sockets(far_.size());
  for (uint32_t at = 0; at < switches_.size(); ++at)
    for (uint8_t port = 1; port <= switches_[at].device->last_port().value(); ++port)
      sockets[size_t{at} * ports_ + port] = switches_[at].device->port(PortNum(port)).cable;
  if (sockets == sockets_) return;
  sockets_ = std::move(sockets);
  dependencies_ = DependencyGraph(switches_.size(), ports_);
  arranged_ = false;
  for (uint32_t at = 0; at < switches_.size(); ++at) {
    for (uint8_t port = 1; port <= switches_[at].device->last_port().value(); ++port) {
      const PortRef peer = sockets_[size_t{at} * ports_ + port];
      if (peer.IsNone() || number_[peer.node.value()] == kNoSwitch) continue;
      dependencies_.SetCable(dependencies_.Of(at, port),
                             dependencies_.Of(number_[peer.node.value()], peer.port.value()));
    }
  }
  for (uint32_t lid = 0; lid < lids_; ++lid)
    for (uint32_t at = 0; at < switches_.size(); ++at) CountWays(at, lid);
  for (auto& far : far_) far = Far();  // Looked at again, and made active.
  for (const Switch& each : switches_) dirty_.push_back(each.node);
}

void TableWatch::LookAtDirty() {
  for (size_t i = 0; i < dirty_.size(); ++i) {
    const SimDevice& device = *fabric_.device(dirty_[i]);
    for (uint8_t port = 1; port <= device.last_port().value(); ++port) {
      const PortRef cable = device.port(PortNum(port)).cable;
      if (number_[dirty_[i].value()] != kNoSwitch) {
        if (sockets_[size_t{number_[dirty_[i].value()]} * ports_ + port] != cable) LayCables();
        LookAtLink(number_[dirty_[i].value()], port);
      }
      if (!cable.IsNone() && number_[cable.node.value()] != kNoSwitch)
        LookAtLink(number_[cable.node.value()], cable.port.value());
      // Its LID may be a new one.
      const uint32_t lid = device.port(PortNum(port)).info.lid.value();
      if (!device.IsSwitch() && lid != 0 && lid < lids_) suspects_.push_back(lid);
    }
    if (!device.IsSwitch()) continue;
    const uint32_t at = number_[dirty_[i].value()];
    const uint32_t lid = device.port(PortNum(0)).info.lid.value();
    if (lid != 0 && lid < lids_) suspects_.push_back(lid);
    if (device.switch_info().linear_fdb_top != 0) continue;
    const uint64_t entries = statistics_.entries;
    TakeRow(at);
    if (std::exchange(statistics_.entries, entries) != entries) switches_[at].reset_at = now_;
  }
  dirty_.clear();
}

void TableWatch::LookAtLink(uint32_t at, uint8_t port) {
  Far& far = far_[size_t{at} * ports_ + port];
  const Far now = LookBeyond({switches_[at].node, PortNum(port)});
  if (far.peer == now.peer) return;
  if (now.peer.IsNone()) died_at_[size_t{at} * ports_ + port] = now_;
  far = now;
  for (uint32_t lid = 1; lid < lids_; ++lid)
    if (Entry(at, lid) == port) suspects_.push_back(lid);
  if (!sockets_[size_t{at} * ports_ + port].IsNone() &&
      number_[sockets_[size_t{at} * ports_ + port].node.value()] != kNoSwitch) {
    const bool active = far.at != kNoSwitch;
    if (active && !std::exchange(arranged_, true)) dependencies_.Arrange();
    dependencies_.SetActive(dependencies_.Of(at, port), active);
  }
}

// ---- tables

void TableWatch::Grow(uint32_t lids) {
  if (lids <= lids_) return;
  lids_ = lids;
  entries_.resize(size_t{lids_} * switches_.size(), kNoRoute);
  ends_.resize(entries_.size(), End::kDropped);
}

void TableWatch::TakeRow(uint32_t at) {
  const uint32_t top = switches_[at].device->switch_info().linear_fdb_top;
  const uint32_t blocks = std::max(lids_, top == 0 ? 0 : top + 1) / 64 + 1;
  for (uint32_t block = 0; block < blocks; ++block) TakeBlock(at, block);
}

// All entries of a block change at once: what was there is taken back before the new is counted.
void TableWatch::TakeBlock(uint32_t at, uint32_t block) {
  const SimDevice& device = *switches_[at].device;
  Grow((block + 1) * 64);
  uint64_t changed = 0;
  for (uint32_t i = 0; i < 64; ++i) {
    const uint32_t lid = block * 64 + i;
    if (device.LftPort(Lid(static_cast<uint16_t>(lid))) == Entry(at, lid)) continue;
    changed |= uint64_t{1} << i;
    CountEntry(at, lid, -1);
  }
  for (uint32_t i = 0; i < 64; ++i) {
    if ((changed >> i & 1) == 0) continue;
    const uint32_t lid = block * 64 + i;
    Entry(at, lid) = device.LftPort(Lid(static_cast<uint16_t>(lid)));
    CountEntry(at, lid, 1);
    ++statistics_.entries;
    if (lid != 0) suspects_.push_back(lid);
  }
}

// Dependencies of the ways that pass through this entry: from each channel that leads here.
void TableWatch::CountEntry(uint32_t at, uint32_t lid, int change) {
  const uint8_t out = Entry(at, lid);
  if (!options_.credit_loops || out == 0 || out >= ports_) return;
  const auto count = [&](uint32_t from, uint8_t from_port, uint8_t to_port) {
    const DependencyGraph::Channel channel = dependencies_.Of(from, from_port);
    change > 0 ? dependencies_.Add(channel, to_port) : dependencies_.Remove(channel, to_port);
  };
  for (uint8_t in = 1; in < ports_; ++in) {
    const PortRef peer = sockets_[size_t{at} * ports_ + in];
    if (peer.IsNone() || number_[peer.node.value()] == kNoSwitch) continue;
    const uint32_t from = number_[peer.node.value()];
    if (Entry(from, lid) == peer.port.value()) count(from, peer.port.value(), out);
  }
  const PortRef next = sockets_[size_t{at} * ports_ + out];
  if (next.IsNone() || number_[next.node.value()] == kNoSwitch) return;
  const uint8_t after = Entry(number_[next.node.value()], lid);
  if (after != 0 && after < ports_) count(at, out, after);
}

// The same for all entries, of which each counts with the next one only.
void TableWatch::CountWays(uint32_t at, uint32_t lid) {
  const uint8_t out = Entry(at, lid);
  if (!options_.credit_loops || out == 0 || out >= ports_) return;
  const PortRef next = sockets_[size_t{at} * ports_ + out];
  if (next.IsNone() || number_[next.node.value()] == kNoSwitch) return;
  const uint8_t after = Entry(number_[next.node.value()], lid);
  if (after != 0 && after < ports_) dependencies_.Add(dependencies_.Of(at, out), after);
}

// ---- judgement

// kUnknown: `at` is the next switch now.
TableWatch::End TableWatch::Leave(uint32_t& at, uint32_t lid) {
  const uint8_t out = Entry(at, lid);
  const Lid to(static_cast<uint16_t>(lid));
  if (out == 0)
    return switches_[at].device->OwnsLid(PortNum(0), to) ? End::kArrives : End::kDropped;
  if (out > switches_[at].device->last_port().value()) return End::kDropped;
  const Far& far = Beyond(at, out);
  if (far.peer.IsNone()) return End::kDropped;
  if (far.at != kNoSwitch) {
    at = far.at;
    return End::kUnknown;
  }
  return fabric_.device(far.peer.node)->OwnsLid(far.peer.port, to) ? End::kArrives : End::kDropped;
}

TableWatch::End TableWatch::Follow(uint32_t at, uint32_t lid, std::vector<End>& known) {
  way_.clear();
  End end = End::kUnknown;
  while (end == End::kUnknown) {
    End& here = known[at];
    if (here != End::kUnknown) {
      end = here == End::kUnderWay ? End::kCircle : here;
      break;
    }
    here = End::kUnderWay;
    way_.push_back(at);
    end = Leave(at, lid);
  }
  for (uint32_t passed : way_) known[passed] = end;
  return end;
}

void TableWatch::JudgeLids() {
  SortUnique(suspects_);
  for (uint32_t lid : suspects_) JudgeLid(lid);
  suspects_.clear();
}

void TableWatch::JudgeLid(uint32_t lid) {
  ++statistics_.walks;
  std::fill(known_.begin(), known_.end(), End::kUnknown);
  uint32_t cut = kNoSwitch, circle = kNoSwitch, cuts = 0;
  for (uint32_t at = 0; at < switches_.size(); ++at) {
    const End now = known_[at] != End::kUnknown ? known_[at] : Follow(at, lid, known_);
    const End before = std::exchange(EndOf(at, lid), now);
    if (now == before) continue;
    if (now == End::kCircle && circle == kNoSwitch) circle = at;
    if (before != End::kArrives) continue;
    if (!by_set_) {
      ++statistics_.faults_cuts;
    } else if (!IsExcused(at, lid)) {
      ++cuts;
      if (cut == kNoSwitch) cut = at;
    }
  }
  if (circle != kNoSwitch) {
    ++statistics_.loops;
    Find("transient loop", fmt::format("LID {} at {} after {}", lid, Name(circle), what_));
  }
  if (cut != kNoSwitch) {
    statistics_.cuts += cuts;
    Find("transient cut", fmt::format("{} -> LID {} and {} more after {}, {}", Name(cut), lid,
                                      cuts - 1, what_, WhereItEnds(cut, lid)));
  }
}

std::string TableWatch::WhereItEnds(uint32_t at, uint32_t lid) {
  for (size_t hops = 0; hops <= switches_.size(); ++hops) {
    const uint32_t here = at;
    if (Leave(at, lid) == End::kUnknown) continue;
    if (Entry(here, lid) == kNoRoute) return fmt::format("has no route at {}", Name(here));
    return fmt::format("is lost at {}/{}", Name(here), Entry(here, lid));
  }
  return "goes in a circle";
}

void TableWatch::JudgeDependencies() {
  const std::vector<DependencyGraph::Channel> circle = dependencies_.TakeCircle();
  if (circle.empty()) return;
  ++statistics_.credit_loops;
  std::string text;
  for (DependencyGraph::Channel channel : circle)
    text += fmt::format("{}/{} -> ", Name(static_cast<uint32_t>(dependencies_.SwitchOf(channel))),
                        dependencies_.PortOf(channel));
  Find("transient credit loop", fmt::format("{}back after {}", text, what_));
}

void TableWatch::Find(const char* checker, std::string text) {
  if (findings_.size() < options_.most_findings)
    findings_.push_back(fmt::format("{}: {}, at {:.6f} s", checker, text, Seconds(now_)));
}

// ---- excuses

PortRef TableWatch::OwnerOf(uint32_t lid) const {
  for (const EndPort& port : EndPorts(fabric_))
    if (port.base.value() <= lid && lid < static_cast<uint32_t>(port.base.value() + port.lids))
      return port.ref;
  return {};
}

// By cables that are up and carry MADs.
bool TableWatch::HasWay(uint32_t at, PortRef owner) const {
  const NodeIndex goal = SwitchOf(fabric_, owner);
  if (goal.IsNone() || fabric_.link_loss(owner) > 0) return false;
  std::vector<char> seen(switches_.size(), 0);
  std::vector<uint32_t> open{at};
  seen[at] = 1;
  for (size_t next = 0; next < open.size(); ++next) {
    const Switch& here = switches_[open[next]];
    if (here.node == goal) return true;
    for (uint8_t port = 1; port <= here.device->last_port().value(); ++port) {
      const PortRef peer = fabric_.LinkedPeer({here.node, PortNum(port)});
      if (peer.IsNone() || fabric_.link_loss(peer) > 0) continue;
      const uint32_t to = number_[peer.node.value()];
      if (to != kNoSwitch && !std::exchange(seen[to], 1)) open.push_back(to);
    }
  }
  return false;
}

bool TableWatch::IsExcused(uint32_t at, uint32_t lid) {
  const PortRef owner = OwnerOf(lid);
  if (owner.IsNone() || unwanted_.contains(owner) || !HasWay(at, owner)) return true;
  const auto lately = [&](Instant when) {
    return when != Instant::min() && now_ - when <= options_.notice;
  };
  for (size_t hops = 0; hops <= switches_.size(); ++hops) {
    const uint32_t here = at;
    const End end = Leave(at, lid);
    if (end == End::kUnknown) continue;
    const uint8_t out = Entry(here, lid);
    return (owner.port == PortNum(0) && out == kNoRoute) || lately(switches_[here].reset_at) ||
           (out < ports_ && lately(died_at_[size_t{here} * ports_ + out]));
  }
  return false;  // In a circle.
}

}  // namespace fabricd::sim
