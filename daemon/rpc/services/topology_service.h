// SPDX-License-Identifier: Apache-2.0
// fabric.v1.TopologyService: reads of the published view. Any thread.
#pragma once

#include <string>

#include "daemon/base/models.h"
#include "daemon/rpc/convert/convert.h"
#include "daemon/rpc/streams/reactors.h"
#include "daemon/rpc/streams/topology_watch.h"
#include "fabric/v1/topology_service.grpc.pb.h"
#include "query/read_model.h"

namespace fabricd::rpc {

class TopologyService final : public pb::TopologyService::CallbackService {
 public:
  TopologyService(daemon::Backend& backend, daemon::Models& models, ExportWorker& worker,
                  WatchHub& hub, std::string version)
      : backend_(backend),
        models_(models),
        worker_(worker),
        hub_(hub),
        version_(std::move(version)) {}

  using Context = grpc::CallbackServerContext;
  using Unary = grpc::ServerUnaryReactor;
  Unary* ListNodes(Context*, const pb::ListNodesRequest*, pb::ListNodesResponse*) override;
  Unary* GetNode(Context*, const pb::GetNodeRequest*, pb::GetNodeResponse*) override;
  Unary* ListHosts(Context*, const pb::ListHostsRequest*, pb::ListHostsResponse*) override;
  Unary* ListPorts(Context*, const pb::ListPortsRequest*, pb::ListPortsResponse*) override;
  Unary* GetPort(Context*, const pb::GetPortRequest*, pb::GetPortResponse*) override;
  Unary* ListLinks(Context*, const pb::ListLinksRequest*, pb::ListLinksResponse*) override;
  Unary* GetSm(Context*, const pb::GetSmRequest*, pb::GetSmResponse*) override;
  Unary* GetForwardingTable(Context*, const pb::GetForwardingTableRequest*,
                            pb::GetForwardingTableResponse*) override;
  Unary* TracePath(Context*, const pb::TracePathRequest*, pb::TracePathResponse*) override;
  grpc::ServerWriteReactor<pb::GetTopologyResponse>* GetTopology(
      Context*, const pb::GetTopologyRequest*) override;
  grpc::ServerWriteReactor<pb::WatchTopologyResponse>* WatchTopology(
      Context*, const pb::WatchTopologyRequest*) override;

 private:
  static void AddSharingNode(const daemon::SharingNode& node,
                             ::fabric::v1::GetSmResponse* response);

  daemon::Backend& backend_;
  daemon::Models& models_;
  ExportWorker& worker_;
  WatchHub& hub_;
  TopologyDeltas deltas_;
  const std::string version_;
};

}  // namespace fabricd::rpc
