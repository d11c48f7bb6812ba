// SPDX-License-Identifier: Apache-2.0
#include "mad/wire/sa_records.h"

#include <algorithm>
#include <utility>

#include "mad/wire/bytes.h"
#include "mad/wire/sa_record_fields.h"

namespace fabricd::wire {
namespace {

template <typename T>
concept HasValueType = requires {
  typename T::Value;
};

constexpr size_t TotalBits(std::initializer_list<uint16_t> widths) {
  size_t bits = 0;
  for (uint16_t width : widths) bits += width;
  return bits;
}

class FieldReader {
 public:
  explicit FieldReader(const uint8_t* at) : at_(at) {}

  template <typename T>
  void Field(unsigned width, T& value) {
    if constexpr (std::is_same_v<T, Gid>) {
      value.prefix = Take(64);
      value.low = Take(64);
    } else if constexpr (HasValueType<T>) {
      value = T(static_cast<typename T::Value>(Take(width)));
    } else {
      value = static_cast<T>(Take(width));
    }
  }
  void Split(unsigned high, unsigned low, uint64_t& value) { value = Take(high + low); }
  void Reserved(unsigned width) { bit_ += width; }
  template <size_t kSize>
  void Bytes(std::array<uint8_t, kSize>& bytes) {
    std::copy_n(at_ + bit_ / 8, kSize, bytes.begin());
    bit_ += 8 * kSize;
  }
  template <typename T>
  void Attribute(T& attribute, std::initializer_list<uint16_t> widths) {
    const size_t bits = TotalBits(widths);
    SmpData data{};
    std::copy_n(at_ + bit_ / 8, bits / 8, data.begin());
    T decoded = T::Decode(data);
    attribute = std::move(decoded);
    bit_ += bits;
  }

 private:
  // Reads the bytes that the bits are in at once; where widths are constants this is one load.
  uint64_t Take(unsigned width) {
    const unsigned before = bit_ % 8;
    const unsigned bytes = (before + width + 7) / 8;  // At most 8: no field of 64 bits is askew.
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; ++i) value = value << 8 | at_[bit_ / 8 + i];
    value = value << (64 - 8 * bytes + before) >> (64 - width);
    bit_ += width;
    return value;
  }

  const uint8_t* at_;
  size_t bit_ = 0;
};

// Onto bytes that are all zero.
class FieldWriter {
 public:
  explicit FieldWriter(uint8_t* at) : at_(at) {}

  template <typename T>
  void Field(unsigned width, const T& value) {
    if constexpr (std::is_same_v<T, Gid>) {
      Put(64, value.prefix);
      Put(64, value.low);
    } else if constexpr (HasValueType<T>) {
      Put(width, value.value());
    } else {
      Put(width, static_cast<uint64_t>(value));
    }
  }
  void Split(unsigned high, unsigned low, uint64_t value) { Put(high + low, value); }
  void Reserved(unsigned width) { bit_ += width; }
  template <size_t kSize>
  void Bytes(const std::array<uint8_t, kSize>& bytes) {
    std::copy(bytes.begin(), bytes.end(), at_ + bit_ / 8);
    bit_ += 8 * kSize;
  }
  template <typename T>
  void Attribute(const T& attribute, std::initializer_list<uint16_t> widths) {
    SmpData data{};
    attribute.Encode(data);
    const size_t bits = TotalBits(widths);
    std::copy_n(data.begin(), bits / 8, at_ + bit_ / 8);
    bit_ += bits;
  }

 private:
  void Put(unsigned width, uint64_t value) {
    const unsigned before = bit_ % 8;
    const unsigned bytes = (before + width + 7) / 8;
    const uint64_t placed = value << (64 - width) >> before;
    for (unsigned i = 0; i < bytes; ++i)
      at_[bit_ / 8 + i] |= static_cast<uint8_t>(placed >> (56 - 8 * i));
    bit_ += width;
  }

  uint8_t* at_;
  size_t bit_ = 0;
};

template <typename Record>
Record DecodeFields(std::span<const uint8_t, Record::kBytes> bytes) {
  Record record;
  FieldReader reader(bytes.data());
  VisitFields(reader, record);
  return record;
}

template <typename Record>
void EncodeFields(const Record& record, std::span<uint8_t, Record::kBytes> bytes) {
  std::fill(bytes.begin(), bytes.end(), uint8_t{0});
  FieldWriter writer(bytes.data());
  VisitFields(writer, record);
}

}  // namespace

NodeRecord NodeRecord::Decode(std::span<const uint8_t, kBytes> bytes) {
  return DecodeFields<NodeRecord>(bytes);
}
void NodeRecord::Encode(std::span<uint8_t, kBytes> bytes) const { EncodeFields(*this, bytes); }

PortInfoRecord PortInfoRecord::Decode(std::span<const uint8_t, kBytes> bytes) {
  return DecodeFields<PortInfoRecord>(bytes);
}
void PortInfoRecord::Encode(std::span<uint8_t, kBytes> bytes) const { EncodeFields(*this, bytes); }

SlToVlMappingTableRecord SlToVlMappingTableRecord::Decode(std::span<const uint8_t, kBytes> bytes) {
  return DecodeFields<SlToVlMappingTableRecord>(bytes);
}
void SlToVlMappingTableRecord::Encode(std::span<uint8_t, kBytes> bytes) const {
  EncodeFields(*this, bytes);
}

SwitchInfoRecord SwitchInfoRecord::Decode(std::span<const uint8_t, kBytes> bytes) {
  return DecodeFields<SwitchInfoRecord>(bytes);
}
void SwitchInfoRecord::Encode(std::span<uint8_t, kBytes> bytes) const {
  EncodeFields(*this, bytes);
}

LinearForwardingTableRecord LinearForwardingTableRecord::Decode(
    std::span<const uint8_t, kBytes> bytes) {
  return DecodeFields<LinearForwardingTableRecord>(bytes);
}
void LinearForwardingTableRecord::Encode(std::span<uint8_t, kBytes> bytes) const {
  EncodeFields(*this, bytes);
}

MulticastForwardingTableRecord MulticastForwardingTableRecord::Decode(
    std::span<const uint8_t, kBytes> bytes) {
  return DecodeFields<MulticastForwardingTableRecord>(bytes);
}
void MulticastForwardingTableRecord::Encode(std::span<uint8_t, kBytes> bytes) const {
  EncodeFields(*this, bytes);
}

SmInfoRecord SmInfoRecord::Decode(std::span<const uint8_t, kBytes> bytes) {
  return DecodeFields<SmInfoRecord>(bytes);
}
void SmInfoRecord::Encode(std::span<uint8_t, kBytes> bytes) const { EncodeFields(*this, bytes); }

LinkRecord LinkRecord::Decode(std::span<const uint8_t, kBytes> bytes) {
  return DecodeFields<LinkRecord>(bytes);
}
void LinkRecord::Encode(std::span<uint8_t, kBytes> bytes) const { EncodeFields(*this, bytes); }

GuidInfoRecord GuidInfoRecord::Decode(std::span<const uint8_t, kBytes> bytes) {
  return DecodeFields<GuidInfoRecord>(bytes);
}
void GuidInfoRecord::Encode(std::span<uint8_t, kBytes> bytes) const { EncodeFields(*this, bytes); }

PKeyTableRecord PKeyTableRecord::Decode(std::span<const uint8_t, kBytes> bytes) {
  return DecodeFields<PKeyTableRecord>(bytes);
}
void PKeyTableRecord::Encode(std::span<uint8_t, kBytes> bytes) const { EncodeFields(*this, bytes); }

VlArbitrationTableRecord VlArbitrationTableRecord::Decode(std::span<const uint8_t, kBytes> bytes) {
  return DecodeFields<VlArbitrationTableRecord>(bytes);
}
void VlArbitrationTableRecord::Encode(std::span<uint8_t, kBytes> bytes) const {
  EncodeFields(*this, bytes);
}

PathRecord PathRecord::Decode(std::span<const uint8_t, kBytes> bytes) {
  return DecodeFields<PathRecord>(bytes);
}
void PathRecord::Encode(std::span<uint8_t, kBytes> bytes) const { EncodeFields(*this, bytes); }

MultiPathRecord MultiPathRecord::Decode(std::span<const uint8_t, kBytes> bytes) {
  return DecodeFields<MultiPathRecord>(bytes);
}
void MultiPathRecord::Encode(std::span<uint8_t, kBytes> bytes) const { EncodeFields(*this, bytes); }

TraceRecord TraceRecord::Decode(std::span<const uint8_t, kBytes> bytes) {
  return DecodeFields<TraceRecord>(bytes);
}
void TraceRecord::Encode(std::span<uint8_t, kBytes> bytes) const { EncodeFields(*this, bytes); }

ServiceRecord ServiceRecord::Decode(std::span<const uint8_t, kBytes> bytes) {
  return DecodeFields<ServiceRecord>(bytes);
}
void ServiceRecord::Encode(std::span<uint8_t, kBytes> bytes) const { EncodeFields(*this, bytes); }

McMemberRecord McMemberRecord::Decode(std::span<const uint8_t, kBytes> bytes) {
  return DecodeFields<McMemberRecord>(bytes);
}
void McMemberRecord::Encode(std::span<uint8_t, kBytes> bytes) const { EncodeFields(*this, bytes); }

InformInfo InformInfo::Decode(std::span<const uint8_t, kBytes> bytes) {
  return DecodeFields<InformInfo>(bytes);
}
void InformInfo::Encode(std::span<uint8_t, kBytes> bytes) const { EncodeFields(*this, bytes); }

InformInfoRecord InformInfoRecord::Decode(std::span<const uint8_t, kBytes> bytes) {
  return DecodeFields<InformInfoRecord>(bytes);
}
void InformInfoRecord::Encode(std::span<uint8_t, kBytes> bytes) const {
  EncodeFields(*this, bytes);
}

Gid DecodeGid(std::span<const uint8_t, 16> bytes) {
  return {Load64(bytes.data()), Load64(bytes.data() + 8)};
}
void EncodeGid(const Gid& gid, std::span<uint8_t, 16> bytes) {
  Store64(bytes.data(), gid.prefix);
  Store64(bytes.data() + 8, gid.low);
}

}  // namespace fabricd::wire
