// SPDX-License-Identifier: Apache-2.0
// fabric.v1.PartitionService: requests are posted to the core and answered when it has made them
// durable; all else is read from the published view. Any thread.
#pragma once

#include <memory>
#include <string>

#include "daemon/base/backend.h"
#include "daemon/base/models.h"
#include "daemon/rpc/convert/convert_partition.h"
#include "daemon/rpc/streams/reactors.h"
#include "fabric/v1/partition_service.grpc.pb.h"
#include "query/read_model.h"

namespace fabricd::rpc {

class PartitionService final : public pb::PartitionService::CallbackService {
 public:
  // `worker` reads files and makes the answers of requests: gRPC's threads and the core's have
  // better to do.
  PartitionService(daemon::Backend& backend, daemon::Models& models, ExportWorker& worker)
      : backend_(backend), models_(models), worker_(worker) {}

  using Context = grpc::CallbackServerContext;
  using Unary = grpc::ServerUnaryReactor;
  Unary* ListPartitions(Context*, const pb::ListPartitionsRequest*,
                        pb::ListPartitionsResponse*) override;
  Unary* GetPartition(Context*, const pb::GetPartitionRequest*, pb::GetPartitionResponse*) override;
  Unary* CreatePartition(Context*, const pb::CreatePartitionRequest*,
                         pb::CreatePartitionResponse*) override;
  Unary* UpdatePartition(Context*, const pb::UpdatePartitionRequest*,
                         pb::UpdatePartitionResponse*) override;
  Unary* DeletePartition(Context*, const pb::DeletePartitionRequest*,
                         pb::DeletePartitionResponse*) override;
  Unary* AddMembers(Context*, const pb::AddMembersRequest*, pb::AddMembersResponse*) override;
  Unary* RemoveMembers(Context*, const pb::RemoveMembersRequest*,
                       pb::RemoveMembersResponse*) override;
  Unary* ApplyPartitions(Context*, const pb::ApplyPartitionsRequest*,
                         pb::ApplyPartitionsResponse*) override;
  grpc::ServerWriteReactor<pb::ExportPartitionsResponse>* ExportPartitions(
      Context*, const pb::ExportPartitionsRequest*) override;

 private:
  template <typename Response>
  using Call = std::shared_ptr<LaterCall<Response>>;
  // `read` makes a PartitionRequest of a request and a model.
  template <typename Request, typename Response, typename Read>
  Unary* Change(Context* context, const Request& request, Response* response, Read&& read);
  // Posts a request and answers the call, on the worker, with what has come of it.
  template <typename Response>
  void Post(sweep::ChangePartitions command, const Call<Response>& call);
  // What a request about a partition has changed.
  template <typename Response>
  absl::Status Fill(const policy::PartitionOutcome& outcome, Response* response);
  // Runs on the worker, or fails the call.
  template <typename Response>
  void OnWorker(const Call<Response>& call, std::function<void()> job);
  // Of a file, on the worker. `text` and `response` live as long as the call.
  void ApplyText(const pb::ApplyPartitionsRequest& request, const std::string& by,
                 const Call<pb::ApplyPartitionsResponse>& call);

  daemon::Backend& backend_;
  daemon::Models& models_;
  ExportWorker& worker_;
};

}  // namespace fabricd::rpc
