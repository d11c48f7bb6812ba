// SPDX-License-Identifier: Apache-2.0
// Payloads of many segments, as a program sees them: the kernel's RMPP (IBA vol 1 §13.6) sends the
// segments and gives the receiver one payload. Here that payload travels whole; its segments count
// in the statistics and in the odds of loss. Windows and acknowledgements take no time and are not
// lost themselves.
#include <algorithm>
#include <cmath>

#include "common/status.h"
#include "mad/wire/sa_header.h"
#include "sim/fabric/sim_fabric.h"

namespace fabricd::sim {
namespace {

constexpr size_t kRmppFlagsAt = 26;
// A segment's share of PayloadLength: its data and the SA header that each repeats (§13.6.2.1).
constexpr size_t kSaHeaderBytes = 20;
// How long the kernel waits for an acknowledgement of a window where the program has named no
// time-out, and at most.
constexpr Duration kAcknowledgeTimeout = std::chrono::seconds(2);
constexpr size_t kMadHeaderBytes = 24;

bool UsesRmpp(const mad::OutgoingMad& mad) {
  return mad.agent == mad::Agent::kSubnAdm && mad.payload.size() >= wire::kSaDataAt &&
         (mad.payload[kRmppFlagsAt] & wire::kRmppActive) != 0;
}

}  // namespace

// ib_umad's rules: only an agent with RMPP takes more than one MAD, and only if the MAD says so.
absl::Status SimFabric::CheckPayload(const mad::OutgoingMad& mad) {
  if (mad.payload.size() == wire::kMadBytes || UsesRmpp(mad)) return absl::OkStatus();
  return InvalidArgument("a MAD of {} bytes without RMPP", mad.payload.size());
}

// What the kernel fills in where RMPP is active: the header of the first segment, which is the one
// that the receiver gets.
void SimFabric::Segment(mad::OutgoingMad& mad, Packet& packet) {
  if (!UsesRmpp(mad)) return;
  const size_t data = mad.payload.size() - wire::kSaDataAt;
  const size_t segments = std::max<size_t>(1, (data + wire::kSaDataBytes - 1) / wire::kSaDataBytes);
  if (mad.payload.size() < wire::kMadBytes) mad.payload.resize(wire::kMadBytes);
  const std::span<uint8_t, wire::kMadBytes> first(mad.payload.data(), wire::kMadBytes);
  wire::SaHeader header = wire::SaHeader::Decode(first);
  header.rmpp.version = 1;
  header.rmpp.type = wire::RmppType::kData;
  header.rmpp.flags = static_cast<uint8_t>(wire::kRmppActive | wire::kRmppFirst |
                                           (segments == 1 ? wire::kRmppLast : 0));
  header.rmpp.data1 = 1;
  header.rmpp.data2 = static_cast<uint32_t>(segments * kSaHeaderBytes + data);
  header.Encode(first);
  packet.segments = static_cast<uint32_t>(segments);
  stats_.rmpp_segments += segments;
}

// The odds that a payload is lost whose segments are each lost with this probability: the kernel
// sends none again, as programs here ask for no retries.
double SimFabric::LossOf(const Packet& packet, double loss) {
  return packet.segments <= 1 ? loss : 1 - std::pow(1 - loss, packet.segments);
}

// A payload without an answer to wait for is reported all the same when it is not acknowledged.
void SimFabric::AwaitAcknowledge(Host& host, const mad::OutgoingMad& mad, Packet& packet) {
  packet.unacknowledged = next_serial_++;
  Unacknowledged& entry = host.unacknowledged[packet.unacknowledged];
  entry.agent = mad.agent;
  entry.to = mad.to;
  entry.header.assign(mad.payload.begin(), mad.payload.begin() + kMadHeaderBytes);
  entry.header.resize(wire::kMadBytes);
  const Duration wait = mad.timeout > Duration::zero() ? std::min(mad.timeout, kAcknowledgeTimeout)
                                                       : kAcknowledgeTimeout;
  Schedule({now_ + wait, Event::Kind::kNoAcknowledge, host.port, packet.unacknowledged, host.id});
}

// The whole payload has reached a program's agent.
void SimFabric::Acknowledge(const Packet& packet) {
  if (packet.unacknowledged == 0) return;
  const PortRef from = packet.origin ? packet.at : packet.from;
  if (Host* sender = FindHost({from.node, Device(from.node).ManagementPort(from.port)})) {
    sender->unacknowledged.erase(packet.unacknowledged);
  }
}

void SimFabric::ReportUnacknowledged(const Event& event) {
  Host* host = FindHost(event.port);
  if (host == nullptr || host->id != event.serial) return;  // Its program has ended.
  const auto found = host->unacknowledged.find(event.id);
  if (found == host->unacknowledged.end()) return;
  mad::IncomingMad incoming;
  incoming.kind = mad::IncomingMad::Kind::kTimedOut;
  incoming.agent = found->second.agent;
  incoming.from = found->second.to;
  incoming.payload = std::move(found->second.header);
  host->unacknowledged.erase(found);
  ++stats_.unacknowledged;
  Deliver({now_, event.port, std::move(incoming)});
}

}  // namespace fabricd::sim
