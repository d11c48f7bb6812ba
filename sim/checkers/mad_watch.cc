// SPDX-License-Identifier: Apache-2.0
#include "sim/checkers/mad_watch.h"

#include <algorithm>

#include <fmt/format.h>

#include "fabric/port_name.h"

namespace fabricd::sim {
namespace {

double Seconds(Instant at) { return std::chrono::duration<double>(at.time_since_epoch()).count(); }

uint64_t Mix(uint64_t digest, uint64_t value) {
  digest = (digest ^ value) * 0x9E3779B97F4A7C15u;
  return digest ^ (digest >> 29);
}

constexpr Duration kHandedOver = std::chrono::microseconds(10);
// From a read to a Set that is decided by it.
constexpr Duration kDecision = std::chrono::milliseconds(250);

}  // namespace

void Watch::Fault(std::string text) {
  constexpr size_t kMost = 100;
  if (faults_.size() < kMost) faults_.push_back(std::move(text));
}

void Watch::OnRestart(PortRef host) {
  programs_[host] = Program();
  programs_[host].is_checked = true;
}

void Watch::SetApart(Instant now, bool apart) {
  if (apart_ && !apart) together_since_ = now;
  apart_ = apart;
}

NodeIndex Watch::DestinationOf(PortRef host, const std::optional<wire::DirectedPath>& path) const {
  NodeIndex node = host.node;
  for (size_t hop = 0; path && hop < path->hops(); ++hop) {
    const PortRef peer = fabric_.LinkedPeer({node, PortNum((*path)[hop])});
    if (peer.IsNone()) return NodeIndex::None();
    node = peer.node;
  }
  return node;
}

void Watch::CutOff(Program& program, Flying& flying) {
  flying.cut_off = true;
  ++program.cut_off;
  if (!flying.IsProbe() && !flying.device.IsNone()) --program.at_device[flying.device];
}

void Watch::NoteRepeat(Program& program, const Flying& repeat) {
  const auto some = program.at_device.find(repeat.device);
  if (repeat.IsProbe() || some == program.at_device.end() || some->second == 0) return;
  for (auto& [id, flying] : program.flying)
    if (!flying.cut_off && flying.device == repeat.device && flying.path != repeat.path &&
        flying.method == repeat.method && flying.attribute == repeat.attribute &&
        flying.modifier == repeat.modifier)
      CutOff(program, flying);
}

// When a link is lost, what was in flight over it is repeated over others at once. The engine that
// repeats it has no answer, and does not know what a Get has told the program since.
bool Watch::IsRepeatedSet(const Program& program, const Flying& set) {
  return set.method == wire::Method::kSet &&
         std::any_of(program.flying.begin(), program.flying.end(), [&](const auto& entry) {
           const Flying& other = entry.second;
           return other.device == set.device && other.path != set.path &&
                  other.method == set.method && other.attribute == set.attribute &&
                  other.modifier == set.modifier && other.data == set.data;
         });
}

// The sender has found another way to the device than those by which it has sent there; its repeats
// may come after what is more urgent. Whoever goes on sending by the first way has not given it up.
void Watch::NoteGivenUp(Program& program, const Flying& latest) {
  Instant since = latest.sent;
  for (const auto& [id, flying] : program.flying)
    if (!flying.cut_off && flying.device == latest.device && flying.path == latest.path)
      since = std::min(since, flying.sent);
  for (auto& [id, flying] : program.flying)
    if (!flying.cut_off && !flying.IsProbe() && flying.device == latest.device &&
        flying.path != latest.path && flying.sent < since)
      CutOff(program, flying);
}

// The sender waits no longer: it counts from when it has handed the request over, which is a moment
// before the request is sent.
void Watch::NoteTimedOut(Instant now, Program& program) {
  for (auto& [id, flying] : program.flying)
    if (!flying.cut_off && flying.end <= now + kHandedOver) CutOff(program, flying);
}

void Watch::NoteCutOff(PortRef host, Program& program) {
  for (auto& [id, flying] : program.flying)
    if (!flying.cut_off && DestinationOf(host, flying.path) != flying.device)
      CutOff(program, flying);
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
  Flying flying{DestinationOf(host, smp->path),
                smp->path,
                smp->method,
                smp->attribute,
                smp->modifier,
                now,
                smp->data};
  flying.end = now + mad.timeout;
  // A retry is no new decision to write, also where a Get was answered since the attempt before.
  const bool is_retry =
      smp->method == wire::Method::kSet && !program.sent_sets.insert(smp->transaction_id()).second;
  flying.is_repeat = is_retry || IsRepeatedSet(program, flying);
  NoteRepeat(program, flying);
  program.flying[smp->transaction_id()] = flying;
  if (!program.is_checked) return;
  const auto in_flight = [&] { return program.flying.size() - program.cut_off; };
  if (in_flight() > options_.window_max) NoteCutOff(host, program);
  if (in_flight() > options_.window_max)
    Fault(fmt::format("window: {} requests in flight", in_flight()));
  if (flying.device.IsNone()) return;
  // A probe goes to a device that is not known yet: each cable, and each SM that asked, may have
  // one.
  if (flying.IsProbe()) return;
  const uint32_t& at_device = ++program.at_device[flying.device];
  if (at_device > options_.device_limit) NoteCutOff(host, program);
  if (at_device > options_.device_limit) NoteGivenUp(program, flying);
  if (at_device > options_.device_limit) NoteTimedOut(now, program);
  if (at_device > options_.device_limit)
    Fault(fmt::format("window: {} requests in flight to {}", at_device,
                      fabric_.device(flying.device)->description()));
}

// A switch without a LinearFDBTop, or without a LID, says that it has started anew: what it told
// before of its tables may be out of date.
bool Watch::SaysTablesAreLost(const Key& key, const wire::SmpData& data) const {
  if (key.attribute == wire::AttributeId::kSwitchInfo)
    return wire::SwitchInfo::Decode(data).linear_fdb_top == 0;
  return key.attribute == wire::AttributeId::kPortInfo && key.port == PortNum(0) &&
         fabric_.device(key.node)->IsSwitch() && !wire::PortInfo::Decode(data).lid;
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
  if (flying->second.cut_off)
    --program.cut_off;
  else if (program.is_checked && !flying->second.IsProbe() && !flying->second.device.IsNone())
    --program.at_device[flying->second.device];
  const NodeIndex device = flying->second.device;
  program.flying.erase(flying);
  if (mad->kind != mad::IncomingMad::Kind::kReceived) ForgetUnanswered(*mad, device, program);
  const auto asked = program.answers.find(id);
  if (asked == program.answers.end()) return;
  // Of two copies the second may have been answered otherwise than the one that came.
  const auto smp = wire::Smp::Decode(
      std::span<const uint8_t, wire::kMadBytes>(mad->payload.data(), wire::kMadBytes));
  if (mad->kind == mad::IncomingMad::Kind::kReceived && smp->status == wire::kStatusOk) {
    const Key key = asked->second;
    program.told[key] = {smp->data, delivery.at};
    ForgetAboveTop(key, smp->data, program);
    if (SaysTablesAreLost(key, smp->data))
      absl::erase_if(program.told, [node = key.node](const auto& told) {
        return told.first.node == node &&
               (told.first.attribute == wire::AttributeId::kLinearForwardingTable ||
                told.first.attribute == wire::AttributeId::kMulticastForwardingTable);
      });
  }
  program.answers.erase(asked);
}

// Blocks above LinearFDBTop carry nothing: nobody reads them, and they may have changed.
void Watch::ForgetAboveTop(const Key& key, const wire::SmpData& data, Program& program) {
  if (key.attribute != wire::AttributeId::kSwitchInfo) return;
  const uint32_t last =
      wire::SwitchInfo::Decode(data).linear_fdb_top / wire::LinearForwardingTable::kEntries;
  absl::erase_if(program.told, [&](const auto& told) {
    return told.first.node == key.node &&
           told.first.attribute == wire::AttributeId::kLinearForwardingTable &&
           told.first.modifier > last;
  });
}

// What a Set that is not answered has done is not known to its sender, whatever it was told before.
// Who asked again by a Get, and got no answer, had reason to doubt what it was told.
void Watch::ForgetUnanswered(const mad::IncomingMad& mad, NodeIndex device, Program& program) {
  if (mad.payload.size() < wire::kMadBytes) return;
  const auto smp = wire::Smp::Decode(
      std::span<const uint8_t, wire::kMadBytes>(mad.payload.data(), wire::kMadBytes));
  if (!smp || (smp->method != wire::Method::kSet && smp->method != wire::Method::kGet)) return;
  const bool by_port = smp->attribute == wire::AttributeId::kPortInfo;
  const uint32_t modifier = by_port ? smp->modifier & 0xFF : smp->modifier;
  absl::erase_if(program.told, [&](const auto& told) {
    // A route that leads nowhere any more was one to some device when it was learned.
    return (device.IsNone() || told.first.node == device) &&
           told.first.attribute == smp->attribute && told.first.modifier == modifier;
  });
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
  // However PortInfo is asked for, it is one register.
  const uint32_t modifier = served.request.attribute == wire::AttributeId::kPortInfo
                                ? port.value()
                                : served.request.modifier;
  const Key key{served.ingress.node, port, served.request.attribute, modifier};
  Program& program = programs_[served.sender];
  const uint64_t id = served.request.transaction_id();
  if (set) {
    if (served.changed) {  // Whatever anybody was told before holds no longer.
      for (auto& [host, each] : programs_) each.told.erase(key);
      writers_[key] = {served.sender, served.at};
    }
    if (program.served_sets.insert(id).second) CheckIdle(served, key, program);
    if (served.request.attribute == wire::AttributeId::kPortInfo) CheckLids(served, port);
  }
  program.answers.insert_or_assign(id, key);
}

// A Set that left every register as it was, from a program that had been told exactly what it got
// back now when it sent the Set. (A repeat of a Set whose answer was lost was told something older.
// One whose twin's answer was under way, as when the route changes meanwhile, knew no better. One
// that repeats what is in flight by another path is no decision to write. Where another program has
// written the same a moment before, the decision may be older than the read that shows it.)
void Watch::CheckIdle(const Served& served, const Key& key, const Program& program) {
  if (served.changed || !program.is_checked) return;
  // What odd firmware holds nobody can know; a Set that it never takes must not come in the second
  // sweep.
  if (fabric_.device(key.node)->quirks() != nullptr) return;
  const auto told = program.told.find(key);
  if (told == program.told.end() || told->second.data != served.answer.data) return;
  const auto flying = program.flying.find(served.request.transaction_id());
  if (flying != program.flying.end() &&
      (flying->second.is_repeat || flying->second.sent < told->second.at))
    return;
  const auto writer = writers_.find(key);
  if (writer != writers_.end() && writer->second.host != served.sender &&
      served.at - writer->second.at < kDecision)
    return;
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
    Fault(fmt::format("LIDs: {} had LID {} and gets {}",
                      fabric::PortName(device.description(), number), of->second, port.info.lid));
    of->second = port.info.lid;
  }
  for (int path = 0; path < 1 << port.info.lmc; ++path) {
    const Lid lid(static_cast<uint16_t>(port.info.lid.value() + path));
    const auto [owner, first] = owner_of_.try_emplace(lid, port.guid);
    if (first || owner->second == port.guid) continue;
    Fault(fmt::format("LIDs: {} was that of port {} and is given to {}", lid, owner->second,
                      fabric::PortName(device.description(), number)));
  }
}

// One that wrote, then another, then the first again, in less time than any takeover needs: two
// masters at work.
void Watch::CheckWriters(Instant now, PortRef host) {
  Program& program = programs_[host];
  // What is no subnet manager never stops for another's sake.
  const bool is_sm =
      (fabric_.device(host.node)->port(host.port).info.capability_mask & wire::kCapIsSm) != 0;
  if (!is_sm && !program.is_checked) return;
  const bool turn = last_setter_ != host;
  const bool from_the_start = together_since_ == Instant::min();
  const bool aware = !apart_ && (from_the_start ? now.time_since_epoch() > options_.first_awareness
                                                : now - together_since_ > options_.awareness);
  if (turn && program.is_checked && program.last_set != Instant::min() && aware &&
      now - program.last_set < options_.takeover_min)
    Fault(fmt::format("two writers: {} and {} write at the same time, at {:.6f} s",
                      fabric_.device(last_setter_.node)->description(),
                      fabric_.device(host.node)->description(), Seconds(now)));
  last_setter_ = host;
  program.last_set = now;
}

}  // namespace fabricd::sim
