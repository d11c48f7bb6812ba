// SPDX-License-Identifier: Apache-2.0
#include "recorder/format.h"

#include <zstd.h>

#include "common/check.h"
#include "common/status.h"

namespace fabricd::recorder {
namespace {

constexpr std::string_view kMagic = "fabricd-recording\n";
constexpr size_t kChunkHead = 4;

void PutNumber(uint32_t value, char* out) {
  for (int i = 0; i < 4; ++i, value >>= 8) out[i] = static_cast<char>(value & 0xFF);
}

uint32_t GetNumber(std::string_view bytes) {
  uint32_t value = 0;
  for (size_t i = 4; i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[i]);
  return value;
}

// The content of a chunk. kDataLoss: the frame is damaged, or too large.
absl::StatusOr<std::string> Unpack(std::string_view frame) {
  const unsigned long long size = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (size > kMaxMessageBytes)  // Also the error values, which are the largest numbers.
    return MakeStatus(absl::StatusCode::kDataLoss, "a chunk does not say its size, or too much");
  std::string content(size, '\0');
  const size_t got = ZSTD_decompress(content.data(), size, frame.data(), frame.size());
  if (ZSTD_isError(got))
    return MakeStatus(absl::StatusCode::kDataLoss, "a chunk is damaged (zstd: {})",
                      ZSTD_getErrorName(got));
  return content;
}

}  // namespace

SegmentEncoder::SegmentEncoder() : context_(ZSTD_createCCtx(), ZSTD_freeCCtx) {
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, 1);
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
}

std::string SegmentEncoder::Begin(const pb::Header& header) {
  return std::string(kMagic) + Chunk(header.SerializeAsString());
}

std::string SegmentEncoder::Chunk(std::string_view batch) {
  std::string chunk(kChunkHead + ZSTD_compressBound(batch.size()), '\0');
  const size_t size = ZSTD_compress2(context_.get(), chunk.data() + kChunkHead,
                                     chunk.size() - kChunkHead, batch.data(), batch.size());
  FABRICD_CHECK(!ZSTD_isError(size), "{}", ZSTD_getErrorName(size));  // Only without memory.
  chunk.resize(kChunkHead + size);
  PutNumber(static_cast<uint32_t>(size), chunk.data());
  return chunk;
}

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
  const auto content = Unpack(rest_.substr(kChunkHead, size));
  if (!content.ok()) return content.status();
  rest_.remove_prefix(kChunkHead + size);
  if (!message.ParseFromString(*content))
    return MakeStatus(absl::StatusCode::kDataLoss, "a chunk's content cannot be read");
  return true;
}

}  // namespace fabricd::recorder
