// SPDX-License-Identifier: Apache-2.0
#include "sweep/write/request_sender.h"

#include <utility>

#include "common/check.h"
#include "sweep/interface/activity.h"

namespace fabricd::sweep {
namespace {

// Enough that the engine never runs out of requests between two calls.
constexpr size_t kReady = 512;

}  // namespace

bool RequestSender::IsFull() const { return engine_.queued() >= kReady; }

mad::RequestContext RequestSender::ContextOf(const WorkItem& item) const {
  auto context = mad::RequestContext::Of(Activity::kProgrammer, item.work, item.ref());
  context.run = run_;
  context.block = item.block;
  return context;
}

WorkItem RequestSender::ItemOf(const mad::Completion& completion) {
  const mad::RequestContext& context = completion.context;
  return {context.node, context.block, context.port, context.kind_as<Work>()};
}

void RequestSender::Submit(mad::SmpRequest request, const WorkItem& item) {
  request.context = ContextOf(item);
  ++outstanding_;
  if (request.method == wire::Method::kSet)
    devices_.applied().SetBusy(item.ref(), request.attribute);
  engine_.Submit(std::move(request));
}

void RequestSender::OnCompletion(const mad::Completion& completion) {
  FABRICD_CHECK(outstanding_ > 0);
  --outstanding_;
  const WorkItem item = ItemOf(completion);
  if (completion.method == wire::Method::kSet)
    devices_.applied().ClearBusy(item.ref(), completion.attribute);
  using Outcome = mad::Completion::Outcome;
  if (completion.outcome == Outcome::kResponse)
    silent_.erase(RouteOf(item));
  else if (completion.outcome == Outcome::kTimedOut && builder_.node(item.node) != nullptr &&
           !completion.may_be_unknown)
    silent_.insert(RouteOf(item));  // The engine has used all its retries.
}

bool RequestSender::Withdraw(const WorkItem& item) {
  std::vector<mad::Completion> unsent;
  engine_.CancelQueued(ContextOf(item), unsent);
  if (unsent.empty()) return false;
  --outstanding_;
  devices_.applied().ClearBusy(item.ref(), AttributeOf(item.work));
  return true;
}

bool RequestSender::MayReach(const WorkItem& item) const {
  const fabric::Node* node = builder_.node(item.node);
  return devices_.Has(item.node) && !silent_.contains(RouteOf(item)) &&
         (node == nullptr || !node->unresponsive);
}

PortRef RequestSender::RouteOf(const WorkItem& item) const {
  const fabric::Node* node = builder_.node(item.node);
  const bool is_switch = node == nullptr || node->IsSwitch();
  return {item.node, is_switch ? PortNum(0) : item.port};
}

}  // namespace fabricd::sweep
