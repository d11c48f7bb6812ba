// SPDX-License-Identifier: Apache-2.0
// Tables and texts of verdicts and congestion. Pure: `now_ms` is the time since 1970 by which ages
// are shown.
#pragma once

#include <string>
#include <string_view>

#include "cli/render/table.h"
#include "fabric/v1/verdict_service.pb.h"

namespace fabricd::cli {

namespace pb = ::fabric::v1;

// "NOISY_PHY" and the like, which name a culprit.
bool IsBadVerdict(std::string_view verdict);
// The end that is accused: "node12/mlx5_3/1".
const std::string& AccusedName(const pb::Verdict& verdict);
// Why a listing says nothing of the fabric; empty: it does.
std::string WhyNoVerdicts(const pb::ListVerdictsResponse& verdicts);

Table VerdictTable(const pb::ListVerdictsResponse& verdicts, bool wide, int64_t now_ms);
// What holds for all verdicts, a line each: links by verdict, common causes, an open breaker.
std::string VerdictNotes(const pb::ListVerdictsResponse& verdicts);
// The text of the evidence, what follows from it, and what was said of it.
std::string DescribeVerdict(const pb::GetVerdictResponse& response, int64_t now_ms);

// Each root with the ports that wait for it, those further away indented more.
std::string CongestionText(const pb::ListCongestionResponse& congestion);

}  // namespace fabricd::cli
