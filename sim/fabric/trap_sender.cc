// SPDX-License-Identifier: Apache-2.0
// Traps: what the devices tell their subnet manager unasked, until it represses it (IBA vol 1
// §13.4.9, §14.2.5.1).
#include <algorithm>

#include "common/status.h"
#include "sim/fabric/sim_fabric.h"

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

// Trap 256: who (LIDADDR, DRSLID) tried what with which key; of a directed route also its return
// path, as far as it fits.
Details SimFabric::BadMKeyDetails(const Packet& packet, const wire::Smp& smp) {
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
Details SimFabric::BadPKeyDetails(const Packet& packet) {
  Details details{};
  Put16(details, 2, packet.slid.value());
  Put16(details, 4, packet.dlid.value());
  Put32(details, 6, packet.pkey.value());
  Put32(details, 10, static_cast<uint32_t>(packet.sl.value()) << 28 | 1);
  Put32(details, 14, 1);
  return details;
}

// Trap 259: the same, seen at a port of a switch.
Details SimFabric::SwitchBadPKeyDetails(const Packet& packet, PortRef at) const {
  Details details{};
  Put16(details, 0, kSwitchBadPKeyValid);
  Put16(details, 2, packet.slid.value());
  Put16(details, 4, packet.dlid.value());
  Put16(details, 6, packet.pkey.value());
  Put32(details, 8, static_cast<uint32_t>(packet.sl.value()) << 28 | 1);
  Put32(details, 12, 1);
  Put16(details, 48, Port({at.node, PortNum(0)}).info.lid.value());
  details[50] = at.port.value();
  return details;
}

wire::Notice SimFabric::MakeNotice(const TrapKey& key, const Trap& trap) const {
  const wire::PortInfo& info = Port(key.source).info;
  wire::Notice notice;
  notice.trap = key.number;
  notice.type = TypeOf(key.number);
  notice.producer = static_cast<uint32_t>(Device(key.source.node).node_info().node_type);
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

absl::Status SimFabric::RaisePortTrap(Instant now, PortRef port, uint16_t number) {
  if (number < wire::kTrapLocalLinkIntegrity || number > wire::kTrapFlowControlWatchdog) {
    return InvalidArgument("trap {} is not one of a port's thresholds (129-131)", number);
  }
  FABRICD_RETURN_IF_ERROR(CheckSocket(port));
  RunDue(now);
  const absl::StatusOr<PortRef> source = TrapSource(port);
  if (!source.ok()) return source.status();
  RaiseTrap({*source, number, port.port});
  RunDue(now_);
  return absl::OkStatus();
}

absl::Status SimFabric::SendStrayTrap(Instant now, PortRef port, uint16_t number) {
  if (number < wire::kTrapLinkStateChange || number > wire::kTrapFlowControlWatchdog) {
    return InvalidArgument("trap {} is not one of a link (128-131)", number);
  }
  FABRICD_RETURN_IF_ERROR(CheckSocket(port));
  RunDue(now);
  const absl::StatusOr<PortRef> source = TrapSource(port);
  if (!source.ok()) return source.status();
  Trap trap;
  trap.transaction_id = static_cast<uint64_t>(source->node.value() + 1) << 32 | next_trap_id_++;
  const bool of_port = number != wire::kTrapLinkStateChange;
  SendTrap({*source, number, of_port ? port.port : PortNum(0)}, trap);
  RunDue(now_);
  return absl::OkStatus();
}

// The end port that tells of `port`. kFailedPrecondition: it knows nobody to tell.
absl::StatusOr<PortRef> SimFabric::TrapSource(PortRef port) const {
  const PortRef source{port.node, Device(port.node).ManagementPort(port.port)};
  const wire::PortInfo& info = Port(source).info;
  if (nodes_[port.node.value()].running && info.lid && info.master_sm_lid) return source;
  return FailedPrecondition("'{}' port {} knows no subnet manager to tell",
                            Device(port.node).description(), port.port);
}

void SimFabric::RaiseTrap(const TrapKey& key, std::optional<Details> details) {
  const wire::PortInfo& info = Port(key.source).info;
  if (!info.lid || !info.master_sm_lid) return;  // Nobody has configured this port: nobody to tell.
  const auto [at, fresh] = traps_.try_emplace(key);
  Trap& trap = at->second;
  if (!fresh) {
    trap.again = true;
    trap.later = details;
    return;
  }
  trap.details = details;
  trap.repeats_left = options_.trap_repeats;
  trap.transaction_id = static_cast<uint64_t>(key.source.node.value() + 1) << 32 | next_trap_id_++;
  // As an event: link changes come in pairs, and the tables are those after both.
  trap.serial = next_serial_++;
  ScheduleTrap(now_, key, trap.serial);
}

void SimFabric::ScheduleTrap(Instant at, const TrapKey& key, uint32_t serial) {
  const uint64_t id = static_cast<uint64_t>(key.subject.value()) << 16 | key.number;
  Schedule({at, Event::Kind::kTrap, key.source, id, serial});
}

void SimFabric::RunTrap(const Event& event) {
  const TrapKey key{event.port, static_cast<uint16_t>(event.id),
                    PortNum(static_cast<uint8_t>(event.id >> 16))};
  const auto found = traps_.find(key);
  if (found == traps_.end() || found->second.serial != event.serial) return;
  Trap& trap = found->second;
  if (trap.repeats_left-- < 0) {
    traps_.erase(found);
    return;
  }
  const wire::PortInfo& info = Port(event.port).info;
  const Duration period(int64_t{4096} << info.subnet_timeout);
  trap.serial = next_serial_++;
  ScheduleTrap(now_ + std::max(options_.trap_interval_min, period), key, trap.serial);
  SendTrap(key, trap);
}

void SimFabric::SendTrap(const TrapKey& key, const Trap& trap) {
  const wire::PortInfo& info = Port(key.source).info;
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
  Carry(std::move(packet));
}

void SimFabric::Repress(NodeIndex node, uint64_t transaction_id) {
  for (auto at = traps_.begin(); at != traps_.end(); ++at) {
    if (at->first.source.node != node || at->second.transaction_id != transaction_id) continue;
    const TrapKey key = at->first;
    const Trap repressed = at->second;
    traps_.erase(at);
    if (repressed.again) RaiseTrap(key, repressed.later);
    return;
  }
}

void SimFabric::ForgetTraps(NodeIndex node) {
  for (auto trap = traps_.begin(); trap != traps_.end();) {
    trap = trap->first.source.node == node ? traps_.erase(trap) : std::next(trap);
  }
}

}  // namespace fabricd::sim
