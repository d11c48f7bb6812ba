// SPDX-License-Identifier: Apache-2.0
#include "mad/wire/vendor_mad.h"

#include <algorithm>

#include "mad/wire/bytes.h"

namespace fabricd::wire {

namespace {

constexpr size_t kVsKeyAt = 24;
constexpr size_t kVendorDataAt = 32;
constexpr size_t kGmpCapabilitiesAt = 0x80;
constexpr size_t kRegisterAt = 4;

void ClearVendorData(std::span<uint8_t, kVendorDataBytes> data) {
  std::fill(data.begin(), data.end(), uint8_t{0});
}

}  // namespace

std::string_view VendorAttributeName(VendorAttribute attribute) {
  switch (attribute) {
    case VendorAttribute::kClassPortInfo: return "ClassPortInfo";
    case VendorAttribute::kKeyInfo: return "KeyInfo";
    case VendorAttribute::kGeneralInfo: return "GeneralInfo";
    case VendorAttribute::kAccessRegister: return "AccessRegister";
  }
  return "unknown";
}

std::optional<VendorMad> VendorMad::Decode(std::span<const uint8_t, kMadBytes> bytes) {
  const MadHeader header = MadHeader::Decode(bytes);
  if (header.management_class != ManagementClass::kVendor) return std::nullopt;
  std::optional<VendorMad> mad(std::in_place);
  mad->class_version = header.class_version;
  mad->method = header.method;
  mad->status = header.status;
  mad->transaction_id = header.transaction_id;
  mad->attribute = static_cast<VendorAttribute>(header.attribute);
  mad->modifier = header.modifier;
  mad->vs_key = VsKey(Load64(bytes.data() + kVsKeyAt));
  std::copy_n(bytes.begin() + kVendorDataAt, kVendorDataBytes, mad->data.begin());
  return mad;
}

void VendorMad::Encode(std::span<uint8_t, kMadBytes> bytes) const {
  MadHeader header;
  header.management_class = ManagementClass::kVendor;
  header.class_version = class_version;
  header.method = method;
  header.status = status;
  header.transaction_id = transaction_id;
  header.attribute = static_cast<AttributeId>(attribute);
  header.modifier = modifier;
  header.Encode(bytes);
  Store64(bytes.data() + kVsKeyAt, vs_key.value());
  std::copy(data.begin(), data.end(), bytes.begin() + kVendorDataAt);
}

GmpGeneralInfo GmpGeneralInfo::Decode(std::span<const uint8_t, kBytes> data) {
  GmpGeneralInfo info;
  for (size_t i = 0; i < info.capabilities.words.size(); ++i) {
    info.capabilities.words[i] = Load32(data.data() + kGmpCapabilitiesAt + 4 * i);
  }
  return info;
}

void GmpGeneralInfo::Encode(std::span<uint8_t, kBytes> data) const {
  ClearVendorData(data);
  for (size_t i = 0; i < capabilities.words.size(); ++i) {
    Store32(data.data() + kGmpCapabilitiesAt + 4 * i, capabilities.words[i]);
  }
}

KeyInfo KeyInfo::Decode(std::span<const uint8_t, kBytes> data) {
  const uint8_t* at = data.data();
  KeyInfo info;
  info.key = VsKey(Load64(at));
  info.protect = Bits(at[8], 7, 1) != 0;
  info.lease_period = Load16(at + 10);
  info.violations = Load16(at + 12);
  return info;
}

void KeyInfo::Encode(std::span<uint8_t, kBytes> data) const {
  ClearVendorData(data);
  uint8_t* at = data.data();
  Store64(at, key.value());
  at[8] = PlaceBits(protect, 7, 1);
  Store16(at + 10, lease_period);
  Store16(at + 12, violations);
}

AccessRegister AccessRegister::Decode(std::span<const uint8_t, kBytes> data) {
  AccessRegister access;
  access.block = Load16(data.data());
  std::copy_n(data.begin() + kRegisterAt, kBlockBytes, access.bytes.begin());
  return access;
}

void AccessRegister::Encode(std::span<uint8_t, kBytes> data) const {
  Store16(data.data(), block);
  Store16(data.data() + 2, 0);
  std::copy(bytes.begin(), bytes.end(), data.begin() + kRegisterAt);
}

}  // namespace fabricd::wire
