// SPDX-License-Identifier: Apache-2.0
// fabric.v1.SubnetAdminService: what Subnet Administration answers from, and what clients have left
// with it. Any thread.
#pragma once

#include "daemon/base/models.h"
#include "daemon/rpc/convert/convert.h"
#include "daemon/rpc/streams/reactors.h"
#include "fabric/v1/subnet_admin_service.grpc.pb.h"
#include "query/read_model.h"

namespace fabricd::rpc {

class SubnetAdminService final : public pb::SubnetAdminService::CallbackService {
 public:
  SubnetAdminService(daemon::Models& models, daemon::Backend& backend, ExportWorker& worker)
      : models_(models), backend_(backend), worker_(worker) {}

  using Context = grpc::CallbackServerContext;
  template <typename Response>
  using Stream = grpc::ServerWriteReactor<Response>;
  Stream<pb::ListRecordsResponse>* ListRecords(Context*, const pb::ListRecordsRequest*) override;
  Stream<pb::ListServicesResponse>* ListServices(Context*, const pb::ListServicesRequest*) override;
  Stream<pb::ListSubscriptionsResponse>* ListSubscriptions(
      Context*, const pb::ListSubscriptionsRequest*) override;
  Stream<pb::ListMulticastGroupsResponse>* ListMulticastGroups(
      Context*, const pb::ListMulticastGroupsRequest*) override;

 private:
  daemon::Models& models_;
  daemon::Backend& backend_;
  ExportWorker& worker_;
};

}  // namespace fabricd::rpc
