// SPDX-License-Identifier: Apache-2.0
// fabric.v1.TelemetryService: reads of the collector's published view. Any thread.
#pragma once

#include <memory>

#include "daemon/base/backend.h"
#include "daemon/base/models.h"
#include "daemon/rpc/convert/view_page.h"
#include "daemon/rpc/streams/rate_stream.h"
#include "daemon/rpc/streams/reactors.h"
#include "fabric/v1/telemetry_service.grpc.pb.h"
#include "query/measures.h"

namespace fabricd::rpc {

using TelemetryPage = ViewPage<telemetry::TelemetryView>;

class TelemetryService final : public ::fabric::v1::TelemetryService::CallbackService {
 public:
  // All outlive it. `worker` does what takes long.
  TelemetryService(daemon::Backend& backend, daemon::Models& models, ExportWorker& worker,
                   WatchHub& hub)
      : backend_(backend), models_(models), worker_(worker), hub_(hub) {}

  using Context = grpc::CallbackServerContext;
  using Unary = grpc::ServerUnaryReactor;
  Unary* GetTelemetryStatus(Context*, const ::fabric::v1::GetTelemetryStatusRequest*,
                            ::fabric::v1::GetTelemetryStatusResponse*) override;
  Unary* ListMeasurementGaps(Context*, const ::fabric::v1::ListMeasurementGapsRequest*,
                             ::fabric::v1::ListMeasurementGapsResponse*) override;
  Unary* ListPortCounters(Context*, const ::fabric::v1::ListPortCountersRequest*,
                          ::fabric::v1::ListPortCountersResponse*) override;
  Unary* GetPortCounters(Context*, const ::fabric::v1::GetPortCountersRequest*,
                         ::fabric::v1::GetPortCountersResponse*) override;
  Unary* ListErrors(Context*, const ::fabric::v1::ListErrorsRequest*,
                    ::fabric::v1::ListErrorsResponse*) override;
  Unary* ListTop(Context*, const ::fabric::v1::ListTopRequest*,
                 ::fabric::v1::ListTopResponse*) override;
  Unary* GetPortHistory(Context*, const ::fabric::v1::GetPortHistoryRequest*,
                        ::fabric::v1::GetPortHistoryResponse*) override;
  Unary* ListInventory(Context*, const ::fabric::v1::ListInventoryRequest*,
                       ::fabric::v1::ListInventoryResponse*) override;
  Unary* GetJobView(Context*, const ::fabric::v1::GetJobViewRequest*,
                    ::fabric::v1::GetJobViewResponse*) override;
  Unary* PollCounters(Context*, const ::fabric::v1::PollCountersRequest*,
                      ::fabric::v1::PollCountersResponse*) override;
  grpc::ServerWriteReactor<::fabric::v1::WatchRatesResponse>* WatchRates(
      Context*, const ::fabric::v1::WatchRatesRequest*) override;

 private:
  template <typename Request, typename Response, typename Work>
  Unary* AnswerLater(const Request& request, Response* response, Work work);

  daemon::Backend& backend_;
  daemon::Models& models_;
  ExportWorker& worker_;
  WatchHub& hub_;
  KeptViews<telemetry::TelemetryView> kept_;
};

}  // namespace fabricd::rpc
