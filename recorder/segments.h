// SPDX-License-Identifier: Apache-2.0
// Recordings on disk. Each life of a core is a sequence of segments in one directory, each a file
// "LIFE-NUMBER.fabricrec". Half of the space is for the beginning of a life, where a replay starts.
// The other half is a ring of its newest segments. Segments that drop out of the ring leave a gap.
// Nothing can be replayed after a gap, but the records there can be listed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include "recorder/format.h"

namespace fabricd::recorder {

struct SegmentLimits {
  uint64_t total_bytes = uint64_t{256} << 20;  // Of all files in the directory.
  uint64_t segment_bytes = uint64_t{8} << 20;
};

// Writes the segments of one life, and removes segments beyond the limits. One thread.
class SegmentWriter {
 public:
  // Creates the directory. `header` without segment and first_record.
  static absl::StatusOr<SegmentWriter> Open(std::filesystem::path directory, SegmentLimits limits,
                                            pb::Header header);

  absl::Status Write(const PackedBatch& batch);

 private:
  SegmentWriter(std::filesystem::path directory, SegmentLimits limits, pb::Header header)
      : directory_(std::move(directory)), limits_(limits), header_(std::move(header)) {}
  absl::Status StartSegment();
  void Prune() const;

  std::filesystem::path directory_;
  SegmentLimits limits_;
  pb::Header header_;  // Of the next segment.
  SegmentEncoder encoder_;
  std::ofstream file_;
  uint64_t file_bytes_ = 0;
  uint64_t head_bytes_ = 0;     // Of the segments kept from the beginning.
  uint32_t head_segments_ = 0;  // Number of those segments.
};

struct SegmentFile {
  std::filesystem::path path;
  uint64_t life = 0;
  uint32_t number = 0;
  uint64_t bytes = 0;
};
// By life, then number. Other files are ignored.
std::vector<SegmentFile> ListSegments(const std::filesystem::path& directory);

// One life, for reading.
class Recording {
 public:
  // Opens a directory (its newest life), or a segment together with the others of its life.
  // kNotFound, kInvalidArgument, kFailedPrecondition and kDataLoss name the file and the reason.
  static absl::StatusOr<Recording> Open(const std::filesystem::path& path);

  const pb::Header& header() const { return header_; }  // Of the first segment.
  // The missing segments between the first and the last. Empty: none.
  const std::string& gap() const { return gap_; }
  // Calls `visit` with each record up to the gap or the end, until it returns false. Records are
  // numbered from 0.
  using Visit = std::function<bool(uint64_t number, const pb::Record& record)>;
  absl::Status ForEach(bool beyond_gap, const Visit& visit) const;

 private:
  std::vector<SegmentFile> segments_;
  pb::Header header_;
  std::string gap_;
};

}  // namespace fabricd::recorder
