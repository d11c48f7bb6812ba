// SPDX-License-Identifier: Apache-2.0
#include "sim/fabric/global_header.h"

#include <algorithm>

namespace fabricd::sim {
namespace {

constexpr size_t kPayloadLengthAt = 4, kNextHeaderAt = 6, kHopLimitAt = 7;
constexpr size_t kSourceAt = 8, kDestinationAt = 24, kGidBytes = 16;
constexpr uint32_t kIpVersion = 6;
constexpr uint8_t kIbaTransport = 0x1B;
constexpr size_t kTransportBytes = 12 + 8 + 4;  // BTH, DETH and invariant CRC.
constexpr uint8_t kReplyHopLimit = 255;
constexpr Guid kSaGuid{0x0200000000000002};

void Store(uint64_t value, size_t bytes, uint8_t* at) {
  for (size_t i = 0; i < bytes; ++i) at[i] = static_cast<uint8_t>(value >> (8 * (bytes - 1 - i)));
}
uint64_t Load(const uint8_t* at, size_t bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes; ++i) value = value << 8 | at[i];
  return value;
}
Gid GidIn(std::span<const uint8_t> header, size_t at) {
  return {Load(header.data() + at, 8), Load(header.data() + at + 8, 8)};
}

}  // namespace

Gid GidAt(const SimPort& port, uint8_t index) {
  constexpr size_t kEntries = wire::GuidInfo::kEntries;
  if (index == 0) return {port.info.gid_prefix, port.guid.value()};
  if (index / kEntries >= port.guids.size()) return {};
  const Guid guid = port.guids[index / kEntries].guids[index % kEntries];
  return guid ? Gid{port.info.gid_prefix, guid.value()} : Gid();
}

std::vector<uint8_t> MakeGlobalHeader(const mad::GlobalRoute& route, Gid own,
                                      size_t payload_bytes) {
  std::vector<uint8_t> header(kGlobalHeaderBytes);
  Store(kIpVersion << 28 | uint32_t{route.traffic_class} << 20 | (route.flow_label & 0xFFFFF), 4,
        header.data());
  Store(kTransportBytes + payload_bytes, 2, header.data() + kPayloadLengthAt);
  header[kNextHeaderAt] = kIbaTransport;
  header[kHopLimitAt] = route.hop_limit;
  Store(own.prefix, 8, header.data() + kSourceAt);
  Store(own.low, 8, header.data() + kSourceAt + 8);
  Store(route.gid.prefix, 8, header.data() + kDestinationAt);
  Store(route.gid.low, 8, header.data() + kDestinationAt + 8);
  return header;
}

std::optional<mad::GlobalRoute> AnswerRoute(std::span<const uint8_t> header, const SimPort& port) {
  const uint64_t first = Load(header.data(), 4);
  mad::GlobalRoute route;
  route.gid = GidIn(header, kSourceAt);
  route.traffic_class = static_cast<uint8_t>(first >> 20);
  route.flow_label = first & 0xFFFFF;
  route.hop_limit = kReplyHopLimit;
  const Gid own = GidIn(header, kDestinationAt);
  if (own.guid() == kSaGuid) return route;
  const size_t count = std::max<size_t>(1, port.guids.size() * wire::GuidInfo::kEntries);
  for (size_t index = 0; index < count && index < 256; ++index) {
    route.gid_index = static_cast<uint8_t>(index);
    if (GidAt(port, route.gid_index).guid() == own.guid()) return route;
  }
  return std::nullopt;
}

void SwapGids(std::vector<uint8_t>& header) {
  if (header.size() < kGlobalHeaderBytes) return;
  std::swap_ranges(header.begin() + kSourceAt, header.begin() + kSourceAt + kGidBytes,
                   header.begin() + kDestinationAt);
}

}  // namespace fabricd::sim
