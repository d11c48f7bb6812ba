// SPDX-License-Identifier: Apache-2.0
#include "mad/wire/tables.h"

#include <algorithm>

#include "mad/wire/bytes.h"

namespace fabricd::wire {

GuidInfo GuidInfo::Decode(std::span<const uint8_t, kSmpDataBytes> data) {
  GuidInfo info;
  for (size_t i = 0; i < kEntries; ++i) info.guids[i] = Guid(Load64(data.data() + 8 * i));
  return info;
}

void GuidInfo::Encode(std::span<uint8_t, kSmpDataBytes> data) const {
  for (size_t i = 0; i < kEntries; ++i) Store64(data.data() + 8 * i, guids[i].value());
}

PKeyTable PKeyTable::Decode(std::span<const uint8_t, kSmpDataBytes> data) {
  PKeyTable table;
  for (size_t i = 0; i < kEntries; ++i) table.keys[i] = PKey(Load16(data.data() + 2 * i));
  return table;
}

void PKeyTable::Encode(std::span<uint8_t, kSmpDataBytes> data) const {
  for (size_t i = 0; i < kEntries; ++i) Store16(data.data() + 2 * i, keys[i].value());
}

SlToVlMappingTable SlToVlMappingTable::Decode(std::span<const uint8_t, kSmpDataBytes> data) {
  SlToVlMappingTable table;
  for (size_t sl = 0; sl < table.vl.size(); sl += 2) {
    table.vl[sl] = Bits(data[sl / 2], 4, 4);
    table.vl[sl + 1] = Bits(data[sl / 2], 0, 4);
  }
  return table;
}

void SlToVlMappingTable::Encode(std::span<uint8_t, kSmpDataBytes> data) const {
  std::fill(data.begin(), data.end(), uint8_t{0});
  for (size_t sl = 0; sl < vl.size(); sl += 2) {
    data[sl / 2] = PlaceBits(vl[sl], 4, 4) | PlaceBits(vl[sl + 1], 0, 4);
  }
}

VlArbitrationTable VlArbitrationTable::Decode(std::span<const uint8_t, kSmpDataBytes> data) {
  VlArbitrationTable table;
  for (size_t i = 0; i < table.entries.size(); ++i) {
    table.entries[i] = {.vl = Bits(data[2 * i], 0, 4), .weight = data[2 * i + 1]};
  }
  return table;
}

void VlArbitrationTable::Encode(std::span<uint8_t, kSmpDataBytes> data) const {
  for (size_t i = 0; i < entries.size(); ++i) {
    data[2 * i] = PlaceBits(entries[i].vl, 0, 4);
    data[2 * i + 1] = entries[i].weight;
  }
}

LinearForwardingTable LinearForwardingTable::Decode(std::span<const uint8_t, kSmpDataBytes> data) {
  LinearForwardingTable table;
  std::copy(data.begin(), data.end(), table.port.begin());
  return table;
}

void LinearForwardingTable::Encode(std::span<uint8_t, kSmpDataBytes> data) const {
  std::copy(port.begin(), port.end(), data.begin());
}

MulticastForwardingTable MulticastForwardingTable::Decode(
    std::span<const uint8_t, kSmpDataBytes> data) {
  MulticastForwardingTable table;
  for (size_t i = 0; i < kEntries; ++i) table.port_mask[i] = Load16(data.data() + 2 * i);
  return table;
}

void MulticastForwardingTable::Encode(std::span<uint8_t, kSmpDataBytes> data) const {
  for (size_t i = 0; i < kEntries; ++i) Store16(data.data() + 2 * i, port_mask[i]);
}

SwitchPortStateTable SwitchPortStateTable::Decode(std::span<const uint8_t, kSmpDataBytes> data) {
  SwitchPortStateTable table;
  for (size_t port = 0; port < kEntries; port += 2) {
    table.state[port] = Bits(data[port / 2], 4, 4);
    table.state[port + 1] = Bits(data[port / 2], 0, 4);
  }
  return table;
}

void SwitchPortStateTable::Encode(std::span<uint8_t, kSmpDataBytes> data) const {
  for (size_t port = 0; port < kEntries; port += 2) {
    data[port / 2] = PlaceBits(state[port], 4, 4) | PlaceBits(state[port + 1], 0, 4);
  }
}

}  // namespace fabricd::wire
