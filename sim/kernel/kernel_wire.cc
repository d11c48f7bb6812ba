// SPDX-License-Identifier: Apache-2.0
#include "sim/kernel/kernel_wire.h"

#include <endian.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/status.h"
#include "kernel/simib_wire.h"

namespace fabricd::sim {
namespace {

constexpr uint16_t kPermissive = 0xFFFF;
constexpr uint8_t kDirectedRouteClass = 0x81;
constexpr uint8_t kPerformanceClass = 0x04, kVendorClass = 0x0A;

// REQUIRES: body.size() == sizeof(Body), or larger.
template <typename Body>
Body BodyOf(std::span<const uint8_t> body) {
  Body read;
  std::memcpy(&read, body.data(), sizeof(read));
  return read;
}

void Append(KernelWire::Frame& frame, const void* from, size_t bytes) {
  const auto* at = static_cast<const uint8_t*>(from);
  frame.insert(frame.end(), at, at + bytes);
}

KernelWire::Frame MakeFrame(simib_type type, KernelPort port, size_t body_bytes) {
  simib_header header{};
  const size_t length = sizeof(header) + body_bytes;
  header.version = SIMIB_WIRE_VERSION;
  header.type = static_cast<uint8_t>(type);
  header.port = port.port;
  header.hca = htole16(port.hca);
  header.length = htole16(static_cast<uint16_t>(length));
  KernelWire::Frame frame;
  frame.reserve(length);
  Append(frame, &header, sizeof(header));
  return frame;
}

template <typename Body>
KernelWire::Frame MakeBodyFrame(simib_type type, KernelPort port, const Body& body) {
  KernelWire::Frame frame = MakeFrame(type, port, sizeof(body));
  Append(frame, &body, sizeof(body));
  return frame;
}

// The simulated agents look at SMPs and at requests for counters; all else only passes.
bool IsOpaque(uint32_t qpn, const std::vector<uint8_t>& payload) {
  if (qpn == 0) return false;
  const bool for_agents =
      qpn == 1 && payload.size() == wire::kMadBytes &&
      (payload[kMadClassAt] == kPerformanceClass || payload[kMadClassAt] == kVendorClass);
  return !for_agents;
}

KernelWire::Frame PacketFrame(KernelPort port, const Packet& packet) {
  simib_packet body{};
  if (packet.IsSmp()) {
    body.slid = htole16(packet.directed ? kPermissive : packet.slid.value());
    body.dlid = htole16(packet.directed ? kPermissive : packet.dlid.value());
  } else {
    body.slid = htole16(packet.slid.value());
    body.dlid = htole16(packet.dlid.value());
    body.source_qpn = htole32(packet.source_qpn);
    body.destination_qpn = htole32(packet.qpn);
    body.qkey = htole32(packet.qkey);
    body.pkey = htole16(packet.pkey.value());
  }
  body.sl = packet.sl.value();
  if (!packet.global_header.empty()) body.flags |= SIMIB_PACKET_GRH;
  if (packet.solicited) body.flags |= SIMIB_PACKET_SOLICITED;
  KernelWire::Frame frame = MakeFrame(
      SIMIB_PACKET, port, sizeof(body) + packet.global_header.size() + packet.bytes.size());
  Append(frame, &body, sizeof(body));
  Append(frame, packet.global_header.data(), packet.global_header.size());
  Append(frame, packet.bytes.data(), packet.bytes.size());
  return frame;
}

}  // namespace

KernelWire::KernelWire(SimFabric& fabric, Places places)
    : fabric_(fabric), places_(std::move(places)) {}

absl::Status KernelWire::Take(Instant now, std::span<const uint8_t> frame) {
  if (frame.size() < sizeof(simib_header)) return InvalidArgument("a frame without a header");
  const auto header = BodyOf<simib_header>(frame);
  if (header.version != SIMIB_WIRE_VERSION) {
    return InvalidArgument("a frame of version {}, this is {}", header.version, SIMIB_WIRE_VERSION);
  }
  const uint16_t hca = le16toh(header.hca);
  const std::span<const uint8_t> body = frame.subspan(sizeof(header));
  if (header.type == SIMIB_HELLO) return TakeHello(now, hca, body);
  if (header.type == SIMIB_GONE) {
    TakeGone(now, hca);
    return absl::OkStatus();
  }
  const auto at = bound_.find({hca, header.port});
  if (at == bound_.end()) {
    return InvalidArgument("HCA {} has not said that it has a port {}", hca, header.port);
  }
  if (header.type == SIMIB_PORT) return TakePortState(now, at->second, body);
  if (header.type == SIMIB_PACKET) return TakePacket(now, at->second, body);
  return InvalidArgument("a frame of unknown type {}", header.type);
}

absl::Status KernelWire::TakeHello(Instant now, uint16_t hca, std::span<const uint8_t> body) {
  if (body.size() < sizeof(simib_hello)) return InvalidArgument("a short HELLO of HCA {}", hca);
  const auto hello = BodyOf<simib_hello>(body);
  if (hello.ports < 1 || hello.ports > std::size(hello.port_guids)) {
    return InvalidArgument("HCA {} has {} ports", hca, hello.ports);
  }
  for (uint8_t number = 1; number <= hello.ports; ++number) {
    const Guid guid(le64toh(hello.port_guids[number - 1]));
    FABRICD_RETURN_IF_ERROR(Bind(now, {hca, number}, guid));
  }
  return absl::OkStatus();
}

PortRef KernelWire::PlaceFor(KernelPort port, Guid guid, absl::Status& status) const {
  const auto place = places_.find(port);
  if (place != places_.end()) {
    const absl::StatusOr<PortRef> found = fabric_.FindHostPort(place->second);
    if (found.ok()) return *found;
    status = found.status();
    return {};
  }
  const absl::StatusOr<PortRef> same = fabric_.FindHostPort(fmt::format("{}", guid));
  if (same.ok() && !fabric_.IsOutside(*same)) return *same;
  return fabric_.FreeHostPort();
}

absl::Status KernelWire::Bind(Instant now, KernelPort port, Guid guid) {
  const auto known = bound_.find(port);
  if (known == bound_.end()) {
    absl::Status status;
    const PortRef place = PlaceFor(port, guid, status);
    FABRICD_RETURN_IF_ERROR(status);
    if (place.IsNone() || fabric_.IsOutside(place) || fabric_.device(place.node)->IsSwitch()) {
      return NotFound("the fabric has no free host port for port {} of HCA {}", port.port,
                      port.hca);
    }
    bound_[port] = place;
    ports_[place] = port;
    fabric_.AttachOutside(place);
  }
  link_reports_[port] = LinkReport();
  // Back after GONE: kFailedPrecondition says that it had never gone.
  [[maybe_unused]] const absl::Status on = fabric_.PowerOn(now, bound_[port].node);
  return absl::OkStatus();
}

void KernelWire::TakeGone(Instant now, uint16_t hca) {
  for (const auto& [port, place] : bound_) {
    if (port.hca != hca) continue;
    link_reports_.erase(port);
    // The second port of one adapter finds it off already.
    [[maybe_unused]] const absl::Status off = fabric_.PowerOff(now, place.node);
  }
}

absl::Status KernelWire::TakePortState(Instant now, PortRef at, std::span<const uint8_t> body) {
  if (body.size() < sizeof(simib_port_state)) return InvalidArgument("a short PORT frame");
  const auto reported = BodyOf<simib_port_state>(body);
  OutsideState state;
  state.capability_mask = le32toh(reported.capability_mask);
  state.lid = Lid(le16toh(reported.lid));
  state.master_sm_lid = Lid(le16toh(reported.sm_lid));
  state.lmc = reported.lmc;
  state.state = static_cast<wire::PortState>(reported.state);
  state.physical_state = static_cast<wire::PortPhysicalState>(reported.physical_state);
  state.retrain = reported.retrain != 0;
  fabric_.MirrorOutside(now, at, state);
  return absl::OkStatus();
}

absl::Status KernelWire::TakePacket(Instant now, PortRef at, std::span<const uint8_t> body) {
  if (body.size() < sizeof(simib_packet)) return InvalidArgument("a short PACKET frame");
  const auto sent = BodyOf<simib_packet>(body);
  const size_t global_bytes = (sent.flags & SIMIB_PACKET_GRH) != 0 ? SIMIB_GRH_BYTES : 0;
  if (body.size() < sizeof(sent) + global_bytes) return InvalidArgument("a GRH that is cut off");
  const std::span<const uint8_t> global = body.subspan(sizeof(sent), global_bytes);
  const std::span<const uint8_t> payload = body.subspan(sizeof(sent) + global_bytes);
  Packet packet;
  packet.at = at;
  packet.bytes.assign(payload.begin(), payload.end());
  packet.global_header.assign(global.begin(), global.end());
  packet.slid = Lid(le16toh(sent.slid));
  packet.dlid = Lid(le16toh(sent.dlid));
  packet.source_qpn = le32toh(sent.source_qpn);
  packet.qpn = le32toh(sent.destination_qpn);
  packet.qkey = le32toh(sent.qkey);
  packet.pkey = PKey(le16toh(sent.pkey));
  packet.sl = ServiceLevel(sent.sl);
  packet.solicited = (sent.flags & SIMIB_PACKET_SOLICITED) != 0;
  packet.opaque = IsOpaque(packet.qpn, packet.bytes);
  if (!packet.opaque && packet.bytes.size() != wire::kMadBytes) {
    return InvalidArgument("an SMP of {} bytes", packet.bytes.size());
  }
  packet.directed = packet.qpn == 0 && packet.bytes[kMadClassAt] == kDirectedRouteClass;
  fabric_.SendFromOutside(now, std::move(packet));
  return absl::OkStatus();
}

// The module hears of each time that a link went down, also where it is up again by now.
void KernelWire::TellLink(KernelPort port, PortRef at, std::vector<Frame>& frames) {
  const auto reported = link_reports_.find(port);
  if (reported == link_reports_.end()) return;
  const SimPort& own = fabric_.device(at.node)->port(at.port);
  const LinkReport now{own.info.port_state >= wire::PortState::kInit, own.training};
  if (reported->second.up && (!now.up || now.training != reported->second.training)) {
    frames.push_back(MakeBodyFrame(SIMIB_LINK, port, simib_link{}));
    reported->second.up = false;
  }
  if (now.up && !reported->second.up) {
    simib_link link{};
    link.up = 1;
    link.width_active = own.info.link_width_active;
    link.speed_active = own.info.link_speed_active;
    link.speed_ext_active = own.info.link_speed_ext_active;
    link.mtu = own.info.mtu_cap;
    frames.push_back(MakeBodyFrame(SIMIB_LINK, port, link));
  }
  reported->second = now;
}

void KernelWire::Advance(Instant now, std::vector<Frame>& frames) {
  deliveries_.clear();
  fabric_.Advance(now, deliveries_);
  // Links first: a packet may have come by one that is up since.
  for (const auto& [port, at] : bound_) TellLink(port, at, frames);
  arrivals_.clear();
  fabric_.TakeOutsideArrivals(arrivals_);
  for (const OutsideArrival& arrival : arrivals_) {
    frames.push_back(PacketFrame(ports_.at(arrival.port), arrival.packet));
  }
}

KernelWire::Frame KernelWire::Fatal(uint16_t hca) { return MakeFrame(SIMIB_FATAL, {hca, 0}, 0); }
KernelWire::Frame KernelWire::Remove(uint16_t hca) { return MakeFrame(SIMIB_REMOVE, {hca, 0}, 0); }

KernelWire::Frame KernelWire::Gone(uint16_t hca) { return MakeFrame(SIMIB_GONE, {hca, 0}, 0); }

KernelWire::Frame KernelWire::Add(uint16_t hca, std::optional<Guid> node_guid) {
  if (!node_guid) return MakeFrame(SIMIB_ADD, {hca, 0}, 0);
  simib_add body{};
  body.node_guid = htole64(node_guid->value());
  return MakeBodyFrame(SIMIB_ADD, {hca, 0}, body);
}

KernelWire::Frame KernelWire::Trap(KernelPort port, uint16_t number) {
  simib_trap body{};
  body.number = htole16(number);
  return MakeBodyFrame(SIMIB_TRAP, port, body);
}

KernelWire::Frame KernelWire::Count(KernelPort port, uint32_t counter, uint64_t increment) {
  simib_count body{};
  body.counter = htole32(counter);
  body.increment = htole64(increment);
  return MakeBodyFrame(SIMIB_COUNT, port, body);
}

}  // namespace fabricd::sim
