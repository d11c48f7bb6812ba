// SPDX-License-Identifier: Apache-2.0
// A server on a socket of its own, and a client of it.
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "daemon/rpc/services/server.h"
#include "fabric/v1/admin_service.grpc.pb.h"
#include "fabric/v1/event_service.grpc.pb.h"
#include "fabric/v1/partition_service.grpc.pb.h"
#include "fabric/v1/remediation_service.grpc.pb.h"
#include "fabric/v1/topology_service.grpc.pb.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "tests/unit/daemon/rpc/small_fabric.h"

namespace fabricd::rpc::testing {

namespace pb = ::fabric::v1;

class TempDir {
 public:
  TempDir() {
    std::string pattern = (std::filesystem::temp_directory_path() / "fabricd-rpc-XXXXXX").string();
    const char* made = mkdtemp(pattern.data());
    EXPECT_NE(made, nullptr);
    path_ = pattern;
  }
  ~TempDir() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// The detail of that type in a failed call; fails the test when there is none.
template <typename Detail>
Detail DetailOf(const grpc::Status& status) {
  google::rpc::Status details;
  EXPECT_TRUE(details.ParseFromString(status.error_details()));
  Detail found;
  int count = 0;
  for (const auto& any : details.details()) count += any.Is<Detail>() && any.UnpackTo(&found);
  EXPECT_EQ(count, 1) << Detail::descriptor()->full_name() << " in " << details.ShortDebugString();
  return found;
}

inline std::string ReasonOf(const grpc::Status& status) {
  const auto info = DetailOf<google::rpc::ErrorInfo>(status);
  EXPECT_EQ(info.domain(), "fabric.v1");
  return info.reason();
}

// Calls "PACKAGE.Service/Method" with the bytes of a request, past any stub. Of a stream: its end.
inline grpc::Status CallGeneric(const std::shared_ptr<grpc::Channel>& channel,
                                const std::string& path, const std::string& request,
                                std::chrono::milliseconds timeout) {
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + timeout);
  grpc::CompletionQueue queue;
  const grpc::Slice bytes(request);
  grpc::ByteBuffer response;
  auto call = stub.PrepareUnaryCall(&context, "/" + path, grpc::ByteBuffer(&bytes, 1), &queue);
  call->StartCall();
  grpc::Status status;
  call->Finish(&response, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  return status;
}

class RunningServer {
 public:
  explicit RunningServer(daemon::Backend& backend) {
    auto started = Server::Start({{"unix:" + socket()}, "1.2.3"}, backend);
    EXPECT_TRUE(started.ok()) << started.status();
    if (!started.ok()) return;
    server = *std::move(started);
    channel = grpc::CreateChannel("unix:" + socket(), grpc::InsecureChannelCredentials());
    topology = pb::TopologyService::NewStub(channel);
    admin = pb::AdminService::NewStub(channel);
    events = pb::EventService::NewStub(channel);
    partitions = pb::PartitionService::NewStub(channel);
    remediation = pb::RemediationService::NewStub(channel);
  }
  std::string socket() const { return directory_ / "s"; }

  template <typename Base, typename Request, typename Response, typename Stub>
  grpc::Status Call(Stub& stub,
                    grpc::Status (Base::*method)(grpc::ClientContext*, const Request&, Response*),
                    const Request& request, Response* response,
                    std::chrono::milliseconds timeout = std::chrono::seconds(20)) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + timeout);
    return (stub.*method)(&context, request, response);
  }

 private:
  TempDir directory_;

 public:
  std::unique_ptr<Server> server;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<pb::TopologyService::Stub> topology;
  std::unique_ptr<pb::AdminService::Stub> admin;
  std::unique_ptr<pb::EventService::Stub> events;
  std::unique_ptr<pb::PartitionService::Stub> partitions;
  std::unique_ptr<pb::RemediationService::Stub> remediation;
};

}  // namespace fabricd::rpc::testing
