// SPDX-License-Identifier: Apache-2.0
// recorder: the flight recorder: what went into the core, kept in files, and replayed.
//
// The file format of recordings. A segment is a file: the line "fabricd-recording\n", then chunks,
// of which the first holds the Header and each other one a Batch (recording.proto), compressed. A
// chunk begins with its size and its CRC-32, 4 bytes each, little-endian. A segment that ends
// within a chunk was being written when the machine went down: what is whole counts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include "fabric/recording/v1/recording.pb.h"

namespace fabricd::recorder {

// Grows with each change of what is archived or of what it means.
inline constexpr uint32_t kSchema = 1;
inline constexpr size_t kMaxChunkBytes = size_t{16} << 20;    // As stored.
inline constexpr size_t kMaxMessageBytes = size_t{64} << 20;  // Uncompressed.

namespace pb = ::fabric::recording::v1;

// The beginning of a segment, and one more chunk.
std::string EncodeHeader(const pb::Header& header);
std::string EncodeBatch(const pb::Batch& batch);

// Reads one segment, that is all in memory.
class SegmentReader {
 public:
  // kInvalidArgument: it is no recording. kDataLoss: its header is damaged. kFailedPrecondition: of
  // another schema. `bytes` must outlive this.
  static absl::StatusOr<SegmentReader> Open(std::string_view bytes);

  const pb::Header& header() const { return header_; }
  // False: there is no more. kDataLoss: a chunk is damaged.
  absl::StatusOr<bool> Next(pb::Batch& batch);
  // Bytes of a chunk that is not whole are left at the end.
  bool is_cut() const { return is_cut_; }

 private:
  explicit SegmentReader(std::string_view bytes) : rest_(bytes) {}
  absl::StatusOr<bool> NextChunk(google::protobuf::Message& message);

  std::string_view rest_;
  pb::Header header_;
  bool is_cut_ = false;
};

}  // namespace fabricd::recorder
