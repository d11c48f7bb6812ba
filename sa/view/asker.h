// SPDX-License-Identifier: Apache-2.0
// Asker: who sent a request, and what of the fabric it may see (IBA vol 1 §15.4.1): a trusted one,
// whose request carries the SM_Key, everything; others what shares a partition with them. The GUIDs
// by which it may name ports. And the records that answer it. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fabric/alias_guids.h"
#include "sa/view/view.h"

namespace fabricd::sa {

struct Asker {
  uint32_t end;  // Number in SaView::ends().
  bool trusted = false;
  const fabric::AliasGuids* aliases = nullptr;  // Null: there are none.

  bool MaySee(const SaView& view, const EndPort& other) const {
    const EndPort& own = view.ends()[end];
    return trusted || own.ref == other.ref || view.p_keys().Share(own.p_keys, other.p_keys);
  }
  // By its own GUID or an alias. EndPorts::kNone: no living port's.
  uint32_t FindPort(const SaView& view, Guid guid) const {
    const uint32_t number = view.ends().FindGuid(guid);
    if (number != EndPorts::kNone || aliases == nullptr) return number;
    const Guid port = aliases->PortOf(guid);
    return port ? view.ends().FindGuid(port) : EndPorts::kNone;
  }
};

// Encoded records, one behind the other.
class RecordTable {
 public:
  // A table beyond this is refused (ERR_NO_RESOURCES): a million paths.
  static constexpr size_t kMostBytes = size_t{64} << 20;

  // Appends to `bytes`, which holds the room for the header already.
  explicit RecordTable(std::vector<uint8_t>& bytes) : bytes_(bytes), begin_(bytes.size()) {}

  // Room for one more record of that many bytes, zeroed; nullptr: the table is full.
  uint8_t* Add(size_t record_bytes) {
    if (bytes_.size() - begin_ + record_bytes > kMostBytes) {
      is_full_ = true;
      return nullptr;
    }
    bytes_.resize(bytes_.size() + record_bytes);
    ++count_;
    return bytes_.data() + bytes_.size() - record_bytes;
  }
  // False: the table is full.
  template <typename Record>
  bool Append(const Record& record) {
    uint8_t* at = Add(Record::kBytes);
    if (at != nullptr) record.Encode(std::span<uint8_t, Record::kBytes>(at, Record::kBytes));
    return at != nullptr;
  }
  size_t count() const { return count_; }
  bool is_full() const { return is_full_; }  // More was added than there was room for.

 private:
  std::vector<uint8_t>& bytes_;
  size_t begin_, count_ = 0;
  bool is_full_ = false;
};

}  // namespace fabricd::sa
