// SPDX-License-Identifier: Apache-2.0
#include "sweep/mastership/key_proof.h"

#include <algorithm>
#include <utility>

#include "mad/wire/sm_info.h"
#include "sweep/device/completion.h"

namespace fabricd::sweep {

KeyProof::KeyProof(const DeviceTable& devices, mad::TransactionEngine& engine,
                   mad::RequestContext context)
    : devices_(devices), engine_(engine), context_(context) {}

void KeyProof::Ask(const Question& question) {
  // A device number of its own, so that a missing response does not count against the host: one
  // without an SM need not answer.
  const mad::DeviceId device = kAskerDevice - 1 - question.number % kMostQuestions;
  mad::SmpRequest request = devices_.GetSmInfo(question.back, device);
  request.context = context_;
  request.context.number = question.number;
  request.priority = 0;
  engine_.Submit(request);
}

KeyProof::Verdict KeyProof::Wait(Question& question, const Request& request) {
  const bool is_repeated =
      std::any_of(question.waiting.begin(), question.waiting.end(), [&](const Request& each) {
        return each.smp.transaction_id() == request.smp.transaction_id();
      });
  if (is_repeated) return Verdict::kWait;
  if (question.waiting.size() >= kMostWaiting) return Verdict::kHide;
  question.waiting.push_back(request);
  return Verdict::kWait;
}

KeyProof::Verdict KeyProof::OnRequest(const Request& request, const Keys& own,
                                      const std::optional<wire::DirectedPath>& back,
                                      mad::DeviceId host) {
  if (own.m_key && request.smp.m_key == own.m_key) return Verdict::kShow;
  const auto sender = wire::SmInfo::Decode(request.smp.data);
  if (sender.sm_key) return sender.sm_key == own.sm_key ? Verdict::kShow : Verdict::kHide;
  if (sender.guid || !back) return Verdict::kHide;
  for (Question& question : questions_)
    if (question.back == *back) return Wait(question, request);
  const auto of_host = std::count_if(questions_.begin(), questions_.end(),
                                     [&](const Question& each) { return each.host == host; });
  if (questions_.size() >= kMostQuestions || static_cast<size_t>(of_host) >= kMostToOneHost)
    return Verdict::kHide;
  questions_.push_back({next_number_++, *back, host, {request}});
  Ask(questions_.back());
  return Verdict::kWait;
}

KeyProof::Proof KeyProof::OnCompletion(const mad::Completion& completion, SmKey own) {
  const auto it = std::find_if(questions_.begin(), questions_.end(), [&](const Question& question) {
    return question.number == completion.context.number;
  });
  if (it == questions_.end()) return {};
  Proof proof;
  proof.proven = IsOk(completion) && wire::SmInfo::Decode(completion.response.data).sm_key == own;
  proof.requests = std::move(it->waiting);
  questions_.erase(it);
  return proof;
}

void KeyProof::AskAgain() {
  for (const Question& question : questions_) Ask(question);
}

}  // namespace fabricd::sweep
