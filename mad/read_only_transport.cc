// SPDX-License-Identifier: Apache-2.0
#include "mad/read_only_transport.h"

#include <algorithm>

#include <fmt/format.h>

#include "mad/transactions.h"
#include "mad/wire/sm_info.h"
#include "mad/wire/smp.h"

namespace fabricd::mad {
namespace {

bool MayRead(wire::ManagementClass management_class) {
  switch (management_class) {
    case wire::ManagementClass::kSubnDirectedRoute:
    case wire::ManagementClass::kSubnLidRouted:
    case wire::ManagementClass::kPerf:
    case wire::ManagementClass::kVendor: return true;
    default: return false;
  }
}

// A response to a Get or Set of SMInfo that claims nothing.
bool IsInactiveSmInfo(const OutgoingMad& mad) {
  const auto smp = wire::Smp::Decode(WholeMad(mad.payload));
  return smp && smp->method == wire::Method::kGetResp &&
         smp->attribute == wire::AttributeId::kSmInfo &&
         wire::SmInfo::Decode(smp->data).state == wire::SmState::kNotActive;
}

bool IsDelivered(SmMode mode, const IncomingMad& mad) {
  if (mad.payload.size() < wire::kMadBytes) return false;
  const auto method = wire::MadHeader::Decode(WholeMad(mad.payload)).method;
  return EndsRequest(mad.kind, static_cast<uint8_t>(method)) ||
         ReceivesRequests(mode, mad.agent, method);
}

}  // namespace

std::string ReadOnlyFault(const OutgoingMad& mad, SmMode mode) {
  if (MayManage(mode)) return "";
  if (mad.payload.size() < wire::kMadBytes)
    return fmt::format("a MAD of {} bytes in {} mode", mad.payload.size(), SmModeName(mode));
  const auto header = wire::MadHeader::Decode(WholeMad(mad.payload));
  const bool is_get = header.method == wire::Method::kGet && MayRead(header.management_class);
  if (is_get || (IsSeenByOthers(mode) && IsInactiveSmInfo(mad))) return "";
  return fmt::format("{} {} of class {:#04x} in {} mode", wire::MethodName(header.method),
                     wire::AttributeName(header.attribute),
                     static_cast<unsigned>(header.management_class), SmModeName(mode));
}

void CheckReadOnly(const OutgoingMad& mad, SmMode mode) {
  const std::string fault = ReadOnlyFault(mad, mode);
  FABRICD_CHECK(fault.empty(), "{}", fault);
}

bool ReceivesRequests(SmMode mode, Agent agent, wire::Method method) {
  if (MayManage(mode)) return true;
  return IsSeenByOthers(mode) && agent != Agent::kSubnAdm &&
         (method == wire::Method::kGet || method == wire::Method::kSet);
}

ReadOnlyTransport::ReadOnlyTransport(Transport& inner, SmMode mode) : inner_(inner), mode_(mode) {
  FABRICD_CHECK(!MayManage(mode), "a manager writes");
}

absl::Status ReadOnlyTransport::Start(Sink sink) {
  return inner_.Start([mode = mode_, sink = std::move(sink)](std::span<Incoming> burst) {
    const auto end = std::remove_if(burst.begin(), burst.end(), [mode](const Incoming& each) {
      const auto* const mad = std::get_if<IncomingMad>(&each);
      return mad != nullptr && !IsDelivered(mode, *mad);
    });
    if (end != burst.begin()) sink(burst.first(end - burst.begin()));
  });
}

absl::Status ReadOnlyTransport::Send(const OutgoingMad& mad) {
  CheckReadOnly(mad, mode_);
  return inner_.Send(mad);
}

absl::Status ReadOnlyTransport::SetIsSm(bool is_sm) {
  FABRICD_CHECK(!is_sm || IsSeenByOthers(mode_), "IsSM in {} mode", SmModeName(mode_));
  return inner_.SetIsSm(is_sm);
}

}  // namespace fabricd::mad
