// SPDX-License-Identifier: Apache-2.0
#include "mad/replies.h"

#include <algorithm>
#include <span>

#include "mad/transactions.h"

namespace fabricd::mad {
namespace {

constexpr size_t kMKeyOffset = 24;
constexpr size_t kDrSlidOffset = 32;
constexpr size_t kDataOffset = 64;
constexpr uint16_t kDirectionBit = 0x8000;

bool IsSmpAgent(Agent agent) { return agent == Agent::kSmpDirected || agent == Agent::kSmpLid; }

bool IsRequest(wire::Method method) {
  return method == wire::Method::kGet || method == wire::Method::kSet;
}

// An answer to `request`: its bytes with another header, addressed to where it came from.
OutgoingMad Reply(const IncomingMad& request, const wire::MadHeader& header) {
  OutgoingMad reply;
  reply.to = request.from;
  reply.to.qpn = 0;
  reply.to.qkey = 0;
  reply.payload.assign(request.payload.begin(), request.payload.begin() + wire::kMadBytes);
  header.Encode(std::span<uint8_t, wire::kMadBytes>(reply.payload.data(), wire::kMadBytes));
  return reply;
}

// The same, with its status, on the path that the request took: D set on a directed route.
OutgoingMad ReplyAlongItsRoute(const IncomingMad& request, wire::Method method, uint16_t status) {
  wire::MadHeader header = wire::MadHeader::Decode(WholeMad(request.payload));
  const bool directed = header.management_class == wire::ManagementClass::kSubnDirectedRoute;
  header.method = method;
  header.status = static_cast<uint16_t>((status & ~kDirectionBit) | (directed ? kDirectionBit : 0));
  OutgoingMad reply = Reply(request, header);
  reply.agent = directed ? Agent::kSmpDirected : Agent::kSmpLid;
  // Without a LID routed part before the directed one the return path is directed to its end.
  if (directed && reply.payload[kDrSlidOffset] == 0xFF &&
      reply.payload[kDrSlidOffset + 1] == 0xFF) {
    reply.to.lid = kPermissiveLid;
  }
  return reply;
}

void PutMKey(std::vector<uint8_t>& payload, MKey key) {
  for (size_t byte = 0; byte < 8; ++byte) {
    payload[kMKeyOffset + byte] = static_cast<uint8_t>(key.value() >> (56 - 8 * byte));
  }
}

}  // namespace

bool IsForEngine(const IncomingMad& mad) {
  if (!IsSmpAgent(mad.agent) || mad.payload.size() < wire::kMadBytes) return false;
  const wire::MadHeader header = wire::MadHeader::Decode(WholeMad(mad.payload));
  if (IsTelemetryTransaction(header.tid())) return false;
  return mad.kind == IncomingMad::Kind::kReceived ? header.method == wire::Method::kGetResp
                                                  : IsRequest(header.method);
}

OutgoingMad MakeSmpResponse(const IncomingMad& request, const wire::Smp& response) {
  OutgoingMad reply = ReplyAlongItsRoute(request, wire::Method::kGetResp, response.status);
  PutMKey(reply.payload, response.m_key);
  std::copy(response.data.begin(), response.data.end(), reply.payload.begin() + kDataOffset);
  return reply;
}

OutgoingMad MakeTrapRepress(const IncomingMad& trap, MKey m_key) {
  OutgoingMad reply = ReplyAlongItsRoute(trap, wire::Method::kTrapRepress, wire::kStatusOk);
  PutMKey(reply.payload, m_key);
  return reply;
}

}  // namespace fabricd::mad
