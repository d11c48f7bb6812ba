// SPDX-License-Identifier: Apache-2.0
#include "recorder/format.h"

#include <zlib.h>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/gzip_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "common/status.h"

namespace fabricd::recorder {
namespace {

constexpr std::string_view kMagic = "fabricd-recording\n";
constexpr size_t kChunkHead = 8;

uint32_t CrcOf(std::string_view bytes) {
  return static_cast<uint32_t>(
      crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size())));
}

void PutNumber(uint32_t value, std::string& out) {
  for (int i = 0; i < 4; ++i, value >>= 8) out.push_back(static_cast<char>(value & 0xFF));
}

uint32_t GetNumber(std::string_view bytes) {
  uint32_t value = 0;
  for (size_t i = 4; i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[i]);
  return value;
}

std::string ChunkOf(std::string_view content) {
  std::string packed;
  {
    google::protobuf::io::StringOutputStream out(&packed);
    google::protobuf::io::GzipOutputStream::Options options;
    options.compression_level = 1;
    google::protobuf::io::GzipOutputStream zip(&out, options);
    google::protobuf::io::CodedOutputStream coded(&zip);
    coded.WriteRaw(content.data(), static_cast<int>(content.size()));
    coded.Trim();
    zip.Close();
  }
  std::string chunk;
  chunk.reserve(packed.size() + kChunkHead);
  PutNumber(static_cast<uint32_t>(packed.size()), chunk);
  PutNumber(CrcOf(packed), chunk);
  return chunk + packed;
}

}  // namespace

std::string EncodeHeader(const pb::Header& header) {
  return std::string(kMagic) + ChunkOf(header.SerializeAsString());
}
std::string EncodeBatch(std::string_view bytes) { return ChunkOf(bytes); }

absl::StatusOr<SegmentReader> SegmentReader::Open(std::string_view bytes) {
  if (bytes.substr(0, kMagic.size()) != kMagic)
    return InvalidArgument("it is no recording of fabricd: the first line is another");
  SegmentReader reader(bytes.substr(kMagic.size()));
  auto whole = reader.NextChunk(reader.header_);
  if (!whole.ok()) return whole.status();
  if (!*whole) return MakeStatus(absl::StatusCode::kDataLoss, "the header is not whole");
  if (reader.header_.schema() != kSchema)
    return FailedPrecondition(
        "it has schema {} and was recorded by {}; this program reads schema {}",
        reader.header_.schema(), reader.header_.version(), kSchema);
  return reader;
}

absl::StatusOr<bool> SegmentReader::Next(pb::Batch& batch) { return NextChunk(batch); }

absl::StatusOr<bool> SegmentReader::NextChunk(google::protobuf::Message& message) {
  if (rest_.empty()) return false;
  const size_t size = rest_.size() < kChunkHead ? 0 : GetNumber(rest_);
  if (size > kMaxChunkBytes)
    return MakeStatus(absl::StatusCode::kDataLoss, "a chunk says that it has {} bytes", size);
  if (rest_.size() < kChunkHead || rest_.size() - kChunkHead < size) {
    is_cut_ = true;
    rest_ = {};
    return false;
  }
  const std::string_view packed = rest_.substr(kChunkHead, size);
  if (CrcOf(packed) != GetNumber(rest_.substr(4)))
    return MakeStatus(absl::StatusCode::kDataLoss, "a chunk's checksum is wrong");
  rest_.remove_prefix(kChunkHead + size);
  google::protobuf::io::ArrayInputStream in(packed.data(), static_cast<int>(packed.size()));
  google::protobuf::io::GzipInputStream unzip(&in);
  google::protobuf::io::LimitingInputStream limited(&unzip, kMaxMessageBytes);
  if (!message.ParseFromZeroCopyStream(&limited))
    return MakeStatus(absl::StatusCode::kDataLoss, "a chunk's content cannot be read");
  return true;
}

}  // namespace fabricd::recorder
