// SPDX-License-Identifier: Apache-2.0
#include "sweep/mastership/priority_notice.h"

#include "mad/transactions.h"
#include "mad/wire/notice.h"
#include "sweep/device/completion.h"

namespace fabricd::sweep {
namespace {

constexpr Duration kNoticePeriod = std::chrono::seconds(10);

}  // namespace

void PriorityNotice::Begin(PortRef own) {
  if (own.IsNone() || !devices_.Has(own.node)) return;
  auto request = devices_.Get(own, wire::AttributeId::kPortInfo, 0);
  request.context = context_;
  request.priority = 0;
  engine_.Submit(request);
}

void PriorityNotice::BeginSeldom(PortRef own, Instant now) {
  if (now < next_) return;
  next_ = now + kNoticePeriod;
  Begin(own);
}

std::optional<mad::OutgoingMad> PriorityNotice::Finish(const mad::Completion& own_port) {
  if (!IsOk(own_port)) return std::nullopt;
  const auto info = wire::PortInfo::Decode(own_port.response.data);
  if (!info.lid || !info.master_sm_lid) return std::nullopt;
  wire::Smp trap;
  trap.method = wire::Method::kTrap;
  trap.attribute = wire::AttributeId::kNotice;
  last_id_ = mad::NextTransactionId(last_id_);
  trap.tid = TransactionId(last_id_);
  wire::Notice::OfSmPriority(info.lid, info.capability_mask, info.capability_mask2)
      .Encode(trap.data);
  mad::OutgoingMad mad;
  mad.agent = mad::Agent::kSmpLid;
  mad.to.lid = info.master_sm_lid;
  mad.to.sl = ServiceLevel(info.master_sm_sl);
  mad.payload.resize(wire::kMadBytes);
  trap.Encode(std::span<uint8_t, wire::kMadBytes>(mad.payload.data(), wire::kMadBytes));
  return mad;
}

}  // namespace fabricd::sweep
