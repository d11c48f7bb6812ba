// SPDX-License-Identifier: Apache-2.0
// recorder: the flight recorder: stores the inputs of the core in files, and replays them.
//
// The file format of recordings. A segment is a file: the line "fabricd-recording\n", then chunks.
// The first chunk holds the Header and each other one a Batch (recording.proto), each compressed
// in a zstd frame with a checksum. A chunk begins with the frame's size, 4 bytes little-endian. A
// segment that ends within a chunk was interrupted by a crash: its complete chunks are valid.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include "fabric/recording/v1/recording.pb.h"

struct ZSTD_CCtx_s;

namespace fabricd::recorder {

// Grows with each change of the archived data or of its meaning.
inline constexpr uint32_t kSchema = 11;
inline constexpr size_t kMaxChunkBytes = size_t{16} << 20;    // As stored.
inline constexpr size_t kMaxMessageBytes = size_t{64} << 20;  // Uncompressed.

namespace pb = ::fabric::recording::v1;

// Records for the disk, already serialised: an object per record would cost the core's
// thread more than the record itself.
struct PackedBatch {
  std::string bytes;  // A serialised pb::Batch.
  uint64_t records = 0;
};

// Makes the parts of a segment. Keeps the memory of the compression, which costs as much as the
// compression of a chunk.
class SegmentEncoder {
 public:
  SegmentEncoder();

  std::string Begin(const pb::Header& header);  // The beginning of a segment.
  std::string Chunk(std::string_view batch);    // Of a serialised pb::Batch.

 private:
  std::unique_ptr<ZSTD_CCtx_s, size_t (*)(ZSTD_CCtx_s*)> context_;
};

// Reads one segment from memory.
class SegmentReader {
 public:
  // kInvalidArgument: not a recording. kDataLoss: its header is damaged. kFailedPrecondition:
  // another schema. `bytes` must outlive this.
  static absl::StatusOr<SegmentReader> Open(std::string_view bytes);

  const pb::Header& header() const { return header_; }
  // False: there are no more chunks. kDataLoss: a chunk is damaged.
  absl::StatusOr<bool> Next(pb::Batch& batch);
  // The segment ends with an incomplete chunk.
  bool is_cut() const { return is_cut_; }

 private:
  explicit SegmentReader(std::string_view bytes) : rest_(bytes) {}
  absl::StatusOr<bool> NextChunk(google::protobuf::Message& message);

  std::string_view rest_;
  pb::Header header_;
  bool is_cut_ = false;
};

}  // namespace fabricd::recorder
