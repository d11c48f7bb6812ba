// SPDX-License-Identifier: Apache-2.0
#include "sim/simulation/trace.h"

#include <utility>

#include <fmt/format.h>

namespace fabricd::sim {
namespace {

constexpr int kTimedOut = 110;  // ETIMEDOUT, as libibumad reports it.

std::string Line(Instant at, char kind, mad::Agent agent, const mad::Address& to, int status,
                 const std::vector<uint8_t>& payload, Duration timeout) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  hex.reserve(payload.size() * 2);
  for (uint8_t byte : payload) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n",
                     at.time_since_epoch().count(), kind, payload.size(), static_cast<int>(agent),
                     to.lid, status, hex, to.qpn, to.sl.value(), to.path_bits, to.pkey_index,
                     to.global ? 1 : 0,
                     std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count(),
                     /*retries*/ 0);
}

}  // namespace

Trace::Trace(PortRef host, Write write) : host_(host), write_(std::move(write)) {
  write_("# madtrace 1 pid 0 fabricsim\n");
}

void Trace::OnSend(Instant now, PortRef host, const mad::OutgoingMad& mad) {
  if (host == host_) write_(Line(now, 'S', mad.agent, mad.to, 0, mad.payload, mad.timeout));
}

void Trace::OnDelivery(const Delivery& delivery) {
  if (delivery.host != host_) return;
  const auto* mad = std::get_if<mad::IncomingMad>(&delivery.what);
  if (mad == nullptr) return;
  const int status = mad->kind == mad::IncomingMad::Kind::kReceived ? 0 : kTimedOut;
  write_(Line(delivery.at, 'R', mad->agent, mad->from, status, mad->payload, Duration::zero()));
}

void Trace::Mark(const std::string& text) { write_("# mark " + text + "\n"); }

}  // namespace fabricd::sim
