// SPDX-License-Identifier: Apache-2.0
#include "recorder/segments.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <system_error>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "common/status.h"

namespace fabricd::recorder {
namespace {

constexpr std::string_view kEnding = ".fabricrec";

std::optional<SegmentFile> ReadName(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  SegmentFile file{path};
  const char* const end = name.data() + name.size();
  const auto life = std::from_chars(name.data(), end, file.life);
  if (life.ec != std::errc() || life.ptr == end || *life.ptr != '-') return std::nullopt;
  const auto number = std::from_chars(life.ptr + 1, end, file.number);
  if (number.ec != std::errc() ||
      std::string_view(number.ptr, static_cast<size_t>(end - number.ptr)) != kEnding)
    return std::nullopt;
  std::error_code error;
  file.bytes = std::filesystem::file_size(path, error);
  return error ? std::nullopt : std::optional(std::move(file));
}

absl::StatusOr<std::string> ReadWhole(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  if (!file.good() && !file.eof()) return NotFound("{} cannot be read", path.string());
  return bytes;
}

absl::Status At(const std::filesystem::path& path, const absl::Status& status) {
  return absl::Status(status.code(), fmt::format("{}: {}", path.string(), Message(status)));
}

}  // namespace

// ---- writing

absl::StatusOr<SegmentWriter> SegmentWriter::Open(std::filesystem::path directory,
                                                  SegmentLimits limits, pb::Header header) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return Unavailable("{}: {}", directory.string(), error.message());
  std::filesystem::permissions(directory, std::filesystem::perms::owner_all, error);
  header.set_schema(kSchema);
  SegmentWriter writer(std::move(directory), limits, std::move(header));
  FABRICD_RETURN_IF_ERROR(writer.StartSegment());
  return writer;
}

absl::Status SegmentWriter::StartSegment() {
  const std::filesystem::path path =
      directory_ / fmt::format("{}-{:06}{}", header_.life(), header_.segment(), kEnding);
  file_ = std::ofstream(path, std::ios::binary | std::ios::trunc);
  const std::string bytes = encoder_.Begin(header_);
  file_ << bytes << std::flush;
  if (!file_) return Unavailable("{} cannot be written", path.string());
  file_bytes_ = bytes.size();
  header_.set_segment(header_.segment() + 1);
  if (head_bytes_ < limits_.total_bytes / 2) head_segments_ = header_.segment();
  Prune();
  return absl::OkStatus();
}

absl::Status SegmentWriter::Write(const PackedBatch& batch) {
  if (file_bytes_ >= limits_.segment_bytes) {
    head_bytes_ += file_bytes_;
    FABRICD_RETURN_IF_ERROR(StartSegment());
  }
  const std::string bytes = encoder_.Chunk(batch.bytes);
  file_ << bytes << std::flush;
  if (!file_) return Unavailable("segment {} cannot be written", header_.segment() - 1);
  file_bytes_ += bytes.size();
  header_.set_first_record(header_.first_record() + batch.records);
  return absl::OkStatus();
}

// Removes earlier lives first, then the oldest segments of this life after its beginning. The
// current segment counts with its maximum size.
void SegmentWriter::Prune() const {
  std::vector<SegmentFile> files = ListSegments(directory_);
  uint64_t total = limits_.segment_bytes;
  for (const SegmentFile& file : files) total += file.bytes;
  for (const SegmentFile& file : files) {
    if (total <= limits_.total_bytes) return;
    const bool is_own = file.life == header_.life();
    if (is_own && (file.number < head_segments_ || file.number + 1 >= header_.segment())) continue;
    std::error_code error;
    if (std::filesystem::remove(file.path, error)) total -= file.bytes;
  }
}

// ---- reading

std::vector<SegmentFile> ListSegments(const std::filesystem::path& directory) {
  std::vector<SegmentFile> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error))
    if (auto file = ReadName(entry.path())) files.push_back(*std::move(file));
  std::sort(files.begin(), files.end(), [](const SegmentFile& a, const SegmentFile& b) {
    return std::tie(a.life, a.number) < std::tie(b.life, b.number);
  });
  return files;
}

absl::StatusOr<Recording> Recording::Open(const std::filesystem::path& path) {
  const bool is_directory = std::filesystem::is_directory(path);
  Recording recording;
  recording.segments_ = ListSegments(is_directory                 ? path
                                     : path.parent_path().empty() ? std::filesystem::path(".")
                                                                  : path.parent_path());
  uint64_t life = recording.segments_.empty() ? 0 : recording.segments_.back().life;
  if (!is_directory) {
    if (!std::filesystem::exists(path)) return NotFound("{}: there is no such file", path.string());
    const auto named = ReadName(path);
    if (named)
      life = named->life;
    else  // Renamed: a recording by itself.
      recording.segments_ = {SegmentFile{path}};
  }
  if (is_directory || ReadName(path))
    std::erase_if(recording.segments_, [&](const auto& file) { return file.life != life; });
  if (recording.segments_.empty()) return NotFound("{}: there is no recording", path.string());
  const SegmentFile& first = recording.segments_.front();
  auto bytes = ReadWhole(first.path);
  if (!bytes.ok()) return bytes.status();
  const auto reader = SegmentReader::Open(*bytes);
  if (!reader.ok()) return At(first.path, reader.status());
  recording.header_ = reader->header();
  if (recording.header_.segment() != 0)
    return FailedPrecondition("{}: it is segment {} of a recording; a replay begins with segment 0",
                              first.path.string(), recording.header_.segment());
  for (size_t i = 1; i < recording.segments_.size() && recording.gap_.empty(); ++i)
    if (const auto number = recording.segments_[i].number; number != i)
      recording.gap_ = fmt::format("segments {}-{} are gone", i, number - 1);
  return recording;
}

absl::Status Recording::ForEach(bool beyond_gap, const Visit& visit) const {
  uint64_t number = 0;
  for (size_t i = 0; i < segments_.size(); ++i) {
    if (!beyond_gap && i > 0 && segments_[i].number != i) return absl::OkStatus();
    const auto bytes = ReadWhole(segments_[i].path);
    if (!bytes.ok()) return bytes.status();
    auto reader = SegmentReader::Open(*bytes);
    if (!reader.ok()) return At(segments_[i].path, reader.status());
    if (reader->header().life() != header_.life())
      return At(segments_[i].path, InvalidArgument("it belongs to another recording"));
    number = reader->header().first_record();
    for (pb::Batch batch;;) {
      const auto more = reader->Next(batch);
      if (!more.ok()) return At(segments_[i].path, more.status());
      if (!*more) break;
      for (const pb::Record& record : batch.records())
        if (!visit(number++, record)) return absl::OkStatus();
    }
  }
  return absl::OkStatus();
}

}  // namespace fabricd::recorder
