// SPDX-License-Identifier: Apache-2.0
// Rows of the durable client state: wire records as bytes, with big-endian numbers behind them;
// and GIDs as wire bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <fmt/format.h>

#include "common/gid.h"

namespace fabricd::sa {

inline std::string TextOf(Gid gid) { return fmt::format("{:016x}{:016x}", gid.prefix, gid.low); }

template <typename Record>
std::string BytesOf(const Record& record) {
  std::string bytes(Record::kBytes, '\0');
  record.Encode(
      std::span<uint8_t, Record::kBytes>(reinterpret_cast<uint8_t*>(bytes.data()), Record::kBytes));
  return bytes;
}
// REQUIRES: at least Record::kBytes.
template <typename Record>
Record RecordOf(const std::string& bytes) {
  return Record::Decode(std::span<const uint8_t, Record::kBytes>(
      reinterpret_cast<const uint8_t*>(bytes.data()), Record::kBytes));
}

inline void AppendNumber(uint64_t number, std::string& bytes) {
  for (int shift = 56; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(number >> shift));
}
// REQUIRES: 8 bytes from `at` on.
inline uint64_t NumberAt(const std::string& bytes, size_t at) {
  uint64_t number = 0;
  for (size_t i = 0; i < 8; ++i) number = number << 8 | static_cast<uint8_t>(bytes[at + i]);
  return number;
}

inline void StoreGid(Gid gid, uint8_t* at) {
  for (int i = 0; i < 8; ++i) {
    at[i] = static_cast<uint8_t>(gid.prefix >> (56 - 8 * i));
    at[8 + i] = static_cast<uint8_t>(gid.low >> (56 - 8 * i));
  }
}

}  // namespace fabricd::sa
