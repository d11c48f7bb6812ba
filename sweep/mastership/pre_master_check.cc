// SPDX-License-Identifier: Apache-2.0
#include "sweep/mastership/pre_master_check.h"

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "mad/wire/sm_info.h"
#include "sweep/device/completion.h"

namespace fabricd::sweep {
PreMasterCheck::PreMasterCheck(std::vector<RemoteSm> known, std::vector<Question> questions,
                               const DeviceTable& devices, mad::TransactionEngine& engine,
                               mad::RequestContext context)
    : sms_(std::move(known)),
      questions_(std::move(questions)),
      devices_(devices),
      engine_(engine),
      context_(context) {}

void PreMasterCheck::AskNext() {
  while (next_ < questions_.size()) {
    const Question& question = questions_[next_++];
    mad::SmpRequest request;
    if (question.port.IsNone())
      request = devices_.GetSmInfo(question.path, kAskerDevice);
    else if (devices_.Has(question.port.node))
      request = devices_.Get(question.port, wire::AttributeId::kSmInfo, 0);
    else
      continue;
    request.context = context_;
    request.priority = 0;
    engine_.Submit(request);
    return;
  }
  ++next_;
}

void PreMasterCheck::OnCompletion(const mad::Completion& completion) {
  FABRICD_CHECK(!done() && next_ > 0);
  // A missing response proves nothing: a known SM keeps its last state.
  const Question& question = questions_[next_ - 1];
  if (IsOk(completion))
    Note(wire::SmInfo::Decode(completion.response.data), question.port);
  else
    lost_ = lost_ || question.was_there;
  AskNext();
}

void PreMasterCheck::Note(const wire::SmInfo& info, PortRef port) {
  auto sm = std::find_if(sms_.begin(), sms_.end(),
                         [&](const RemoteSm& each) { return each.guid == info.guid; });
  if (sm == sms_.end()) sm = sms_.insert(sms_.end(), RemoteSm{port, info.guid});
  sm->priority = info.priority;
  sm->state = info.state;
  sm->activity_count = info.activity_count;
}

}  // namespace fabricd::sweep
