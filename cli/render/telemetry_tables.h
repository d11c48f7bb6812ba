// SPDX-License-Identifier: Apache-2.0
// Tables and texts of counters, rates, errors, cables and jobs. Pure: `now_ms` is the time since
// 1970 by which ages are shown. What has no value shows as "-".
#pragma once

#include <string>

#include "cli/render/table.h"
#include "fabric/v1/telemetry_service.pb.h"

namespace fabricd::cli {

namespace pb = ::fabric::v1;

// The text; "-" for an empty one.
std::string OrDash(std::string text);
// "94.2" for 11.775e9 bytes per second: Gb/s with two or more digits.
std::string GbpsText(const pb::Measurement& bytes);
// "62.5%"
std::string ShareText(const pb::Measurement& share);
// "1.2e-12", "<3.0e-15" for an upper bound.
std::string RatioText(const pb::Measurement& ratio);
// "12s"; "stale 95s", "unknown 10m", "never".
Cell AgeCell(const std::string& freshness, double age_seconds);

Table ErrorTable(const pb::ListErrorsResponse& errors, bool wide, int64_t now_ms);
// `kind`: of the entries; ports and links have a peer.
Table TopTable(const pb::ListTopResponse& top, pb::TopKind kind, bool wide);
Table InventoryTable(const pb::ListInventoryResponse& inventory, bool wide);
Table JobTable(const pb::GetJobViewResponse& job, bool wide);
// Numbers of each step, as -o wide shows a history.
Table HistoryTable(const pb::GetPortHistoryResponse& history);
Table TelemetryTable(const pb::GetTelemetryStatusResponse& status, bool wide);

// What `describe` says of the collector.
std::string DescribeTelemetry(const pb::GetTelemetryStatusResponse& status,
                              const pb::ListMeasurementGapsResponse& gaps, const TableStyle& style);
// What `describe port` adds: rates, counters that are not 0, what is not measured.
std::string DescribeCounters(const pb::PortCounters& port, const pb::ListErrorsResponse& errors,
                             int64_t now_ms, const TableStyle& style);

}  // namespace fabricd::cli
