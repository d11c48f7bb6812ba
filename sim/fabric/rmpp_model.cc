// SPDX-License-Identifier: Apache-2.0
#include "sim/fabric/rmpp_model.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "common/status.h"
#include "mad/wire/mad_header.h"
#include "mad/wire/sa_header.h"

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

absl::Status RmppModel::CheckPayload(const mad::OutgoingMad& mad) {
  if (mad.payload.size() == wire::kMadBytes || UsesRmpp(mad)) return absl::OkStatus();
  return InvalidArgument("a MAD of {} bytes without RMPP", mad.payload.size());
}

uint32_t RmppModel::Segment(mad::OutgoingMad& mad) {
  if (!UsesRmpp(mad)) return 0;
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
  stats_.rmpp_segments += segments;
  return static_cast<uint32_t>(segments);
}

double RmppModel::LossOf(const Packet& packet, double loss) {
  if (packet.segments == 0) return loss;
  if (packet.retries > 0) loss = std::pow(loss, packet.retries + 1);
  return packet.segments == 1 ? loss : 1 - std::pow(1 - loss, packet.segments);
}

uint64_t RmppModel::Await(PortRef host, const mad::OutgoingMad& mad) {
  const uint64_t number = queue_.NextSerial();
  Sent& entry = sent_[number];
  entry.host = host;
  entry.agent = mad.agent;
  entry.to = mad.to;
  entry.header.assign(mad.payload.begin(), mad.payload.begin() + kMadHeaderBytes);
  entry.header.resize(wire::kMadBytes);
  entry.always_reported = mad.timeout > Duration::zero();
  const Duration wait =
      entry.always_reported ? std::min(mad.timeout, kAcknowledgeTimeout) : kAcknowledgeTimeout;
  queue_.Schedule(
      {queue_.now() + wait * (mad.retries + 1), Event::Kind::kNoAcknowledgement, host, number, 0});
  return number;
}

void RmppModel::Acknowledge(uint64_t number) {
  const auto found = sent_.find(number);
  if (found == sent_.end()) return;
  if (found->second.always_reported)
    found->second.acknowledged = true;
  else
    sent_.erase(found);
}

std::optional<mad::IncomingMad> RmppModel::Run(const Event& event) {
  const auto found = sent_.find(event.id);
  if (found == sent_.end()) return std::nullopt;  // Acknowledged, or its program has ended.
  mad::IncomingMad incoming;
  incoming.kind = mad::IncomingMad::Kind::kTimedOut;
  incoming.agent = found->second.agent;
  incoming.from = found->second.to;
  incoming.payload = std::move(found->second.header);
  if (!found->second.acknowledged) ++stats_.unacknowledged;
  sent_.erase(found);
  return incoming;
}

void RmppModel::Forget(PortRef host) {
  absl::erase_if(sent_, [host](const auto& each) { return each.second.host == host; });
}

}  // namespace fabricd::sim
