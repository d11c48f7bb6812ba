// SPDX-License-Identifier: Apache-2.0
#include "query/verdict_view.h"

#include <algorithm>

namespace fabricd::query {

using policy::Stage;
using policy::Verdict;

Verdict VerdictOf(const VerdictRecord& record) {
  switch (record.standing.stage) {
    case Stage::kBad:
    case Stage::kRecovering: return record.standing.verdict;
    case Stage::kSuspect: return Verdict::kSuspect;
    case Stage::kUnknown: return Verdict::kUnknown;
    case Stage::kHealthy: break;
  }
  return record.found.verdict == Verdict::kVictim ? Verdict::kVictim : Verdict::kHealthy;
}

PortRef AccusedEnd(const VerdictRecord& record) {
  const policy::HeldPort& end = record.standing.accusation.end;
  if (end == policy::HeldPort()) return record.a;
  return (end == record.link.b) == record.is_reversed ? record.a : record.b;
}

policy::Culprit CulpritOf(const VerdictRecord& record) {
  const bool stands = policy::IsBad(VerdictOf(record));
  return stands ? record.standing.accusation.culprit : record.found.attribution.culprit;
}

const VerdictRecord* VerdictView::Find(PortRef end) const {
  const auto found = std::lower_bound(by_end.begin(), by_end.end(), std::pair(end, uint32_t{0}));
  return found != by_end.end() && found->first == end ? &records[found->second] : nullptr;
}

const VerdictRecord* VerdictView::Find(const policy::LinkKey& link) const {
  const auto found = std::lower_bound(
      records.begin(), records.end(), link,
      [](const VerdictRecord& record, const policy::LinkKey& key) { return record.link < key; });
  return found != records.end() && found->link == link ? &*found : nullptr;
}

void IndexEnds(VerdictView& view) {
  view.by_end.clear();
  for (uint32_t i = 0; i < view.records.size(); ++i)
    for (const PortRef end : {view.records[i].a, view.records[i].b})
      if (!end.IsNone()) view.by_end.emplace_back(end, i);
  std::sort(view.by_end.begin(), view.by_end.end());
}

std::shared_ptr<const VerdictView> NoVerdicts() {
  static const auto none = std::make_shared<const VerdictView>();
  return none;
}

}  // namespace fabricd::query
