// SPDX-License-Identifier: Apache-2.0
#include "sim/fabric/trap_sender.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "common/status.h"

namespace fabricd::sim {
namespace {

using Details = std::array<uint8_t, 54>;

constexpr uint8_t kUrgent = 1, kSecurity = 2, kInformational = 3;
constexpr size_t kDirectedNoticeAt = 23;
constexpr uint8_t kDirectedNotice = 0x80, kDirectedTruncated = 0x40;
// DataValid, a bit for each field in their order: all but the two GIDs, as there is no GRH.
constexpr uint32_t kSwitchBadPKeyValid = 0x3F;
constexpr size_t kReturnPathAt = 24, kReturnPathBytes = 30;

void Put16(Details& details, size_t at, uint32_t value) {
  details[at] = static_cast<uint8_t>(value >> 8);
  details[at + 1] = static_cast<uint8_t>(value);
}

void Put32(Details& details, size_t at, uint32_t value) {
  Put16(details, at, value >> 16);
  Put16(details, at + 2, value);
}

void Put64(Details& details, size_t at, uint64_t value) {
  Put32(details, at, static_cast<uint32_t>(value >> 32));
  Put32(details, at + 4, static_cast<uint32_t>(value));
}

uint8_t TypeOf(uint16_t number) {
  if (number >= wire::kTrapBadMKey) return kSecurity;
  return number <= wire::kTrapFlowControlWatchdog ? kUrgent : kInformational;
}

}  // namespace

TrapSender::TrapSender(Options options, const SimNodes& nodes, EventQueue& queue, SimStats& stats)
    : options_(options), nodes_(nodes), queue_(queue), stats_(stats) {}

void TrapSender::RaiseLinkStateChange(NodeIndex switch_node) {
  Raise({{switch_node, PortNum(0)}, wire::kTrapLinkStateChange});
}

void TrapSender::RaiseCapabilityMaskChange(PortRef end_port) {
  Raise({end_port, wire::kTrapCapabilityMaskChanged});
}

void TrapSender::RaiseBadMKey(PortRef end_port, const Packet& packet, const wire::Smp& smp) {
  Raise({end_port, wire::kTrapBadMKey}, BadMKeyDetails(packet, smp));
}

void TrapSender::RaiseBadPKey(PortRef at, const Packet& packet) {
  const PortRef source{at.node, nodes_.Device(at.node).ManagementPort(at.port)};
  if (source == at) {
    Raise({source, wire::kTrapBadPKey}, BadPKeyDetails(packet));
  } else {
    Raise({source, wire::kTrapSwitchBadPKey, at.port}, SwitchBadPKeyDetails(packet, at));
  }
}

// Trap 256: who (LIDADDR, DRSLID) tried what with which key; of a directed route also its return
// path, as far as it fits.
TrapSender::Details TrapSender::BadMKeyDetails(const Packet& packet, const wire::Smp& smp) {
  Details details{};
  Put16(details, 2, packet.slid.value());
  details[6] = static_cast<uint8_t>(smp.method);
  Put16(details, 8, static_cast<uint16_t>(smp.attribute));
  Put32(details, 10, smp.modifier);
  Put64(details, 14, smp.m_key.value());
  if (!packet.directed) return details;
  Put16(details, 4, smp.dr_slid);
  const size_t hops = smp.path->hops();
  const size_t kept = std::min(hops + 1, kReturnPathBytes);  // Entry 0 is reserved.
  details[kDirectedNoticeAt] = static_cast<uint8_t>(
      kDirectedNotice | (kept < hops + 1 ? kDirectedTruncated : 0) | (hops & 0x3F));
  std::copy_n(smp.return_path.begin(), kept, details.begin() + kReturnPathAt);
  return details;
}

// Trap 257: which key of which end tried to reach which; QP1 is the only one here.
TrapSender::Details TrapSender::BadPKeyDetails(const Packet& packet) {
  Details details{};
  Put16(details, 2, packet.slid.value());
  Put16(details, 4, packet.dlid.value());
  Put32(details, 6, packet.pkey.value());
  Put32(details, 10, static_cast<uint32_t>(packet.sl.value()) << 28 | 1);
  Put32(details, 14, 1);
  return details;
}

// Trap 259: the same, seen at a port of a switch.
TrapSender::Details TrapSender::SwitchBadPKeyDetails(const Packet& packet, PortRef at) const {
  Details details{};
  Put16(details, 0, kSwitchBadPKeyValid);
  Put16(details, 2, packet.slid.value());
  Put16(details, 4, packet.dlid.value());
  Put16(details, 6, packet.pkey.value());
  Put32(details, 8, static_cast<uint32_t>(packet.sl.value()) << 28 | 1);
  Put32(details, 12, 1);
  Put16(details, 48, nodes_.Port({at.node, PortNum(0)}).info.lid.value());
  details[50] = at.port.value();
  return details;
}

wire::Notice TrapSender::MakeNotice(const Key& key, const Trap& trap) const {
  const wire::PortInfo& info = nodes_.Port(key.source).info;
  wire::Notice notice;
  notice.trap = key.number;
  notice.type = TypeOf(key.number);
  notice.producer = static_cast<uint32_t>(nodes_.Device(key.source.node).node_info().node_type);
  notice.issuer_lid = info.lid;
  if (trap.details) {
    notice.details = *trap.details;
  } else if (key.number == wire::kTrapLinkStateChange) {
    Put16(notice.details, 0, info.lid.value());
  } else if (key.number == wire::kTrapCapabilityMaskChanged) {
    Put16(notice.details, 2, info.lid.value());
    Put32(notice.details, 6, info.capability_mask);
    Put16(notice.details, 12, info.capability_mask2);
  } else {  // 129-131: LIDADDR, PORTNO
    Put16(notice.details, 2, info.lid.value());
    notice.details[4] = key.subject.value();
  }
  return notice;
}

absl::Status TrapSender::RaiseThreshold(PortRef port, uint16_t number) {
  const absl::StatusOr<PortRef> source = Source(port);
  if (!source.ok()) return source.status();
  Raise({*source, number, port.port});
  return absl::OkStatus();
}

absl::StatusOr<Packet> TrapSender::MakeStray(PortRef port, uint16_t number) {
  const absl::StatusOr<PortRef> source = Source(port);
  if (!source.ok()) return source.status();
  Trap trap;
  trap.transaction_id = NextTransactionId(source->node);
  const bool of_port = number != wire::kTrapLinkStateChange;
  return MakePacket({*source, number, of_port ? port.port : PortNum(0)}, trap);
}

// The end port that tells of `port`. kFailedPrecondition: it knows nobody to tell.
absl::StatusOr<PortRef> TrapSender::Source(PortRef port) const {
  const PortRef source{port.node, nodes_.Device(port.node).ManagementPort(port.port)};
  const wire::PortInfo& info = nodes_.Port(source).info;
  if (nodes_.power(port.node).on && info.lid && info.master_sm_lid) return source;
  return FailedPrecondition("'{}' port {} knows no subnet manager to tell",
                            nodes_.Device(port.node).description(), port.port);
}

void TrapSender::Raise(const Key& key, std::optional<Details> details) {
  const wire::PortInfo& info = nodes_.Port(key.source).info;
  if (!info.lid || !info.master_sm_lid) return;  // Nobody has configured this port: nobody to tell.
  const auto [at, fresh] = traps_.try_emplace(key);
  Trap& trap = at->second;
  if (!fresh) {
    trap.again = true;
    trap.later = details;
    return;
  }
  trap.details = details;
  trap.repeats_left = options_.repeats;
  trap.transaction_id = NextTransactionId(key.source.node);
  // As an event: link changes come in pairs, and the tables are those after both.
  trap.serial = queue_.NextSerial();
  Schedule(queue_.now(), key, trap.serial);
}

uint64_t TrapSender::NextTransactionId(NodeIndex node) {
  return static_cast<uint64_t>(node.value() + 1) << 32 | next_id_++;
}

void TrapSender::Schedule(Instant at, const Key& key, uint32_t serial) {
  const uint64_t id = static_cast<uint64_t>(key.subject.value()) << 16 | key.number;
  queue_.Schedule({at, Event::Kind::kTrap, key.source, id, serial});
}

std::optional<Packet> TrapSender::Run(const Event& event) {
  const Key key{event.port, static_cast<uint16_t>(event.id),
                PortNum(static_cast<uint8_t>(event.id >> 16))};
  const auto found = traps_.find(key);
  if (found == traps_.end() || found->second.serial != event.serial) return std::nullopt;
  Trap& trap = found->second;
  if (trap.repeats_left-- < 0 || nodes_.Device(event.port.node).is_unresponsive()) {
    traps_.erase(found);
    return std::nullopt;
  }
  const wire::PortInfo& info = nodes_.Port(event.port).info;
  const Duration period(int64_t{4096} << info.subnet_timeout);
  trap.serial = queue_.NextSerial();
  Schedule(queue_.now() + std::max(options_.interval_min, period), key, trap.serial);
  return MakePacket(key, trap);
}

Packet TrapSender::MakePacket(const Key& key, const Trap& trap) {
  const wire::PortInfo& info = nodes_.Port(key.source).info;
  wire::Smp smp;
  smp.method = wire::Method::kTrap;
  smp.attribute = wire::AttributeId::kNotice;
  smp.tid = TransactionId(static_cast<uint32_t>(trap.transaction_id));
  smp.tid_high = static_cast<uint32_t>(trap.transaction_id >> 32);
  MakeNotice(key, trap).Encode(smp.data);
  Packet packet;
  packet.bytes.resize(wire::kMadBytes);
  smp.Encode(std::span<uint8_t, wire::kMadBytes>(packet.bytes.data(), wire::kMadBytes));
  packet.at = key.source;
  packet.slid = info.lid;
  packet.dlid = info.master_sm_lid;
  packet.sl = ServiceLevel(info.master_sm_sl);
  ++stats_.traps_sent;
  return packet;
}

void TrapSender::Repress(NodeIndex node, uint64_t transaction_id) {
  for (auto at = traps_.begin(); at != traps_.end(); ++at) {
    if (at->first.source.node != node || at->second.transaction_id != transaction_id) continue;
    const Key key = at->first;
    const Trap repressed = at->second;
    traps_.erase(at);
    if (repressed.again) Raise(key, repressed.later);
    return;
  }
}

void TrapSender::Forget(NodeIndex node) {
  for (auto trap = traps_.begin(); trap != traps_.end();) {
    trap = trap->first.source.node == node ? traps_.erase(trap) : std::next(trap);
  }
}

}  // namespace fabricd::sim
