// SPDX-License-Identifier: Apache-2.0
// fabric.sim.v1.SimService over sim::Control. Any thread.
#pragma once

#include "daemon/base/models.h"
#include "fabric/sim/v1/sim.grpc.pb.h"
#include "query/read_model.h"
#include "sim/fabric/control.h"

namespace fabricd::rpc {

namespace simpb = ::fabric::sim::v1;

class SimService final : public simpb::SimService::CallbackService {
 public:
  SimService(daemon::Models& models, sim::Control& control) : models_(models), control_(control) {}

  using Context = grpc::CallbackServerContext;
  using Unary = grpc::ServerUnaryReactor;
  Unary* Unlink(Context*, const simpb::UnlinkRequest*, simpb::UnlinkResponse*) override;
  Unary* Link(Context*, const simpb::LinkRequest*, simpb::LinkResponse*) override;
  Unary* Connect(Context*, const simpb::ConnectRequest*, simpb::ConnectResponse*) override;
  Unary* Reboot(Context*, const simpb::RebootRequest*, simpb::RebootResponse*) override;
  Unary* SetErrors(Context*, const simpb::SetErrorsRequest*, simpb::SetErrorsResponse*) override;
  Unary* SetPerformance(Context*, const simpb::SetPerformanceRequest*,
                        simpb::SetPerformanceResponse*) override;
  Unary* SetClock(Context*, const simpb::SetClockRequest*, simpb::SetClockResponse*) override;
  Unary* StartTraffic(Context*, const simpb::StartTrafficRequest*,
                      simpb::StartTrafficResponse*) override;
  Unary* StopTraffic(Context*, const simpb::StopTrafficRequest*,
                     simpb::StopTrafficResponse*) override;
  Unary* ListTraffic(Context*, const simpb::ListTrafficRequest*,
                     simpb::ListTrafficResponse*) override;
  Unary* ListLinks(Context*, const simpb::ListLinksRequest*, simpb::ListLinksResponse*) override;

 private:
  daemon::Models& models_;
  sim::Control& control_;
};

}  // namespace fabricd::rpc
