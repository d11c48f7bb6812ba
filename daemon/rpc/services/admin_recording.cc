// SPDX-License-Identifier: Apache-2.0
// fabric.v1.AdminService.DownloadRecording: the flight recorder's files of the life that runs.
#include <fstream>
#include <memory>
#include <utility>

#include "daemon/rpc/convert/grpc_status.h"
#include "daemon/rpc/services/admin_service.h"
#include "recorder/segments.h"

namespace fabricd::rpc {

namespace pb = ::fabric::v1;

namespace {

constexpr size_t kChunkBytes = size_t{256} << 10;
constexpr uint64_t kBytesUnlessSaid = uint64_t{32} << 20;

// Those of the newest life that fit: the beginning first, then the newest. In order.
std::vector<recorder::SegmentFile> SegmentsToSend(const std::string& directory, uint64_t most) {
  std::vector<recorder::SegmentFile> files = recorder::ListSegments(directory);
  if (!files.empty())
    std::erase_if(files,
                  [life = files.back().life](const auto& file) { return file.life != life; });
  uint64_t head = 0, tail = 0;
  size_t first = 0, last = files.size();
  while (first < files.size() && head + files[first].bytes <= most / 2)
    head += files[first++].bytes;
  first = std::max<size_t>(first, std::min<size_t>(1, files.size()));
  while (last > first && head + tail + files[last - 1].bytes <= most) tail += files[--last].bytes;
  files.erase(files.begin() + static_cast<std::ptrdiff_t>(first),
              files.begin() + static_cast<std::ptrdiff_t>(last));
  return files;
}

class RecordingPieces {
 public:
  explicit RecordingPieces(std::vector<recorder::SegmentFile> files) : files_(std::move(files)) {}

  // What a file has grown by meanwhile is sent too; one that has gone ends where it is.
  bool Next(pb::DownloadRecordingResponse* piece) {
    for (; at_ < files_.size(); ++at_, file_ = {}) {
      if (!file_.is_open()) file_.open(files_[at_].path, std::ios::binary);
      std::string& chunk = *piece->mutable_chunk();
      chunk.resize(kChunkBytes);
      file_.read(chunk.data(), static_cast<std::streamsize>(chunk.size()));
      chunk.resize(static_cast<size_t>(file_.gcount()));
      piece->set_file(files_[at_].path.filename().string());
      if (!chunk.empty()) return true;
    }
    return false;
  }

 private:
  const std::vector<recorder::SegmentFile> files_;
  size_t at_ = 0;
  std::ifstream file_;
};

}  // namespace

grpc::ServerWriteReactor<pb::DownloadRecordingResponse>* AdminService::DownloadRecording(
    grpc::CallbackServerContext* context, const pb::DownloadRecordingRequest* request) {
  const uint64_t most = request->max_bytes() > 0 ? request->max_bytes() : kBytesUnlessSaid;
  const auto prepare = [this, most]() -> absl::StatusOr<NextPiece<pb::DownloadRecordingResponse>> {
    const std::string directory = backend_.recordings();
    if (directory.empty())
      return WithReason(Unavailable("the flight recorder does not record"), "RECORDER_OFF");
    auto pieces = std::make_shared<RecordingPieces>(SegmentsToSend(directory, most));
    return [pieces](pb::DownloadRecordingResponse* piece) -> absl::StatusOr<bool> {
      return pieces->Next(piece);
    };
  };
  return StreamReactor<pb::DownloadRecordingResponse>::Start(context, dumps_, prepare);
}

}  // namespace fabricd::rpc
