// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/services/admin_service.h"

#include <map>
#include <memory>
#include <set>
#include <utility>

#include "common/status.h"
#include "daemon/rpc/streams/reactors.h"

namespace fabricd::rpc {
namespace {

namespace pb = ::fabric::v1;

constexpr size_t kPieceBytes = 256 * 1024;

absl::Status SweepError(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk: return status;
    case absl::StatusCode::kUnavailable:
      return TryLater("CORE_BUSY", Message(status), std::chrono::seconds(1));
    case absl::StatusCode::kFailedPrecondition: return WithReason(status, "NOT_MASTER");
    default: return WithReason(status, "SWEEP_FAILED");
  }
}

void FillSweep(const daemon::Backend& backend, bool done, pb::StartSweepResponse* response) {
  const auto view = backend.view();
  response->set_done(done);
  response->set_generation(static_cast<uint32_t>(view->generation.value()));
  response->set_subnet_up(view->subnet_up);
}

// The files one after the other, in pieces.
class DumpPieces {
 public:
  explicit DumpPieces(std::map<std::string, std::string> files)
      : files_(std::move(files)), file_(files_.begin()) {}

  bool Next(pb::DumpResponse* piece) {
    if (file_ == files_.end()) return false;
    piece->set_file(file_->first);
    *piece->mutable_chunk() = file_->second.substr(at_, kPieceBytes);
    at_ += kPieceBytes;
    if (at_ >= file_->second.size()) {
      ++file_;
      at_ = 0;
    }
    return true;
  }

 private:
  const std::map<std::string, std::string> files_;
  std::map<std::string, std::string>::const_iterator file_;
  size_t at_ = 0;
};

absl::StatusOr<std::map<std::string, std::string>> MakeDumps(const daemon::Backend& backend,
                                                             const std::set<std::string>& wanted) {
  auto files = backend.MakeDumps();
  if (!files.ok()) return WithReason(files.status(), "DUMP_FAILED");
  for (const std::string& name : wanted) {
    if (!files->count(name)) return NoSuch("file", name);
  }
  if (!wanted.empty()) {
    for (auto it = files->begin(); it != files->end();) {
      it = wanted.count(it->first) ? std::next(it) : files->erase(it);
    }
  }
  return files;
}

}  // namespace

grpc::ServerUnaryReactor* AdminService::StartSweep(grpc::CallbackServerContext*,
                                                   const pb::StartSweepRequest* request,
                                                   pb::StartSweepResponse* response) {
  const auto call = std::make_shared<LaterCall<pb::StartSweepResponse>>(response);
  auto* reactor = call->StartWithoutLimit(call);
  const auto answer = [this, call](bool done, const absl::Status& status) {
    call->Answer([&](pb::StartSweepResponse* out) {
      if (status.ok()) FillSweep(backend_, done, out);
      return SweepError(status);
    });
  };
  const bool wait = request->wait();  // The request is gone once the call is finished.
  backend_.PostSweep(request->heavy(),
                     [answer](const absl::Status& status) { answer(true, status); });
  if (!wait) answer(false, absl::OkStatus());
  return reactor;
}

grpc::ServerWriteReactor<pb::DumpResponse>* AdminService::Dump(grpc::CallbackServerContext* context,
                                                               const pb::DumpRequest* request) {
  const std::set<std::string> wanted(request->files().begin(), request->files().end());
  const auto prepare = [this, wanted]() -> absl::StatusOr<NextPiece<pb::DumpResponse>> {
    auto files = MakeDumps(backend_, wanted);
    if (!files.ok()) return files.status();
    auto pieces = std::make_shared<DumpPieces>(*std::move(files));
    return
        [pieces](pb::DumpResponse* piece) -> absl::StatusOr<bool> { return pieces->Next(piece); };
  };
  return StreamReactor<pb::DumpResponse>::Start(context, dumps_, prepare);
}

}  // namespace fabricd::rpc
