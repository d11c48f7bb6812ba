// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/services/plan_service.h"

#include <memory>
#include <string>
#include <utility>

#include "common/status.h"
#include "daemon/rpc/convert/convert_plan.h"

namespace fabricd::rpc {
namespace {

namespace pb = ::fabric::v1;

absl::Status TooManyQuestions() {
  return MakeError(absl::StatusCode::kResourceExhausted, "TOO_MANY_QUESTIONS",
                   "too many questions wait to be worked out");
}

// Reads the pieces of a text, then has it worked on. Who reads or works ends the call, so it is
// ended once and by one thread at a time.
class TextCall final : public grpc::ServerReadReactor<pb::ValidateWiringRequest> {
 public:
  using Work = std::function<absl::Status(const std::string&)>;

  TextCall(grpc::CallbackServerContext* context, ExportWorker& worker, Work work)
      : context_(context),
        worker_(worker),
        place_(worker.TakePlace(*context)),
        work_(std::move(work)) {
    if (!place_)
      Finish(ToGrpc(TooManyQuestions()));
    else
      StartRead(&piece_);
  }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) return HandOver();
    if (text_.size() + piece_.text().size() > PlanService::kMostText) {
      return End(ToGrpc(
          MakeError(absl::StatusCode::kResourceExhausted, "TEXT_TOO_LARGE",
                    fmt::format("the topology has more than {} bytes", PlanService::kMostText))));
    }
    if (std::chrono::steady_clock::now() > end_) {
      return End(ToGrpc(MakeError(absl::StatusCode::kDeadlineExceeded, "SERVER_DEADLINE",
                                  "the topology takes too long to arrive")));
    }
    text_ += piece_.text();
    StartRead(&piece_);
  }
  void HandOver() {
    const bool taken = worker_.Post(
        [this] { End(context_->IsCancelled() ? grpc::Status::CANCELLED : ToGrpc(work_(text_))); });
    if (!taken) End(ToGrpc(TooManyQuestions()));
  }
  // The place first: a client that has its answer may ask again at once.
  void End(const grpc::Status& status) {
    place_.reset();
    Finish(status);
  }
  void OnDone() override { delete this; }

  grpc::CallbackServerContext* const context_;
  ExportWorker& worker_;
  std::shared_ptr<void> place_;
  const std::chrono::steady_clock::time_point end_ =
      std::chrono::steady_clock::now() + PlanService::kLongestText;
  const Work work_;
  std::string text_;
  pb::ValidateWiringRequest piece_;
};

}  // namespace

// Works on the present model, on the worker. The request is gone when the client is.
template <typename Request, typename Response, typename Work>
grpc::ServerUnaryReactor* PlanService::Later(const Request* request, Response* response,
                                             Work work) {
  const auto call = std::make_shared<LaterCall<Response>>(response);
  auto* reactor = call->Start(call);
  const bool taken = worker_.Post([this, call, asked = *request, work] {
    if (call->ended()) return;
    const auto model = models_.Ready();
    Response answer;
    const absl::Status status = model.ok() ? work(**model, asked, &answer) : model.status();
    call->Answer([&](Response* out) {
      *out = std::move(answer);
      return status;
    });
  });
  if (!taken) call->Fail(TooManyQuestions());
  return reactor;
}

grpc::ServerUnaryReactor* PlanService::PreviewChange(grpc::CallbackServerContext*,
                                                     const pb::PreviewChangeRequest* request,
                                                     pb::PreviewChangeResponse* response) {
  return Later(request, response,
               [](const query::ReadModel& model, const pb::PreviewChangeRequest& asked,
                  pb::PreviewChangeResponse* out) -> absl::Status {
                 const auto question = ReadWhatIf(model, asked);
                 if (!question.ok()) return question.status();
                 const auto answer = query::Answer(*model.view, *question);
                 if (absl::IsUnavailable(answer.status()))
                   return TryLater("NO_PLAN", Message(answer.status()), std::chrono::seconds(1));
                 if (!answer.ok()) return WithReason(answer.status(), "INVALID_CHANGE");
                 ToProto(model, *answer, out);
                 return absl::OkStatus();
               });
}

grpc::ServerUnaryReactor* PlanService::AnalyzeJob(grpc::CallbackServerContext*,
                                                  const pb::AnalyzeJobRequest* request,
                                                  pb::AnalyzeJobResponse* response) {
  return Later(request, response, rpc::AnalyzeJob);
}

grpc::ServerReadReactor<pb::ValidateWiringRequest>* PlanService::ValidateWiring(
    grpc::CallbackServerContext* context, pb::ValidateWiringResponse* response) {
  return new TextCall(context, worker_, [this, response](const std::string& text) {
    const auto model = models_.Ready();
    return model.ok() ? rpc::ValidateWiring(**model, text, response) : model.status();
  });
}

}  // namespace fabricd::rpc
