// SPDX-License-Identifier: Apache-2.0
// What the collector knows → messages of fabric.v1.
#pragma once

#include <cstdint>

#include <google/protobuf/timestamp.pb.h>

#include "fabric/v1/telemetry_service.pb.h"
#include "query/job_view.h"
#include "query/measures.h"
#include "query/ranking.h"
#include "telemetry/view.h"

namespace fabricd::rpc {

// Wall-clock times of what a view has in milliseconds since its collector began.
class TelemetryTimes {
 public:
  explicit TelemetryTimes(const telemetry::TelemetryView& view);
  google::protobuf::Timestamp At(telemetry::Millis at) const;

 private:
  int64_t zero_ms_;
};

telemetry::CounterSet AllCounters();

// REQUIRES, of all with a port: it exists in the model's snapshot.
void ToProto(const query::Measure& measure, ::fabric::v1::Measurement* out);
void ToProto(const query::PortMeasures& measures, ::fabric::v1::Rates* out);
void ToProto(const query::Telemetry& telemetry, const TelemetryTimes& times, PortRef port,
             telemetry::CounterSet wanted, ::fabric::v1::PortCounters* out);
void ToProto(const query::Telemetry& telemetry, const TelemetryTimes& times, PortRef port,
             const query::PortErrorSums& sums, ::fabric::v1::PortErrors* out);
void ToProto(const query::Telemetry& telemetry, const query::RankedEntry& entry,
             ::fabric::v1::TopEntry* out);
void ToProto(const query::Telemetry& telemetry, PortRef port,
             const telemetry::PortInventory& inventory, ::fabric::v1::PortInventory* out);
void ToProto(const query::Telemetry& telemetry, const query::JobView& job,
             ::fabric::v1::GetJobViewResponse* out);
void ToProto(const query::Telemetry& telemetry, const telemetry::DeviceRecord& device,
             ::fabric::v1::DeviceGaps* out);
void ToProto(const query::Telemetry& telemetry, ::fabric::v1::GetTelemetryStatusResponse* out);

bool HasGaps(const telemetry::DeviceRecord& device);

}  // namespace fabricd::rpc
