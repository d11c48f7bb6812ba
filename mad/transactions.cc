// SPDX-License-Identifier: Apache-2.0
#include "mad/transactions.h"

#include "mad/wire/mad_header.h"

namespace fabricd::mad {

bool EndsRequest(IncomingMad::Kind kind, uint8_t method) {
  if (method == static_cast<uint8_t>(wire::Method::kTrapRepress)) return false;
  return (kind == IncomingMad::Kind::kReceived) == ((method & wire::kResponseBit) != 0);
}

bool IsForTelemetry(const IncomingMad& mad) {
  if (mad.payload.size() < wire::kMadBytes) return false;
  const auto header = wire::MadHeader::Decode(WholeMad(mad.payload));
  return EndsRequest(mad.kind, static_cast<uint8_t>(header.method)) &&
         IsTelemetryTransaction(header.tid());
}

}  // namespace fabricd::mad
