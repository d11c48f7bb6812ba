// SPDX-License-Identifier: Apache-2.0
// Every decoder of mad/wire on any bytes. The first byte of the input selects the decoder, the rest
// is what came from the wire (cut, or filled with zeros, to its length).
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "common/check.h"
#include "mad/wire/node_info.h"
#include "mad/wire/notice.h"
#include "mad/wire/port_info.h"
#include "mad/wire/port_info_extended.h"
#include "mad/wire/sa_header.h"
#include "mad/wire/sm_info.h"
#include "mad/wire/smp.h"
#include "mad/wire/switch_info.h"
#include "mad/wire/tables.h"

namespace fabricd::wire {
namespace {

template <size_t kBytes>
std::array<uint8_t, kBytes> Fit(std::span<const uint8_t> input) {
  std::array<uint8_t, kBytes> bytes{};
  std::copy_n(input.begin(), std::min(input.size(), kBytes), bytes.begin());
  return bytes;
}

// Decoding what was encoded gives the value back, whatever a device sent.
template <typename Attribute>
SmpData Stable(std::span<const uint8_t> input) {
  const Attribute value = Attribute::Decode(Fit<kSmpDataBytes>(input));
  SmpData sent;
  sent.fill(0xEE);
  value.Encode(sent);
  FABRICD_CHECK(Attribute::Decode(sent) == value);
  return sent;
}

// Nothing of the 64 bytes is lost.
template <typename Attribute>
void Identity(std::span<const uint8_t> input) {
  FABRICD_CHECK(Stable<Attribute>(input) == Fit<kSmpDataBytes>(input));
}

void PortInfoIdentity(std::span<const uint8_t> input) {
  Identity<PortInfo>(input);
  const PortInfo info = PortInfo::Decode(Fit<kSmpDataBytes>(input));
  FABRICD_CHECK(ActiveWidth(info) <= 12 && BestSupportedWidth(info) <= 12);
  FABRICD_CHECK(LaneGigabits(ActiveSpeed(info)) <= 200);
  FABRICD_CHECK(LaneGigabits(BestSupportedSpeed(info)) <= 200);
  FABRICD_CHECK(MtuBytes(info.mtu_cap) <= 4096 && DataVls(info.vl_cap) <= 15);
  FABRICD_CHECK(!PortStateName(info.port_state).empty());
  FABRICD_CHECK(!PortPhysicalStateName(info.port_physical_state).empty());
}

void NoticeIdentity(std::span<const uint8_t> input) {
  Identity<Notice>(input);
  const Notice notice = Notice::Decode(Fit<kSmpDataBytes>(input));
  FABRICD_CHECK(notice.generic || (!notice.subject_lid() && !notice.subject_port()));
}

void HeaderStable(std::span<const uint8_t> input) {
  const MadHeader header = MadHeader::Decode(Fit<kMadBytes>(input));
  MadBytes sent{};
  header.Encode(sent);
  FABRICD_CHECK(MadHeader::Decode(sent) == header);
  FABRICD_CHECK(!AttributeName(header.attribute).empty() && !MethodName(header.method).empty());
}

void SaHeaderStable(std::span<const uint8_t> input) {
  const SaHeader header = SaHeader::Decode(Fit<kMadBytes>(input));
  MadBytes sent{};
  header.Encode(sent);
  FABRICD_CHECK(SaHeader::Decode(sent) == header);
}

// Encoding is canonical: it may drop reserved bytes once, and never anything more.
void SmpStable(std::span<const uint8_t> input) {
  const MadBytes received = Fit<kMadBytes>(input);
  const std::optional<Smp> smp = Smp::Decode(received);
  if (!smp) return;
  MadBytes sent;
  sent.fill(0xEE);
  smp->Encode(sent);
  FABRICD_CHECK(std::equal(sent.begin() + 64, sent.begin() + 128, received.begin() + 64));
  FABRICD_CHECK(std::equal(sent.begin() + 3, sent.begin() + 6, received.begin() + 3));
  FABRICD_CHECK(std::equal(sent.begin() + 8, sent.begin() + 18, received.begin() + 8));
  FABRICD_CHECK(std::equal(sent.begin() + 20, sent.begin() + 32, received.begin() + 20));
  const std::optional<Smp> again = Smp::Decode(sent);
  FABRICD_CHECK(again.has_value() && again->path == smp->path);
  FABRICD_CHECK(!smp->path || !smp->path->ToString().empty());
  MadBytes twice;
  again->Encode(twice);
  FABRICD_CHECK(twice == sent);
}

// The place in this table is the selector: add at the end only, or the corpus loses its meaning.
constexpr void (*kDecoders[])(std::span<const uint8_t>) = {
    HeaderStable,
    SmpStable,
    SaHeaderStable,
    [](std::span<const uint8_t> input) { Stable<NodeInfo>(input); },
    [](std::span<const uint8_t> input) { Stable<NodeDescription>(input); },
    PortInfoIdentity,
    Identity<PortInfoExtended>,
    Identity<SwitchInfo>,
    [](std::span<const uint8_t> input) { Stable<SmInfo>(input); },
    NoticeIdentity,
    Identity<GuidInfo>,
    Identity<PKeyTable>,
    [](std::span<const uint8_t> input) { Stable<SlToVlMappingTable>(input); },
    [](std::span<const uint8_t> input) { Stable<VlArbitrationTable>(input); },
    Identity<LinearForwardingTable>,
    Identity<MulticastForwardingTable>,
    Identity<SwitchPortStateTable>,
};

}  // namespace
}  // namespace fabricd::wire

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using fabricd::wire::kDecoders;
  if (size == 0 || data[0] >= std::size(kDecoders)) return 0;
  kDecoders[data[0]]({data + 1, size - 1});
  return 0;
}
