// SPDX-License-Identifier: Apache-2.0
#include "routing/settle.h"

namespace fabricd::routing {

SettleStep NextSettleStep(const SettlePolicy& policy, const Standing& standing) {
  using Kind = SettleStep::Kind;
  if (standing.ideal) return {};
  const bool good = standing.bound > 0 && standing.load <= policy.good_enough * standing.bound;
  const Duration may_stand = good ? policy.good_for : policy.bad_for;
  if (standing.stood >= may_stand) return {Kind::kIdeal};
  if (standing.pending > 0) return {Kind::kMend};
  return {Kind::kStay, may_stand - standing.stood};
}

}  // namespace fabricd::routing
