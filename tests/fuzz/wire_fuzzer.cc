// SPDX-License-Identifier: Apache-2.0
// Every decoder of mad/wire for SMPs and SA on any bytes. The first byte of the input selects the
// decoder, the rest is what came from the wire (cut, or filled with zeros, to its length).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "common/check.h"
#include "mad/wire/class_port_info.h"
#include "mad/wire/node_info.h"
#include "mad/wire/notice.h"
#include "mad/wire/port_info.h"
#include "mad/wire/port_info_extended.h"
#include "mad/wire/sa_components.h"
#include "mad/wire/sa_header.h"
#include "mad/wire/sa_path_records.h"
#include "mad/wire/sa_records.h"
#include "mad/wire/sa_state_records.h"
#include "mad/wire/sm_info.h"
#include "mad/wire/smp.h"
#include "mad/wire/switch_info.h"
#include "mad/wire/tables.h"
#include "tests/fuzz/bytes.h"

namespace fabricd::wire {
namespace {

using test::Fit;

// The first `kept` bytes come back as they were sent; what is behind is reserved, and sent as zero.
// (Stable() below has shown that nothing more is lost the second time.)
void KeepsFirst(size_t kept, const SmpData& sent, std::span<const uint8_t> input) {
  const SmpData received = Fit<kSmpDataBytes>(input);
  FABRICD_CHECK(std::equal(sent.begin(), sent.begin() + kept, received.begin()));
  FABRICD_CHECK(std::all_of(sent.begin() + kept, sent.end(), [](uint8_t b) { return b == 0; }));
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
  FABRICD_CHECK(RateOf(ActiveSpeed(info), 1).signal <= 212.5);
  FABRICD_CHECK(RateOf(BestSupportedSpeed(info), 1).signal <= 212.5);
  FABRICD_CHECK(MtuBytes(info.mtu_cap) <= 4096 && DataVls(info.vl_cap) <= 15);
  FABRICD_CHECK(!PortStateName(info.port_state).empty());
  FABRICD_CHECK(!PortPhysicalStateName(info.port_physical_state).empty());
}

void NoticeIdentity(std::span<const uint8_t> input) {
  Identity<Notice>(input);
  const Notice notice = Notice::Decode(Fit<kSmpDataBytes>(input));
  FABRICD_CHECK(notice.generic || (!notice.subject_lid() && !notice.subject_port()));
}

template <typename Attribute, size_t kBytes>
void IdentityOfFirst(std::span<const uint8_t> input) {
  KeepsFirst(kBytes, Stable<Attribute>(input), input);
}

// Up to its first 0 the text is what was sent; behind it there is nothing but zeros.
void NodeDescriptionStable(std::span<const uint8_t> input) {
  const SmpData sent = Stable<NodeDescription>(input);
  const std::string text = NodeDescription::Decode(Fit<kSmpDataBytes>(input)).text;
  FABRICD_CHECK(text.find('\0') == std::string::npos);
  KeepsFirst(text.size(), sent, input);
}

// The VL of an entry is 4 bits of its byte; the other 4 are reserved.
void VlArbitrationStable(std::span<const uint8_t> input) {
  const SmpData sent = Stable<VlArbitrationTable>(input);
  const SmpData received = Fit<kSmpDataBytes>(input);
  for (size_t at = 0; at < sent.size(); ++at) {
    FABRICD_CHECK(sent[at] == (at % 2 == 0 ? received[at] & 0xF : received[at]), "byte {}", at);
  }
}

// The bytes of [begin, end) come back as they were received.
void KeepsRange(size_t begin, size_t end, const MadBytes& sent, const MadBytes& received) {
  FABRICD_CHECK(std::equal(sent.begin() + begin, sent.begin() + end, received.begin() + begin));
}

// All but the reserved bytes.
void HeaderStable(std::span<const uint8_t> input) {
  const MadBytes received = Fit<kMadBytes>(input);
  const MadHeader header = MadHeader::Decode(received);
  MadBytes sent{};
  header.Encode(sent);
  FABRICD_CHECK(MadHeader::Decode(sent) == header);
  KeepsRange(0, 18, sent, received);
  KeepsRange(20, 24, sent, received);
  FABRICD_CHECK(!AttributeName(header.attribute).empty() && !MethodName(header.method).empty());
}

void SaHeaderStable(std::span<const uint8_t> input) {
  const MadBytes received = Fit<kMadBytes>(input);
  const SaHeader header = SaHeader::Decode(received);
  MadBytes sent{};
  header.Encode(sent);
  FABRICD_CHECK(SaHeader::Decode(sent) == header);
  KeepsRange(0, 18, sent, received);
  KeepsRange(20, 46, sent, received);
  KeepsRange(48, kSaDataAt, sent, received);
}

// What is lost of a record are reserved bits, the same the second time; and a query for exactly
// that record, whatever its mask, finds it.
template <typename Record>
void RecordStable(std::span<const uint8_t> input) {
  const Record record = Record::Decode(Fit<Record::kBytes>(input));
  RecordBytes<Record> sent;
  sent.fill(0xEE);
  record.Encode(sent);
  FABRICD_CHECK(Record::Decode(sent) == record);
  const RecordLayout* layout = LayoutOf(static_cast<SaAttribute>(Record::kAttribute));
  if (layout == nullptr) return;
  FABRICD_CHECK(layout->bytes == sent.size() && layout->bytes <= RecordMatcher::kMostBytes);
  const uint64_t mask = input.size() < 8 ? ~uint64_t{0} : uint64_t{input[0]} << 56 | input[7];
  FABRICD_CHECK(RecordMatcher(*layout, mask, sent).Matches(sent));
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
    IdentityOfFirst<NodeInfo, 40>,
    NodeDescriptionStable,
    PortInfoIdentity,
    Identity<PortInfoExtended>,
    Identity<SwitchInfo>,
    IdentityOfFirst<SmInfo, 21>,
    NoticeIdentity,
    Identity<GuidInfo>,
    Identity<PKeyTable>,
    IdentityOfFirst<SlToVlMappingTable, 8>,
    VlArbitrationStable,
    Identity<LinearForwardingTable>,
    Identity<MulticastForwardingTable>,
    Identity<SwitchPortStateTable>,
    RecordStable<NodeRecord>,
    RecordStable<PortInfoRecord>,
    RecordStable<SlToVlMappingTableRecord>,
    RecordStable<SwitchInfoRecord>,
    RecordStable<LinearForwardingTableRecord>,
    RecordStable<MulticastForwardingTableRecord>,
    RecordStable<SmInfoRecord>,
    RecordStable<LinkRecord>,
    RecordStable<GuidInfoRecord>,
    RecordStable<PKeyTableRecord>,
    RecordStable<VlArbitrationTableRecord>,
    RecordStable<PathRecord>,
    RecordStable<MultiPathRecord>,
    RecordStable<TraceRecord>,
    RecordStable<ServiceRecord>,
    RecordStable<McMemberRecord>,
    RecordStable<InformInfo>,
    RecordStable<InformInfoRecord>,
    RecordStable<ClassPortInfo>,
};

}  // namespace
}  // namespace fabricd::wire

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using fabricd::wire::kDecoders;
  if (size == 0 || data[0] >= std::size(kDecoders)) return 0;
  kDecoders[data[0]]({data + 1, size - 1});
  return 0;
}
