// SPDX-License-Identifier: Apache-2.0
#include "mad/wire/class_port_info.h"

#include "mad/wire/bytes.h"

namespace fabricd::wire {

namespace {

constexpr size_t kRedirectAt = 8;
constexpr size_t kTrapAt = 40;

ClassPortInfo::Target DecodeTarget(const uint8_t* at) {
  ClassPortInfo::Target target;
  target.gid = {Load64(at), Load64(at + 8)};
  target.traffic_class = at[16];
  target.sl = ServiceLevel(Bits(at[17], 4, 4));
  target.flow_label = Load24(at + 17) & 0xFFFFF;
  target.lid = Lid(Load16(at + 20));
  target.p_key = PKey(Load16(at + 22));
  target.hop_limit = at[24];
  target.qpn = Load24(at + 25);
  target.q_key = Load32(at + 28);
  return target;
}

void EncodeTarget(const ClassPortInfo::Target& target, uint8_t* at) {
  Store64(at, target.gid.prefix);
  Store64(at + 8, target.gid.low);
  at[16] = target.traffic_class;
  Store24(at + 17, (target.sl.value() & 0xFu) << 20 | (target.flow_label & 0xFFFFF));
  Store16(at + 20, target.lid.value());
  Store16(at + 22, target.p_key.value());
  at[24] = target.hop_limit;
  Store24(at + 25, target.qpn);
  Store32(at + 28, target.q_key);
}

}  // namespace

ClassPortInfo ClassPortInfo::Decode(std::span<const uint8_t, kBytes> bytes) {
  const uint8_t* at = bytes.data();
  ClassPortInfo info;
  info.base_version = at[0];
  info.class_version = at[1];
  info.capability_mask = Load16(at + 2);
  info.capability_mask2 = Load32(at + 4) >> 5;
  info.response_time_value = Bits(at[7], 0, 5);
  info.redirect = DecodeTarget(at + kRedirectAt);
  info.trap = DecodeTarget(at + kTrapAt);
  return info;
}

void ClassPortInfo::Encode(std::span<uint8_t, kBytes> bytes) const {
  uint8_t* at = bytes.data();
  at[0] = base_version;
  at[1] = class_version;
  Store16(at + 2, capability_mask);
  Store32(at + 4, capability_mask2 << 5 | (response_time_value & 0x1Fu));
  EncodeTarget(redirect, at + kRedirectAt);
  EncodeTarget(trap, at + kTrapAt);
}

}  // namespace fabricd::wire
