// SPDX-License-Identifier: Apache-2.0
#include "sa/state/reporter.h"

#include <algorithm>

#include "mad/transactions.h"
#include "mad/wire/sa_header.h"
#include "sa/wire/gsi.h"
#include "sa/wire/row_codec.h"

namespace fabricd::sa {
namespace {

constexpr size_t kIssuerGidAt = wire::kSaDataAt + wire::kSmpDataBytes;  // Behind the notice.

mad::OutgoingMad ReportOf(const NoticeFact& fact, const ReportTarget& target, Lid lid,
                          uint32_t transaction) {
  mad::OutgoingMad out;
  out.agent = mad::Agent::kSubnAdm;
  out.to = {lid, target.qpn, kGsiQKey, target.sl, target.pkey_index, 0, target.global};
  out.timeout = Reporter::kTimeout;
  out.payload.resize(wire::kMadBytes);
  wire::SaHeader header;
  header.mad.management_class = wire::ManagementClass::kSubnAdm;
  header.mad.class_version = wire::kSaClassVersion;
  header.mad.method = wire::Method::kReport;
  header.mad.attribute = static_cast<wire::AttributeId>(wire::SaAttribute::kNotice);
  header.mad.transaction_id = transaction;
  header.Encode(std::span<uint8_t, wire::kMadBytes>(out.payload.data(), wire::kMadBytes));
  fact.notice.Encode(std::span<uint8_t, wire::kSmpDataBytes>(out.payload.data() + wire::kSaDataAt,
                                                             wire::kSmpDataBytes));
  StoreGid(fact.issuer, out.payload.data() + kIssuerGidAt);
  return out;
}

}  // namespace

void Reporter::Add(const ReportTarget& target, std::shared_ptr<const NoticeFact> fact) {
  const Key key{target.gid, target.qpn};
  Queue& queue = queues_[key];
  queue.target = target;
  if (queue.waiting.size() >= kMostWaiting) {
    // The first may be under way.
    queue.waiting.erase(queue.waiting.begin() + 1);
    ++statistics_.lost;
  }
  queue.waiting.push_back(std::move(fact));
  if (queue.waiting.size() == 1) ready_.push_back(key);
}

void Reporter::Finish(Queue& queue, bool answered) {
  ++(answered ? statistics_.answered : statistics_.given_up);
  queue.unanswered = answered ? 0 : queue.unanswered + 1;
  queue.attempts = 0;
  queue.waiting.pop_front();
}

bool Reporter::On(const mad::IncomingMad& mad) {
  const auto header =
      wire::MadHeader::Decode(std::span<const uint8_t>(mad.payload).first<wire::kMadBytes>());
  const auto found = under_way_.find(header.tid().value());
  if (found == under_way_.end()) return false;
  const bool came = mad.kind == mad::IncomingMad::Kind::kReceived;
  const auto place = queues_.find(found->second);
  if (came && header.method != wire::Method::kReportResp) return false;
  under_way_.erase(found);
  if (place == queues_.end()) return true;
  Queue& queue = place->second;
  queue.transaction = 0;
  if (came || queue.attempts >= kAttempts) Finish(queue, came);
  if (queue.unanswered >= kMostUnanswered) dead_.push_back(queue.target);
  if (queue.waiting.empty() && queue.unanswered == 0)
    queues_.erase(place);
  else if (!queue.waiting.empty())
    ready_.push_back(place->first);
  return true;
}

void Reporter::Send(const SaView& view, std::vector<mad::OutgoingMad>& out) {
  while (!ready_.empty() && under_way_.size() < kInFlight) {
    const Key key = ready_.front();
    ready_.pop_front();
    const auto place = queues_.find(key);
    if (place == queues_.end() || place->second.transaction != 0 || place->second.waiting.empty())
      continue;
    Queue& queue = place->second;
    const uint32_t number = view.ends().FindGuid(key.first.guid());
    if (number == EndPorts::kNone) {
      queues_.erase(place);
      continue;
    }
    do last_transaction_ = mad::NextTransactionId(last_transaction_);
    while (under_way_.contains(last_transaction_));
    queue.transaction = last_transaction_;
    ++queue.attempts;
    ++statistics_.sent;
    under_way_[queue.transaction] = key;
    out.push_back(ReportOf(*queue.waiting.front(), queue.target, Lid(view.ends()[number].base_lid),
                           queue.transaction));
  }
}

void Reporter::Forget(Gid port) {
  std::erase_if(queues_, [port](const auto& entry) { return entry.first.first == port; });
}

}  // namespace fabricd::sa
