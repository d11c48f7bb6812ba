// SPDX-License-Identifier: Apache-2.0
// Every decoder of mad/wire for PerfMgt, class 0x0A and vendor SMPs on any bytes. The first byte of
// the input selects the decoder, the rest is what came from the wire (cut, or filled with zeros, to
// its length).
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "common/check.h"
#include "mad/wire/class_port_info.h"
#include "mad/wire/perf.h"
#include "mad/wire/registers.h"
#include "mad/wire/vendor_mad.h"
#include "mad/wire/vendor_smp.h"
#include "tests/fuzz/bytes.h"

namespace fabricd::wire {
namespace {

using test::Fit;

// The bytes of [begin, end) come back as they were received.
template <size_t kBytes>
void KeepsRange(size_t begin, size_t end, const std::array<uint8_t, kBytes>& sent,
                const std::array<uint8_t, kBytes>& received) {
  FABRICD_CHECK(std::equal(sent.begin() + begin, sent.begin() + end, received.begin() + begin));
}

void PerfMadStable(std::span<const uint8_t> input) {
  const MadBytes received = Fit<kMadBytes>(input);
  const std::optional<PerfMad> mad = PerfMad::Decode(received);
  FABRICD_CHECK(mad.has_value() == (received[1] == 0x04));
  if (!mad) return;
  MadBytes sent;
  sent.fill(0xEE);
  mad->Encode(sent);
  FABRICD_CHECK(PerfMad::Decode(sent) == mad);
  KeepsRange(2, 6, sent, received);
  KeepsRange(8, 18, sent, received);
  KeepsRange(20, 24, sent, received);
  KeepsRange(64, kMadBytes, sent, received);
  FABRICD_CHECK(!PerfAttributeName(mad->attribute).empty());
}

void VendorMadStable(std::span<const uint8_t> input) {
  const MadBytes received = Fit<kMadBytes>(input);
  const std::optional<VendorMad> mad = VendorMad::Decode(received);
  FABRICD_CHECK(mad.has_value() == (received[1] == 0x0A));
  if (!mad) return;
  MadBytes sent;
  sent.fill(0xEE);
  mad->Encode(sent);
  FABRICD_CHECK(VendorMad::Decode(sent) == mad);
  KeepsRange(2, 6, sent, received);
  KeepsRange(8, 18, sent, received);
  KeepsRange(20, kMadBytes, sent, received);
  FABRICD_CHECK(!VendorAttributeName(mad->attribute).empty());
}

// Decoding what was encoded gives the value back, and each byte of [kBegin, kEnd) too; from
// kZerosFrom on zeros are sent.
template <typename Attribute, size_t kBytes, size_t kBegin, size_t kEnd, size_t kZerosFrom = kEnd>
void Stable(std::span<const uint8_t> input) {
  const auto received = Fit<kBytes>(input);
  const Attribute value = Attribute::Decode(received);
  std::array<uint8_t, kBytes> sent;
  sent.fill(0xEE);
  value.Encode(sent);
  FABRICD_CHECK(Attribute::Decode(sent) == value);
  KeepsRange(kBegin, kEnd, sent, received);
  FABRICD_CHECK(
      std::all_of(sent.begin() + kZerosFrom, sent.end(), [](uint8_t b) { return b == 0; }));
}

// What a device returned in a register: the request before it comes back as it was.
template <typename Value, size_t kRequestBytes>
Value RegisterStable(std::span<const uint8_t> input) {
  const auto received = Fit<AccessRegister::kBlockBytes>(input);
  const Value value = Value::Decode(received);
  RegisterBlock sent = received;
  value.Encode(sent);
  FABRICD_CHECK(Value::Decode(sent) == value);
  KeepsRange(0, kRequestBytes, sent, received);
  return value;
}
template <typename Value, size_t kRequestBytes = 8>
void Register(std::span<const uint8_t> input) {
  RegisterStable<Value, kRequestBytes>(input);
}

void OperationalPage(std::span<const uint8_t> input) {
  const auto page = RegisterStable<PddrOperational, 8>(input);
  FABRICD_CHECK(!PddrFecModeName(page.fec_mode_active).empty());
}

void ModulePage(std::span<const uint8_t> input) {
  const auto page = RegisterStable<PddrModule, 8>(input);
  FABRICD_CHECK(page.vendor_name.size() <= 16 && page.part_number.find('\0') == std::string::npos);
  FABRICD_CHECK(page.length_metres().value_or(1) > 0 && page.length_metres().value_or(1) <= 6300);
  FABRICD_CHECK(page.max_power_watts().value_or(1) > 0);
  FABRICD_CHECK(page.max_power_watts().value_or(1) < 64);
  FABRICD_CHECK(!CableTypeName(page.cable_type).empty());
  FABRICD_CHECK(!CableIdentifierName(page.identifier).empty());
}

void LinkDownPage(std::span<const uint8_t> input) {
  const auto page = RegisterStable<PddrLinkDown, 8>(input);
  FABRICD_CHECK(!LinkDownReasonName(page.local_reason).empty());
}

void Statistical(std::span<const uint8_t> input) {
  const auto counters = RegisterStable<PpcntStatistical, 8>(input);
  FABRICD_CHECK(counters.raw_ber.value() >= 0 && counters.raw_ber.value() <= 15);
}

// Whatever it was decoded from, a request that is sent changes nothing in the device: beside port
// and page there are only zeros.
template <typename Request>
void RequestStable(std::span<const uint8_t> input) {
  Stable<Request, AccessRegister::kBlockBytes, 1, 2, 8>(input);
  RegisterBlock sent;
  Request::Decode(Fit<AccessRegister::kBlockBytes>(input)).Encode(sent);
  FABRICD_CHECK(!ClearsCounters(sent) && (sent[4] & ~0x20) == 0);
}

template <typename Attribute, size_t kBegin, size_t kEnd>
constexpr auto kPerf = Stable<Attribute, kPerfDataBytes, kBegin, kEnd>;
template <typename Attribute, size_t kBegin, size_t kEnd>
constexpr auto kVendor = Stable<Attribute, kVendorDataBytes, kBegin, kEnd>;
template <typename Attribute, size_t kBegin, size_t kEnd, size_t kZerosFrom = kEnd>
constexpr auto kSmp = Stable<Attribute, kSmpDataBytes, kBegin, kEnd, kZerosFrom>;

// The place in this table is the selector: add at the end only, or the corpus loses its meaning.
constexpr void (*kDecoders[])(std::span<const uint8_t>) = {
    PerfMadStable,
    kPerf<ClassPortInfo, 0, ClassPortInfo::kBytes>,
    kPerf<PortSamplesControl, 12, 28>,
    kPerf<PortCounters, 1, 44>,
    kPerf<PortCountersExtended, 1, 184>,
    kPerf<PortRcvErrorDetails, 1, 16>,
    kPerf<PortXmitDiscardDetails, 1, 12>,
    kPerf<PortExtendedSpeedsCounters, 8, 140>,
    kPerf<PortExtendedSpeedsCountersRsFec, 140, 152>,
    VendorMadStable,
    kVendor<GmpGeneralInfo, 0x80, 0x90>,
    kVendor<KeyInfo, 10, 14>,
    kVendor<AccessRegister, 4, kVendorDataBytes>,
    RequestStable<PpcntRequest>,
    RequestStable<PddrRequest>,
    RequestStable<PpbmcRequest>,
    Register<PpcntPhysical>,
    Register<PpcntLinkDowns, 0>,
    Statistical,
    Register<PpcntRecovery>,
    OperationalPage,
    ModulePage,
    LinkDownPage,
    Register<Ppbmc, 2>,
    kSmp<GeneralInfo, 0, 16>,
    kSmp<ExtPortInfo, 3, 8, 20>,
    kSmp<ArInfo, 16, 21, 28>,
};

}  // namespace
}  // namespace fabricd::wire

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using fabricd::wire::kDecoders;
  if (size == 0 || data[0] >= std::size(kDecoders)) return 0;
  kDecoders[data[0]]({data + 1, size - 1});
  return 0;
}
