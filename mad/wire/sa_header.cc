// SPDX-License-Identifier: Apache-2.0
#include "mad/wire/sa_header.h"

#include "mad/wire/bytes.h"

namespace fabricd::wire {

SaHeader SaHeader::Decode(std::span<const uint8_t, kMadBytes> bytes) {
  const uint8_t* at = bytes.data();
  SaHeader header;
  header.mad = MadHeader::Decode(bytes);
  header.rmpp.version = at[24];
  header.rmpp.type = static_cast<RmppType>(at[25]);
  header.rmpp.response_time_value = Bits(at[26], 3, 5);
  header.rmpp.flags = Bits(at[26], 0, 3);
  header.rmpp.status = at[27];
  header.rmpp.data1 = Load32(at + 28);
  header.rmpp.data2 = Load32(at + 32);
  header.sm_key = SmKey(Load64(at + 36));
  header.attribute_offset = Load16(at + 44);
  header.component_mask = Load64(at + 48);
  return header;
}

void SaHeader::Encode(std::span<uint8_t, kMadBytes> bytes) const {
  mad.Encode(bytes);
  uint8_t* at = bytes.data();
  at[24] = rmpp.version;
  at[25] = static_cast<uint8_t>(rmpp.type);
  at[26] = PlaceBits(rmpp.response_time_value, 3, 5) | PlaceBits(rmpp.flags, 0, 3);
  at[27] = rmpp.status;
  Store32(at + 28, rmpp.data1);
  Store32(at + 32, rmpp.data2);
  Store64(at + 36, sm_key.value());
  Store16(at + 44, attribute_offset);
  Store16(at + 46, 0);
  Store64(at + 48, component_mask);
}

}  // namespace fabricd::wire
