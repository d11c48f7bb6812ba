// SPDX-License-Identifier: Apache-2.0
#include "telemetry/requests.h"

#include "mad/wire/perf.h"
#include "mad/wire/registers.h"
#include "mad/wire/smp.h"
#include "mad/wire/vendor_mad.h"
#include "mad/wire/vendor_smp.h"

namespace fabricd::telemetry {
namespace {

std::span<uint8_t, wire::kMadBytes> BytesOf(mad::OutgoingMad& out) {
  out.payload.resize(wire::kMadBytes);
  return std::span<uint8_t, wire::kMadBytes>(out.payload.data(), wire::kMadBytes);
}

void EncodePerf(wire::PerfAttribute attribute, PortNum port, TransactionId id,
                mad::OutgoingMad& out) {
  out.agent = mad::Agent::kPerf;
  wire::PerfMad perf;
  perf.attribute = attribute;
  perf.transaction_id = id.value();
  // PortSelect is at the same place in all attributes of a port (§1.1 of the reference).
  if (attribute != wire::PerfAttribute::kClassPortInfo) perf.data[1] = port.value();
  perf.Encode(BytesOf(out));
}

void EncodeVendor(wire::VendorAttribute attribute, TransactionId id, mad::OutgoingMad& out) {
  out.agent = mad::Agent::kVendor;
  wire::VendorMad vendor;
  vendor.attribute = attribute;
  vendor.transaction_id = id.value();
  vendor.Encode(BytesOf(out));
}

template <typename RegisterRequest>
void EncodeRegister(const RegisterRequest& request, uint16_t block, TransactionId id,
                    mad::OutgoingMad& out) {
  out.agent = mad::Agent::kVendor;
  wire::VendorMad vendor;
  vendor.attribute = wire::VendorAttribute::kAccessRegister;
  vendor.modifier = static_cast<uint32_t>(RegisterRequest::kRegister);
  vendor.transaction_id = id.value();
  wire::AccessRegister access;
  access.block = block;
  request.Encode(access.bytes);
  access.Encode(vendor.data);
  vendor.Encode(BytesOf(out));
}

void EncodeSmp(wire::AttributeId attribute, uint32_t modifier, TransactionId id,
               mad::OutgoingMad& out) {
  out.agent = mad::Agent::kSmpLid;
  out.to.qpn = 0;
  out.to.qkey = 0;
  wire::Smp smp;
  smp.method = wire::Method::kGet;
  smp.attribute = attribute;
  smp.modifier = modifier;
  smp.tid = id;
  smp.Encode(BytesOf(out));
}

}  // namespace

bool IsPolled(const fabric::Node& node, PortNum port) {
  const fabric::Port& of = node.port(port);
  return port.value() != 0 && of.known && of.info.port_state == wire::PortState::kActive;
}

mad::OutgoingMad MakeRequest(Ask ask, PortNum port, const GmpTarget& target, TransactionId id,
                             Duration timeout) {
  mad::OutgoingMad out;
  out.to.lid = target.lid;
  out.to.qpn = target.qpn;
  out.to.qkey = target.qkey;
  out.to.sl = target.sl;
  out.timeout = timeout;
  using wire::PddrPage;
  using wire::PerfAttribute;
  using wire::PpcntGroup;
  const auto ppcnt = [&](PpcntGroup group, uint16_t block) {
    EncodeRegister(wire::PpcntRequest{port.value(), group, 0}, block, id, out);
  };
  const auto pddr = [&](PddrPage page) {
    EncodeRegister(wire::PddrRequest{port.value(), page, 0, true}, 0, id, out);
  };
  switch (ask) {
    case Ask::kClassPortInfo: EncodePerf(PerfAttribute::kClassPortInfo, port, id, out); break;
    case Ask::kTick:
      // Any port of the device will do, but a CA has no port 0.
      EncodePerf(PerfAttribute::kPortSamplesControl, PortNum(1), id, out);
      break;
    case Ask::kExtended: EncodePerf(PerfAttribute::kPortCountersExtended, port, id, out); break;
    case Ask::kClassic: EncodePerf(PerfAttribute::kPortCounters, port, id, out); break;
    case Ask::kRcvErrorDetails:
      EncodePerf(PerfAttribute::kPortRcvErrorDetails, port, id, out);
      break;
    case Ask::kXmitDiscardDetails:
      EncodePerf(PerfAttribute::kPortXmitDiscardDetails, port, id, out);
      break;
    case Ask::kVendorInfo: EncodeVendor(wire::VendorAttribute::kGeneralInfo, id, out); break;
    case Ask::kVendorKey: EncodeVendor(wire::VendorAttribute::kKeyInfo, id, out); break;
    case Ask::kBer: ppcnt(PpcntGroup::kStatistical, 0); break;
    case Ask::kPhysical: ppcnt(PpcntGroup::kPhysical, 0); break;
    case Ask::kLinkDowns: ppcnt(PpcntGroup::kPhysical, wire::PpcntLinkDowns::kBlock); break;
    case Ask::kLinkDown: pddr(PddrPage::kLinkDown); break;
    case Ask::kModule: pddr(PddrPage::kModule); break;
    case Ask::kOperational: pddr(PddrPage::kOperational); break;
    case Ask::kMonitor: EncodeRegister(wire::PpbmcRequest{port.value()}, 0, id, out); break;
    case Ask::kSmpInfo:
      EncodeSmp(wire::GeneralInfo::kAttribute, wire::GeneralInfo::kModifier, id, out);
      break;
    case Ask::kExtPortInfo: EncodeSmp(wire::ExtPortInfo::kAttribute, port.value(), id, out); break;
  }
  return out;
}

}  // namespace fabricd::telemetry
