// SPDX-License-Identifier: Apache-2.0
#include "daemon/verdicts/stored_view.h"

#include <algorithm>
#include <utility>

#include "policy/intent_maker.h"

namespace fabricd::daemon {

using query::VerdictRecord;

std::shared_ptr<const query::VerdictView> ViewOfStored(const policy::StoredVerdicts& stored,
                                                       const VerdictOptions& options,
                                                       const VerdictInputs& inputs,
                                                       uint64_t number) {
  policy::VerdictBook book(options.assessor.clocks);
  book.Import(stored.standings, inputs.now, inputs.wall);
  policy::Responder responder(options.responder);
  responder.Import(stored.responses, inputs.now, inputs.wall);
  auto view = std::make_shared<query::VerdictView>();
  view->number = number;
  view->enabled = options.enabled;
  view->at = inputs.now;
  view->interval = options.interval;
  view->snapshot = inputs.fabric->snapshot;
  view->configured = options.responder.actions.configured;
  view->is_breaker_open = responder.is_breaker_open();
  const fabric::FabricSnapshot& snapshot = *view->snapshot;
  const auto is_switch = [&](PortRef port) {
    const fabric::Node* node = port.IsNone() ? nullptr : snapshot.node(port.node);
    return node != nullptr && node->IsSwitch();
  };
  for (const policy::StoredStanding& each : stored.standings) {
    const auto standing = book.Find(each.link);
    if (!standing) continue;
    VerdictRecord record;
    record.link = each.link;
    record.standing = *standing;
    record.standing.accusation.reason = "found by the master";
    record.standing.accusation.remedy = "see what the master shows";
    record.found.verdict = standing->verdict;
    record.found.accusation = record.standing.accusation;
    record.found.reason = "the master knows the evidence";
    record.a = policy::PortRefOf(each.link.a, snapshot);
    record.b = policy::PortRefOf(each.link.b, snapshot);
    record.is_reversed = is_switch(record.a) && !is_switch(record.b);
    if (record.is_reversed) std::swap(record.a, record.b);
    record.response = responder.Find(each.link);
    view->in_effect += record.response.hold != 0;
    const policy::Verdict shown = query::VerdictOf(record);
    if (policy::IsBad(shown)) {
      const bool is_trunk = is_switch(record.a) && is_switch(record.b);
      record.response.recommended = is_trunk ? policy::HoldKind::kDrain : policy::HoldKind::kCordon;
      record.response.action =
          record.response.hold == 0 ? policy::Action::kRecommend : view->configured;
    }
    if (shown == policy::Verdict::kHealthy && record.response.hold == 0) continue;
    ++view->counts[static_cast<size_t>(shown)];
    view->records.push_back(std::move(record));
  }
  std::sort(view->records.begin(), view->records.end(),
            [](const VerdictRecord& x, const VerdictRecord& y) { return x.link < y.link; });
  query::IndexEnds(*view);
  return view;
}

}  // namespace fabricd::daemon
