// SPDX-License-Identifier: Apache-2.0
#include "mad/wire/smp.h"

#include <algorithm>

#include <fmt/format.h>

#include "mad/wire/bytes.h"

namespace fabricd::wire {

namespace {

constexpr uint16_t kDirectionBit = 0x8000;
constexpr size_t kMKeyAt = 24;
constexpr size_t kDrSlidAt = 32;
constexpr size_t kDrDlidAt = 34;
constexpr size_t kDataAt = 64;
constexpr size_t kInitialPathAt = 128;
constexpr size_t kReturnPathAt = 192;

}  // namespace

std::string DirectedPath::ToString() const {
  std::string text = "0";
  for (uint8_t port : ports()) fmt::format_to(std::back_inserter(text), ",{}", port);
  return text;
}

std::optional<Smp> Smp::Decode(std::span<const uint8_t, kMadBytes> bytes) {
  const uint8_t* at = bytes.data();
  const MadHeader header = MadHeader::Decode(bytes);
  const bool directed = header.management_class == ManagementClass::kSubnDirectedRoute;
  if (!directed && header.management_class != ManagementClass::kSubnLidRouted) return std::nullopt;

  std::optional<Smp> decoded(std::in_place);
  Smp& smp = *decoded;
  smp.method = header.method;
  smp.tid = header.tid();
  smp.tid_high = static_cast<uint32_t>(header.transaction_id >> 32);
  smp.attribute = header.attribute;
  smp.modifier = header.modifier;
  smp.m_key = MKey(Load64(at + kMKeyAt));
  std::copy_n(at + kDataAt, kSmpDataBytes, smp.data.begin());
  if (!directed) {
    smp.status = header.status;
    return decoded;
  }
  const size_t hop_count = header.class_specific & 0xFF;
  if (hop_count > DirectedPath::kMaxHops) return std::nullopt;
  smp.status = header.status & static_cast<uint16_t>(~kDirectionBit);
  smp.returning = (header.status & kDirectionBit) != 0;
  smp.hop_pointer = static_cast<uint8_t>(header.class_specific >> 8);
  smp.dr_slid = Load16(at + kDrSlidAt);
  smp.dr_dlid = Load16(at + kDrDlidAt);
  smp.path = DirectedPath::FromPorts(bytes.subspan(kInitialPathAt + 1, hop_count));
  std::copy_n(at + kReturnPathAt, smp.return_path.size(), smp.return_path.begin());
  return decoded;
}

void Smp::Encode(std::span<uint8_t, kMadBytes> bytes) const {
  std::fill(bytes.begin(), bytes.end(), uint8_t{0});
  MadHeader header;
  header.management_class =
      path ? ManagementClass::kSubnDirectedRoute : ManagementClass::kSubnLidRouted;
  header.method = method;
  header.status = status;
  header.transaction_id = transaction_id();
  header.attribute = attribute;
  header.modifier = modifier;

  uint8_t* at = bytes.data();
  if (path) {
    header.status = (status & static_cast<uint16_t>(~kDirectionBit)) |
                    (returning ? kDirectionBit : uint16_t{0});
    header.class_specific = static_cast<uint16_t>(hop_pointer << 8 | path->hops());
    Store16(at + kDrSlidAt, dr_slid);
    Store16(at + kDrDlidAt, dr_dlid);
    std::copy_n(path->ports().begin(), path->hops(), at + kInitialPathAt + 1);
    std::copy_n(return_path.begin(), return_path.size(), at + kReturnPathAt);
  }
  header.Encode(bytes);
  Store64(at + kMKeyAt, m_key.value());
  std::copy_n(data.begin(), kSmpDataBytes, at + kDataAt);
}

}  // namespace fabricd::wire
