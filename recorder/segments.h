// SPDX-License-Identifier: Apache-2.0
// Recordings on disk. Each life of a core is a row of segments in one directory, each a file
// "LIFE-NUMBER.fabricrec". Half of the space is for the beginning of a life, from which a replay
// starts; the other half is a ring of its newest segments. What falls out between them leaves a
// gap, behind which nothing can be replayed: what is there can be listed.
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

// Writes the segments of one life, and removes what is too much. One thread.
class SegmentWriter {
 public:
  // Makes the directory. `header` without segment and first_record.
  static absl::StatusOr<SegmentWriter> Open(std::filesystem::path directory, SegmentLimits limits,
                                            pb::Header header);

  absl::Status Write(const pb::Batch& batch);

 private:
  SegmentWriter(std::filesystem::path directory, SegmentLimits limits, pb::Header header)
      : directory_(std::move(directory)), limits_(limits), header_(std::move(header)) {}
  absl::Status StartSegment();
  void Prune() const;

  std::filesystem::path directory_;
  SegmentLimits limits_;
  pb::Header header_;  // Of the next segment.
  std::ofstream file_;
  uint64_t file_bytes_ = 0;
  uint64_t head_bytes_ = 0;     // Of the segments that are kept from the beginning.
  uint32_t head_segments_ = 0;  // How many these are.
};

struct SegmentFile {
  std::filesystem::path path;
  uint64_t life = 0;
  uint32_t number = 0;
  uint64_t bytes = 0;
};
// By life, then number. Files of other names are left out.
std::vector<SegmentFile> ListSegments(const std::filesystem::path& directory);

// One life, as it can be read.
class Recording {
 public:
  // A directory (its newest life), or a segment, with those of the same life beside it.
  // kNotFound, kInvalidArgument, kFailedPrecondition, kDataLoss name the file and the reason.
  static absl::StatusOr<Recording> Open(const std::filesystem::path& path);

  const pb::Header& header() const { return header_; }  // Of the first segment.
  // Segments between the first and the last that are not there. Empty: none.
  const std::string& gap() const { return gap_; }
  // Calls `visit` with each record up to the gap, or all. It returns false to end. The number of a
  // record counts from 0.
  using Visit = std::function<bool(uint64_t number, const pb::Record& record)>;
  absl::Status ForEach(bool beyond_gap, const Visit& visit) const;

 private:
  std::vector<SegmentFile> segments_;
  pb::Header header_;
  std::string gap_;
};

}  // namespace fabricd::recorder
