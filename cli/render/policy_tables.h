// SPDX-License-Identifier: Apache-2.0
// Tables and texts of holds, conditions, damped links, readiness and events. Pure: `now_ms` is the
// time since 1970 by which ages are told.
#pragma once

#include <string>

#include "cli/render/table.h"
#include "fabric/v1/event_service.pb.h"
#include "fabric/v1/remediation_service.pb.h"

namespace fabricd::cli {

namespace pb = ::fabric::v1;

// "3d4h", "2h5m", "3m12s", "45s", "0s"; less than that is not told.
std::string SpanText(int64_t ms);
// "drain", "drain (soft)".
std::string HoldKindText(const pb::Hold& hold);
// "drain"
std::string KindWord(pb::HoldKind kind);
// "host/node12"
std::string TargetText(const pb::HoldTarget& target);

Cell ReadinessCell(pb::Readiness readiness);

Table HoldTable(const pb::ListHoldsResponse& holds, bool wide, int64_t now_ms);
Table ConditionTable(const pb::ListConditionsResponse& conditions, bool wide, int64_t now_ms);
Table DampedLinkTable(const pb::ListDampedLinksResponse& links, bool wide, int64_t now_ms);
Table ReadinessTable(const pb::BatchGetReadinessResponse& readiness, bool wide);
Table EventTable(const pb::ListEventsResponse& events, bool wide);

// What a hold would do, for --dry-run: lines of "Key: value".
std::string ConsequencesText(const pb::CreateHoldResponse& response);
std::string ConsequencesLines(const pb::Consequences& consequences);

}  // namespace fabricd::cli
