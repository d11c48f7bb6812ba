// SPDX-License-Identifier: Apache-2.0
#include "mad/read_only_transport.h"

#include <fmt/format.h>

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

ReadOnlyTransport::ReadOnlyTransport(std::unique_ptr<Transport> inner, SmMode mode)
    : inner_(std::move(inner)), mode_(mode) {
  FABRICD_CHECK(!MayManage(mode), "a manager writes");
}

absl::Status ReadOnlyTransport::Send(const OutgoingMad& mad) {
  CheckReadOnly(mad, mode_);
  return inner_->Send(mad);
}

absl::Status ReadOnlyTransport::SetIsSm(bool is_sm) {
  FABRICD_CHECK(!is_sm || IsSeenByOthers(mode_), "IsSM in {} mode", SmModeName(mode_));
  return inner_->SetIsSm(is_sm);
}

}  // namespace fabricd::mad
