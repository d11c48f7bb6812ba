// SPDX-License-Identifier: Apache-2.0
#include "sa/paths/path_query.h"

#include <algorithm>

namespace fabricd::sa {
namespace {

using wire::PathRecord;
using wire::Selector;

constexpr uint8_t kTopMtu = 5;
constexpr uint8_t kTopLifeTime = 63;

// A selector or a value alone bounds nothing.
Bound BoundOf(uint64_t mask, PathComponent selector, PathComponent value, Selector how,
              uint8_t what) {
  return Has(mask, selector) && Has(mask, value) ? Bound{how, what} : Bound{};
}

// The components of the answer that repeat those of the request.
PathRecord Prototype(const PathRecord& wanted, uint64_t mask) {
  PathRecord answer;
  if (Has(mask, PathComponent::kServiceIdHigh) && Has(mask, PathComponent::kServiceIdLow))
    answer.service_id = wanted.service_id;
  if (Has(mask, PathComponent::kFlowLabel)) answer.flow_label = wanted.flow_label;
  if (Has(mask, PathComponent::kHopLimit)) answer.hop_limit = wanted.hop_limit;
  if (Has(mask, PathComponent::kTrafficClass)) answer.traffic_class = wanted.traffic_class;
  if (Has(mask, PathComponent::kQosClass)) answer.qos_class = wanted.qos_class;
  answer.mtu_selector = answer.rate_selector = answer.life_time_selector = Selector::kExactly;
  return answer;
}

}  // namespace

bool Bound::LowerTo(uint8_t& best) const {
  switch (selector) {
    case Selector::kGreater: return best > value;
    case Selector::kLess:
      if (value <= 1) return false;
      best = std::min<uint8_t>(best, static_cast<uint8_t>(value - 1));
      return true;
    case Selector::kExactly:
      if (best < value) return false;
      best = value;
      return true;
    case Selector::kLargest: break;
  }
  return true;
}

bool Bound::RaiseTo(uint8_t& least) const {
  switch (selector) {
    case Selector::kGreater:
      if (value >= kTopLifeTime) return false;
      least = std::max<uint8_t>(least, static_cast<uint8_t>(value + 1));
      return true;
    case Selector::kLess: return least < value;
    case Selector::kExactly:
      if (least > value) return false;
      least = value;
      return true;
    case Selector::kLargest: break;
  }
  return true;
}

std::optional<PathQuery> PathQuery::Make(const PathRecord& wanted, uint64_t mask) {
  PathQuery query;
  query.mtu_ = BoundOf(mask, PathComponent::kMtuSelector, PathComponent::kMtu, wanted.mtu_selector,
                       wanted.mtu);
  if (query.mtu_.selector != Selector::kLargest && (wanted.mtu == 0 || wanted.mtu > kTopMtu))
    return std::nullopt;
  const fabric::RateRank rank = fabric::RankOfRate(wanted.rate);
  query.rate_ =
      BoundOf(mask, PathComponent::kRateSelector, PathComponent::kRate, wanted.rate_selector, rank);
  if (query.rate_.selector != Selector::kLargest && rank == 0) return std::nullopt;
  query.life_time_ = BoundOf(mask, PathComponent::kLifeTimeSelector, PathComponent::kLifeTime,
                             wanted.life_time_selector, wanted.packet_life_time);
  // Switches here forward no raw packets.
  if (Has(mask, PathComponent::kRawTraffic) && wanted.raw_traffic) return std::nullopt;
  if (Has(mask, PathComponent::kSl)) query.sl_ = wanted.sl.value();
  if (Has(mask, PathComponent::kHopLimit)) query.hop_limit_ = wanted.hop_limit;
  if (Has(mask, PathComponent::kPKey)) {
    if (PartitionOf(wanted.p_key) == 0) return std::nullopt;
    query.p_key_ = wanted.p_key;
  }
  query.reversible_ = Has(mask, PathComponent::kReversible) && wanted.reversible;
  // 0 counts as not given: IPoIB refreshes a path by sending the last answer, whose NumbPath is 0.
  if (Has(mask, PathComponent::kNumbPath) && wanted.numb_path != 0) {
    query.numb_path_ = wanted.numb_path;
  }
  query.prototype_ = Prototype(wanted, mask);
  return query;
}

}  // namespace fabricd::sa
